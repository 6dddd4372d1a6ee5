// SPDX-License-Identifier: Apache-2.0

package list

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

// TestSame sets the same entries in both lists from many goroutines, some keys several times, and
// compares the lists.
func TestSame(t *testing.T) {
	offheap.CheckLeaks(t)
	var plain Plain
	var off OffHeap
	defer off.Free()
	const n = 2000
	for _, l := range []Index{&plain, &off} {
		// Four goroutines set all keys, in different orders: they meet at each key.
		divide(4, 4, func(g, _ int) {
			for i := range n {
				i = (i*(2*g+1) + g) % n
				l.Set(Key(nil, i), Value(nil, i))
			}
		})
		Fill(l, n/2, 3)
		l.Set(nil, []byte("the empty key"))
		l.Set(Key(nil, 1), nil)
		if found, _ := LookUp(l, n+10, 3); found != n {
			t.Errorf("%T: found %d entries, want %d", l, found, n)
		}
	}
	want, got := entries(plain.All()), entries(off.All())
	if len(want) != n+1 || !slices.IsSorted(want) {
		t.Errorf("the plain list has %d entries, sorted: %v", len(want), slices.IsSorted(want))
	}
	if !slices.Equal(got, want) {
		t.Errorf("off the heap:\n%q\nwant\n%q", got, want)
	}
	_, wantSum := LookUp(&plain, n, 1)
	if _, sum := LookUp(&off, n, 2); sum != wantSum {
		t.Errorf("checksum %x, want %x", sum, wantSum)
	}
}

func entries(all func(func(key, value []byte) bool)) (list []string) {
	for key, value := range all {
		list = append(list, fmt.Sprintf("%s\x00%s", key, value))
	}
	return list
}

// TestReplace reads an entry while other goroutines replace it: each read gets a whole value.
func TestReplace(t *testing.T) {
	offheap.CheckLeaks(t)
	var off OffHeap
	defer off.Free()
	key := []byte("key")
	off.Set(key, bytes.Repeat([]byte{'0'}, 10))
	divide(4, 4, func(g, _ int) {
		var b []byte
		for i := range 200 {
			if g%2 == 0 {
				off.Set(key, bytes.Repeat([]byte{byte('0' + i%10)}, 10+i%10))
				continue
			}
			var ok bool
			if b, ok = off.Get(b[:0], key); !ok || len(b) < 10 || len(b) != 10+int(b[0]-'0') || bytes.Count(b, b[:1]) != len(b) {
				t.Errorf("got %q, %v", b, ok)
			}
		}
	})
}

// TestFree frees a list, and uses it again.
func TestFree(t *testing.T) {
	offheap.CheckLeaks(t)
	var off OffHeap
	off.Free()
	Fill(&off, 100, 1)
	off.Free()
	if b, ok := off.Get(nil, Key(nil, 1)); ok {
		t.Errorf("an entry of a freed list: %q", b)
	}
	Fill(&off, 10, 1)
	if n := len(entries(off.All())); n != 10 {
		t.Errorf("%d entries, want 10", n)
	}
	off.Free()
}
