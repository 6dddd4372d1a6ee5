// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/alloctest"
	"github.com/freehold-go/freehold/internal/unsafex"
)

func TestGrow(t *testing.T) {
	quiet(t)
	l := NewLocal()
	defer l.Close()
	p := NewPurpose("grow")
	growing(t, Typed[point]{}, func(i int) point { return point{int64(i), -int64(i)} })
	growing(t, In[point](l), func(i int) point { return point{int64(i), 1} })
	growing(t, For[flags](p), func(i int) flags { return flags{A: i%2 == 0, N: int64(i)} })
	growing(t, In[link](l), func(i int) link { return link{N: int64(i)} })
	growing(t, For[byte](p).Aligned(64), func(i int) byte { return byte(i) })
	if n := account(t, "grow").InUse; n != 0 {
		t.Errorf("%d bytes in use after all was freed", n)
	}
}

// growing makes room for more and more elements, and fills it.
func growing[T comparable](t *testing.T, from Typed[T], value func(i int) T) {
	t.Helper()
	var s []T
	for _, n := range []int{0, 1, 3, 100, 5000, 60_000} {
		was := s
		s = from.Grow(s, n)
		if len(s) != len(was) || cap(s)-len(s) < n || cap(was)-len(was) >= n && cap(was) != cap(s) {
			t.Fatalf("Grow(%d) of %d of %d elements: %d of %d", n, len(was), cap(was), len(s), cap(s))
		}
		if unsafex.SliceAddr(s)&(uintptr(1)<<from.shift()-1) != 0 && cap(s) > 0 {
			t.Fatalf("Grow(%d): %#x is not aligned to %d", n, unsafex.SliceAddr(s), 1<<from.shift())
		}
		if all := s[:cap(s)]; cap(s) != cap(was) {
			for i := len(s); i < len(all); i++ {
				if all[i] != *new(T) {
					t.Fatalf("Grow(%d): element %d of %d is %v", n, i, len(all), all[i])
				}
			}
		}
		for i := range s {
			if s[i] != value(i) {
				t.Fatalf("Grow(%d) changed element %d", n, i)
			}
		}
		for cap(s) > len(s) && len(s) < 10_000 { // All of the capacity may be used.
			s = append(s, value(len(s)))
		}
	}
	from.FreeSlice(s)
}

func TestGrowMisuse(t *testing.T) {
	quiet(t)
	s := MakeSlice[point](4, 4)
	alloctest.MustPanic(t, func() { Grow(s, -1) }, "offheap: Grow of offheap.point", "-1")
	wantMisuse(t, "the Go heap", "foreign pointer", func() { Grow(make([]point, 2), 3) })
	wantMisuse(t, "an inner part", "interior pointer", func() { Grow(s[1:], 100) })
	wantPanic(t, "Grow", ErrOutOfMemory, func() { Grow(s, math.MaxInt/2) })
	wantPanic(t, "Grow", ErrOutOfMemory, func() { Grow(s, math.MaxInt) })
	if err := Try(func() { Grow(s, math.MaxInt-3) }); !errors.Is(err, ErrOutOfMemory) || !strings.Contains(err.Error(), "offheap.point") {
		t.Errorf("Grow beyond the address space: %v", err)
	}
	alloctest.MustPanic(t, func() { Grow([]string(nil), 1) }, "Grow of string", "Go pointer")
	if z := Grow([]struct{}(nil), 1000); cap(z) < 1000 || len(z) != 0 {
		t.Errorf("no bytes: %d of %d", len(z), cap(z))
	}
	cut := Grow(s[:2:2], 1) // The rest of the block is hidden: it moves.
	if unsafex.SliceAddr(cut) == unsafex.SliceAddr(s) {
		t.Error("Grow of a cut slice took the rest of its block")
	}
	FreeSlice(cut)
	works(t)
}

// TestGrowAtALimit: a limit leaves room for what Append and Grow are asked for, and not for as much as they take if there is
// room.
func TestGrowAtALimit(t *testing.T) {
	quiet(t)
	const size = 8 << 20
	p := NewPurpose("grow at a limit")
	for _, from := range []Typed[byte]{For[byte](p), {}} {
		old := p.SetLimit(2*size + 1<<20)
		oldAll := SetLimit(ReadStats().Held + 2*size + 1<<20)
		for name, grow := range map[string]func(s []byte) ([]byte, error){
			"Append": func(s []byte) ([]byte, error) { return tried(func() []byte { return from.Append(s, 1) }) },
			"Grow":   func(s []byte) ([]byte, error) { return tried(func() []byte { return from.Grow(s, 1) }) },
		} {
			s := from.MakeSlice(size, size)
			s[size-1] = 7
			behind, err := from.TryMakeSlice(64<<10, 64<<10) // s does not grow where it is.
			if err != nil {
				t.Fatal(err)
			}
			g, err := grow(s)
			if err != nil {
				t.Errorf("%s of one byte: %v", name, err)
				g = s
			} else if cap(g) <= size || g[size-1] != 7 {
				t.Errorf("%s of one byte: %d of %d", name, len(g), cap(g))
			}
			if err := Try(func() { from.Grow(g, 2*size) }); !errors.Is(err, ErrLimit) {
				t.Errorf("Grow beyond the limit: %v", err)
			}
			from.FreeSlice(behind)
			from.FreeSlice(g)
		}
		SetLimit(oldAll)
		p.SetLimit(old)
	}
}

// TestReallocOfValues changes lengths from each place, up and down.
func TestReallocOfValues(t *testing.T) {
	quiet(t)
	l := NewLocal()
	defer l.Close()
	p := NewPurpose("realloc")
	resizing(t, Typed[point]{}, func(i int) point { return point{int64(i), -int64(i)} })
	resizing(t, For[point](p), func(i int) point { return point{int64(i), 1} })
	resizing(t, In[flags](l), func(i int) flags { return flags{A: i%2 == 0, N: int64(i)} })
	resizing(t, For[link](p), func(i int) link { return link{N: int64(i)} })
	resizing(t, In[byte](l).Aligned(4096), func(i int) byte { return byte(i) })
	resizing(t, Typed[struct{}]{}, func(int) (v struct{}) { return v })
	if n := account(t, "realloc").InUse; n != 0 {
		t.Errorf("%d bytes in use after all was freed", n)
	}
}

func resizing[T comparable](t *testing.T, from Typed[T], value func(i int) T) {
	t.Helper()
	var s []T
	for _, n := range []int{0, 3, 2, 1000, 900, 100_000, 200_000, 10, 0, 5, 20_000} {
		was := len(s)
		if s = from.Realloc(s, n); len(s) != n || cap(s) != n {
			t.Fatalf("Realloc(%d): %d of %d elements", n, len(s), cap(s))
		}
		if n > 0 && unsafex.SliceAddr(s)&(uintptr(1)<<from.shift()-1) != 0 {
			t.Fatalf("Realloc(%d): %#x is not aligned to %d", n, unsafex.SliceAddr(s), 1<<from.shift())
		}
		for i := range s {
			want := value(i)
			if i >= was {
				want = *new(T)
			}
			if s[i] != want {
				t.Fatalf("Realloc from %d to %d: element %d is %v, want %v", was, n, i, s[i], want)
			}
			s[i] = value(i)
		}
	}
	from.FreeSlice(s)
}

func TestReallocMisuse(t *testing.T) {
	quiet(t)
	s := MakeSlice[flags](4, 4)
	alloctest.MustPanic(t, func() { Realloc(s, -2) }, "offheap: Realloc of offheap.flags", "-2")
	wantMisuse(t, "the Go heap", "foreign pointer", func() { Realloc(make([]flags, 2), 3) })
	wantMisuse(t, "an inner part", "interior pointer", func() { Realloc(s[1:], 100) })
	wantPanic(t, "Realloc", ErrOutOfMemory, func() { Realloc(s, math.MaxInt/2) })
	alloctest.MustPanic(t, func() { Realloc([]string(nil), 1) }, "Realloc of string", "Go pointer")
	old := SetLimit(1)
	wantPanic(t, "Realloc", ErrLimit, func() { Realloc(s, 1<<20) })
	s = Realloc(s, 1) // To less it never fails.
	SetLimit(old)
	FreeSlice(s)
	if caught(func() { Realloc(s, 9) }) == nil {
		t.Error("a slice was changed after its free")
	}
	works(t)
}

// TestAligned allocates at multiples of a number from each place, values and slices.
func TestAligned(t *testing.T) {
	quiet(t)
	l := NewLocal()
	defer l.Close()
	p := NewPurpose("aligned values")
	for _, align := range []int{1, 8, 64, 4096, 1 << 16, maxAlign} {
		for what, from := range map[string]Typed[[3]uint64]{"a Local": In[[3]uint64](l), "a Purpose": For[[3]uint64](p), "nowhere": {}} {
			from = from.Aligned(align)
			v, s := from.New(), from.MakeSlice(5, 9)
			w, err := from.TryNew()
			if err != nil {
				t.Fatal(err)
			}
			for _, addr := range []uintptr{unsafex.Addr(v), unsafex.Addr(w), unsafex.SliceAddr(s)} {
				if addr%uintptr(align) != 0 {
					t.Errorf("from %s aligned to %d: %#x", what, align, addr)
				}
			}
			if *v != [3]uint64{} || *w != [3]uint64{} || s[4] != [3]uint64{} {
				t.Errorf("from %s aligned to %d: not zero", what, align)
			}
			*v, s[4] = [3]uint64{1, 2, 3}, [3]uint64{4}
			from.Delete(v)
			from.Delete(w)
			from.FreeSlice(s)
		}
	}
	for _, align := range []int{0, -8, 24, 2 * maxAlign} {
		alloctest.MustPanic(t, func() { Typed[byte]{}.Aligned(align) }, "offheap: Aligned", "power of two")
	}
	alloctest.MustPanic(t, func() { In[flags](l).Aligned(64) }, "Aligned of offheap.flags", "bool")
	alloctest.MustPanic(t, func() { For[string](p).Aligned(64) }, "Aligned of string", "Go pointer")
	works(t)
}

// TestFreeSliceThroughLocal frees slices of each kind through a Local, its own and others'.
func TestFreeSliceThroughLocal(t *testing.T) {
	quiet(t)
	l := NewLocal()
	plain, typed := In[point](l), In[flags](l)
	for _, n := range []int{0, 1, 5, 3000, 100_000} {
		for range 3 {
			plain.FreeSlice(plain.MakeSlice(n, n))
			plain.FreeSlice(MakeSlice[point](n, n))
			typed.FreeSlice(typed.MakeSlice(n, n))
			FreeSlice(plain.MakeSlice(n, n))
		}
	}
	s := plain.MakeSlice(4, 4)
	wantMisuse(t, "an inner part", "interior pointer", func() { plain.FreeSlice(s[1:]) })
	wantMisuse(t, "the Go heap", "foreign pointer", func() { plain.FreeSlice(make([]point, 4)) })
	wantMisuse(t, "a consumed slice", "consumed slice", func() { plain.FreeSlice(s[4:]) })
	plain.FreeSlice(s)
	if caught(func() { plain.FreeSlice(s) }) == nil {
		t.Error("a slice was freed twice")
	}
	plain.FreeSlice(nil)
	l.Close()
	wantMisuse(t, "a closed Local", "use of a Local that is closed", func() { plain.FreeSlice(nil) })
}

// TestSelfContainedPointers: pointers to self-contained values are refused with the advice that
// fits.
func TestSelfContainedPointers(t *testing.T) {
	for _, f := range []func(){
		func() { MakeSlice[*link](1, 1) },
		func() { New[[2]*link]() },
		func() { New[struct{ Head *link }]() },
	} {
		alloctest.MustPanic(t, f, "struct { _ offheap.UnsafeSelfContained; P *offheap.link }", "offheap.Ref[offheap.link]")
	}
	alloctest.MustPanic(t, func() { MakeSlice[*point](1, 1) }, "*offheap.point itself", "see UnsafeSelfContained")
	type held struct { // What the advice says.
		_ UnsafeSelfContained
		P *link
	}
	s := MakeSlice[held](2, 2)
	s[1].P = New[link]()
	Delete(s[1].P)
	FreeSlice(s)
}
