// SPDX-License-Identifier: Apache-2.0

package sizeclass

import (
	"slices"
	"testing"
)

func TestOfIsTheSmallestThatFits(t *testing.T) {
	for n := uintptr(0); n <= Max; n++ {
		c := Of(n)
		if c >= Count || Size(c) < n {
			t.Fatalf("Of(%d) = %d of size %d", n, c, Size(c))
		}
		if c > 0 && Size(c-1) >= n {
			t.Fatalf("Of(%d) = %d of size %d, but %d of size %d fits", n, c, Size(c), c-1, Size(c-1))
		}
	}
	if Size(Count-1) != Max || Size(0) != Min {
		t.Fatalf("classes run from %d to %d, want %d to %d", Size(0), Size(Count-1), Min, Max)
	}
}

// TestWaste holds the bar: above 64 bytes at most 12.5 % of the request.
func TestWaste(t *testing.T) {
	for n := uintptr(65); n <= Max; n++ {
		if waste := Size(Of(n)) - n; waste*8 > n {
			t.Fatalf("a request of %d bytes wastes %d, over 12.5 %%", n, waste)
		}
	}
}

func TestOfAligned(t *testing.T) {
	for align := uintptr(8); align <= 4096; align *= 2 {
		for n := uintptr(0); n <= Max; n += 7 {
			c, ok := OfAligned(n, align)
			if !ok || Size(c) < n || Size(c)%align != 0 {
				t.Fatalf("OfAligned(%d, %d) = %d, %v", n, align, c, ok)
			}
		}
	}
	if _, ok := OfAligned(Max+1, 8); ok {
		t.Fatal("OfAligned accepts more than Max")
	}
}

func TestCapacity(t *testing.T) {
	var lengths []uintptr
	for n := uintptr(0); n < 5000; n++ {
		up := Capacity(n)
		if up < n || Capacity(up) != up || (up-n)*4 > n {
			t.Fatalf("the length for %d is %d", n, up)
		}
		if up == n {
			lengths = append(lengths, n)
		} else if down := lengths[len(lengths)-1]; Capacity(down) != down || Capacity(down+1) != up {
			t.Fatalf("between %d and %d there is a length", down, up)
		}
	}
	if want := []uintptr{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40}; !slices.Equal(lengths[:len(want)], want) {
		t.Errorf("the lengths are %v, want %v", lengths[:len(want)], want)
	}
}

func FuzzOf(f *testing.F) {
	f.Add(uint32(0))
	f.Add(uint32(Max))
	f.Fuzz(func(t *testing.T, n uint32) {
		if n > Max {
			return
		}
		if c := Of(uintptr(n)); Size(c) < uintptr(n) || c > 0 && Size(c-1) >= uintptr(n) {
			t.Fatalf("Of(%d) = %d of size %d", n, c, Size(c))
		}
	})
}
