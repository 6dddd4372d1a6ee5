// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/freehold-go/freehold"
)

// crew is goroutines that call what they are sent, one after the other, each on a thread that is
// often another P's.
func crew(t *testing.T, n int) (call func(i int, f func())) {
	old := runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0)))
	jobs, done := make([]chan func(), n), make(chan struct{})
	for i := range jobs {
		jobs[i] = make(chan func())
		go func() {
			for f := range jobs[i] {
				f()
				done <- struct{}{}
			}
		}()
	}
	t.Cleanup(func() {
		for _, c := range jobs {
			close(c)
		}
		runtime.GOMAXPROCS(old)
	})
	return func(i int, f func()) {
		jobs[i] <- f
		<-done
	}
}

// TestDoubleFreeAcrossGoroutines frees each block by one goroutine and again by another. As nothing
// of its size is allocated in between, each second free must be found.
func TestDoubleFreeAcrossGoroutines(t *testing.T) {
	quiet(t)
	call := crew(t, 6)
	rng := rand.New(rand.NewPCG(7, 8))
	rounds := 20_000
	if testing.Short() || freehold.HeapMode() {
		rounds = 2000
	}
	var background [][]byte // Other blocks, so that slabs are in all states.
	for round := range rounds {
		n := 1 + rng.IntN(1<<rng.IntN(18))
		if len(background) < 300 {
			call(rng.IntN(6), func() { background = append(background, AllocUninit(n)) })
		} else {
			i := rng.IntN(len(background))
			b := background[i]
			background[i] = background[len(background)-1]
			background = background[:len(background)-1]
			call(rng.IntN(6), func() { Free(b) })
		}
		var b []byte
		call(rng.IntN(6), func() { b = AllocUninit(n) })
		call(rng.IntN(6), func() { Free(b) })
		for range 2 {
			call(rng.IntN(6), func() {
				if v, ok := caught(func() { Free(b) }).(*MisuseError); !ok || v.Kind != "double free" || v.Addr != addrOf(b) || v.Op != "Free" {
					t.Errorf("round %d: second free of %d bytes: %v", round, n, v)
				}
			})
		}
		if t.Failed() {
			return
		}
	}
	for _, b := range background {
		Free(b)
	}
}

// TestDoubleFreeOfMany frees many values by one goroutine, and all of them again by another.
func TestDoubleFreeOfMany(t *testing.T) {
	quiet(t)
	call := crew(t, 2)
	rounds := 20
	if freehold.HeapMode() {
		rounds = 2 // There the diagnosis looks through as many pages as the largest block ever had.
	}
	for round := range rounds {
		var plain []*point
		var linked []*link
		for range 500 {
			plain, linked = append(plain, New[point]()), append(linked, New[link]())
		}
		call(0, func() {
			for i := range plain {
				Delete(plain[i])
				Delete(linked[i])
			}
		})
		call(1, func() {
			for i := range plain {
				for _, f := range []func(){func() { Delete(plain[i]) }, func() { Delete(linked[i]) }} {
					if v, ok := caught(f).(*MisuseError); !ok || v.Kind != "double free" {
						t.Errorf("round %d: second Delete of value %d: %v", round, i, v)
						return
					}
				}
			}
		})
	}
}

// TestInteriorAndForeign frees every offset of blocks of several sizes, and foreign addresses.
func TestInteriorAndForeign(t *testing.T) {
	quiet(t)
	for _, n := range []int{2, 16, 48, 100, 1000, 5000, 65_536, 70_000} {
		b := Alloc(n)
		fill(b, n)
		for k := 1; k < n; k += 1 + n/200 {
			m := wantMisuse(t, "b[k:]", "interior pointer", func() { Free(b[k:]) })
			if m.Addr != addrOf(b)+uintptr(k) {
				t.Fatalf("the message names %#x, want %#x", m.Addr, addrOf(b)+uintptr(k))
			}
			wantMisuse(t, "Realloc of b[k:]", "interior pointer", func() { Realloc(b[k:], n*2) })
		}
		if !filled(b, n) {
			t.Fatalf("what was refused changed the block of %d bytes", n)
		}
		Free(b[:n/2]) // A prefix is the block.
		again := Alloc(n)
		Free(again[:0:1])
		mine := make([]byte, n)
		for what, f := range map[string]func(){
			"Free":    func() { Free(mine) },
			"Realloc": func() { Realloc(mine, 2*n) },
			"Append":  func() { Append(mine, 1) },
			"Slice":   func() { FreeSlice(mine) },
		} {
			if m := wantMisuse(t, what, "foreign pointer", f); !strings.Contains(m.Error(), "not") {
				t.Errorf("%s: %v", what, m)
			}
		}
	}
	s := MakeSlice[flags](10, 10)
	wantMisuse(t, "FreeSlice(s[1:])", "interior pointer", func() { FreeSlice(s[1:]) })
	wantMisuse(t, "Delete(&s[1])", "interior pointer", func() { Delete(&s[1]) })
	FreeSlice(s[:0])
}
