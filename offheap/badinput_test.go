// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/freehold-go/freehold/alloctest"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// works does a little of everything after a refusal.
func works(t *testing.T) {
	t.Helper()
	for _, n := range []int{1, 100, 5000, 100_000} {
		b := Alloc(n)
		if len(b) != n || cap(b) != n || !allZero(b) {
			t.Fatalf("Alloc(%d): %d of %d bytes, or not zero", n, len(b), cap(b))
		}
		fill(b, n)
		b = Realloc(b, 2*n)
		if !filled(b[:n], n) || !allZero(b[n:]) {
			t.Fatalf("Realloc(%d) changed the bytes", 2*n)
		}
		Free(b)
	}
	p := New[flags]()
	if *p != (flags{}) {
		t.Fatalf("New: %+v", *p)
	}
	Delete(p)
}

func TestNegativeLengths(t *testing.T) {
	quiet(t)
	l := NewLocal()
	defer l.Close()
	p := NewPurpose("negative")
	b := Alloc(10)
	defer Free(b)
	for _, n := range []int{-1, -4096, math.MinInt} {
		number := fmt.Sprint(n)
		for what, f := range map[string]func(){
			"Alloc":                 func() { Alloc(n) },
			"TryAlloc":              func() { _, _ = TryAlloc(n) },
			"AllocUninit":           func() { AllocUninit(n) },
			"AllocAligned":          func() { AllocAligned(n, 64) },
			"Realloc":               func() { Realloc(b, n) },
			"Realloc of nothing":    func() { Realloc[byte](nil, n) },
			"Local.Alloc":           func() { l.Alloc(n) },
			"Local.AllocUninit":     func() { l.AllocUninit(n) },
			"Local.TryAlloc":        func() { _, _ = l.TryAlloc(n) },
			"Purpose.Alloc":         func() { p.Alloc(n) },
			"Purpose.TryAlloc":      func() { _, _ = p.TryAlloc(n) },
			"MakeSlice":             func() { MakeSlice[int](n, 4) },
			"MakeSlice of nothing":  func() { MakeSlice[struct{}](n, 4) },
			"MakeSlice's capacity":  func() { MakeSlice[int](0, n) },
			"TryMakeSlice":          func() { _, _ = TryMakeSlice[int](n, n) },
			"MakeSlice of For":      func() { For[int](p).MakeSlice(n, 4) },
			"SetLimit":              func() { SetLimit(int64(n)) },
			"the Purpose's limit":   func() { p.SetLimit(int64(n)) },
			"AllocAligned's second": func() { AllocAligned(100, n) },
		} {
			v := caught(f)
			err, ok := v.(error)
			if !ok || errors.Is(err, ErrOutOfMemory) || !strings.Contains(err.Error(), number) {
				t.Errorf("%s of %d: panic value %v, want an error that names the number", what, n, v)
			}
		}
	}
	works(t)
}

// hugeLengths are refused without asking the machine for them, or by it.
func hugeLengths() []int {
	list := []int{math.MaxInt, math.MaxInt - 4095, math.MaxInt - 8191, math.MaxInt/2 + 1}
	if is64 { // With 32 bits half of that is 1 GiB, which may be there.
		list = append(list, math.MaxInt/2, math.MaxInt/2-granule)
		size := int64(1) << 50 // More than 47 or 48 bits of addresses.
		list = append(list, int(size), int(size)+1)
	}
	return list
}

func TestHugeLengths(t *testing.T) {
	quiet(t)
	l := NewLocal()
	defer l.Close()
	p := NewPurpose("huge")
	b := Alloc(100)
	fill(b, 3)
	for _, n := range hugeLengths() {
		for what, try := range map[string]func() error{
			"TryAlloc":             func() error { _, err := TryAlloc(n); return err },
			"TryAllocUninit":       func() error { _, err := TryAllocUninit(n); return err },
			"TryAllocAligned":      func() error { _, err := TryAllocAligned(n, 4096); return err },
			"TryRealloc":           func() error { _, err := TryRealloc(b, n); return err },
			"Local.TryAlloc":       func() error { _, err := l.TryAlloc(n); return err },
			"Local.TryAllocUninit": func() error { _, err := l.TryAllocUninit(n); return err },
			"Purpose.TryAlloc":     func() error { _, err := p.TryAlloc(n); return err },
			"TryMakeSlice":         func() error { _, err := TryMakeSlice[byte](0, n); return err },
			"TryMakeSlice of bool": func() error { _, err := TryMakeSlice[bool](n, n); return err },
			"Append":               func() error { return Try(func() { Append(b, pretended[byte](n-100)...) }) },
		} {
			err := try()
			if !errors.Is(err, ErrOutOfMemory) || !strings.Contains(err.Error(), "bytes") {
				t.Errorf("%s of %d: %v, want ErrOutOfMemory", what, n, err)
			}
		}
		wantPanic(t, "Alloc", ErrOutOfMemory, func() { Alloc(n) })
		wantPanic(t, "AllocUninit", ErrOutOfMemory, func() { AllocUninit(n) })
		wantPanic(t, "Realloc", ErrOutOfMemory, func() { Realloc(b, n) })
		wantPanic(t, "Local.Alloc", ErrOutOfMemory, func() { l.Alloc(n) })
	}
	if !filled(b, 3) {
		t.Error("a Realloc that was refused changed the block")
	}
	Free(b)
	works(t)
}

// pretended is a slice of n elements that are not there. It may be counted, not read.
func pretended[T any](n int) (s []T) {
	header := (*struct {
		p        unsafe.Pointer
		len, cap int
	})(unsafe.Pointer(&s))
	header.len, header.cap = n, n
	return s
}

// TestOverflowingSlices asks for lengths whose bytes overflow to small or negative numbers.
func TestOverflowingSlices(t *testing.T) {
	quiet(t)
	p := NewPurpose("overflow")
	const bits = 32 << (math.MaxUint >> 63)
	for _, n := range []int{1 << (bits - 4), 1<<(bits-4) + 1, 1 << (bits - 2), math.MaxInt/16 + 1, math.MaxInt} {
		_, err := TryMakeSlice[point](n, n)
		if !errors.Is(err, ErrOutOfMemory) || !strings.Contains(err.Error(), "point") || !strings.Contains(err.Error(), fmt.Sprint(n)) {
			t.Errorf("%d values of 16 bytes: %v", n, err)
		}
		wantPanic(t, "MakeSlice", ErrOutOfMemory, func() { MakeSlice[point](0, n) })
		wantPanic(t, "MakeSliceFor", ErrOutOfMemory, func() { For[point](p).MakeSlice(n, n) })
		s := MakeSlice[point](1, 1)
		wantPanic(t, "Append", ErrOutOfMemory, func() { Append(s, pretended[point](n-1)...) })
		FreeSlice(s)
	}
	for _, bad := range [][2]int{{2, 1}, {1, 0}, {math.MaxInt, 1}} {
		alloctest.MustPanic(t, func() { MakeSlice[point](bad[0], bad[1]) }, "offheap: MakeSlice", "out of range", fmt.Sprint(bad[0]))
		alloctest.MustPanic(t, func() { For[point](p).MakeSlice(bad[0], bad[1]) }, "offheap: MakeSlice", "out of range")
	}
	works(t)
}

// TestAppendOverflow appends more than an int can count, which Append refuses.
func TestAppendOverflow(t *testing.T) {
	quiet(t)
	appendTooMuch(t, MakeSlice[struct{}](math.MaxInt, math.MaxInt))
	b, s := Alloc(100), MakeSlice[flags](3, 5)
	fill(b, 4)
	s[2].N = 9
	appendTooMuch(t, b)
	appendTooMuch(t, b[:1])
	appendTooMuch(t, s)
	if !filled(b, 4) || len(s) != 3 || s[2] != (flags{N: 9}) {
		t.Error("an Append that was refused changed its argument")
	}
	Free(b)
	FreeSlice(s)
	works(t)
}

func appendTooMuch[T any](t *testing.T, s []T) {
	t.Helper()
	before := ReadStats().InUse
	for _, more := range []int{math.MaxInt, math.MaxInt - len(s) + 1} {
		wantPanic(t, fmt.Sprintf("Append of %d elements and %d more", len(s), more), ErrOutOfMemory, func() { Append(s, pretended[T](more)...) })
	}
	if now := ReadStats().InUse; now != before {
		t.Errorf("%d bytes in use after a refused Append, %d before", now, before)
	}
}

func TestZeroSizeTypes(t *testing.T) {
	quiet(t)
	before := ReadStats()
	sizeless[struct{}](t)
	sizeless[[0]int](t)
	sizeless[[0]*int](t)
	sizeless[[0]bool](t)
	sizeless[struct{ A, B struct{} }](t)
	sizeless[UnsafeSelfContained](t)
	if after := ReadStats(); after.InUse != before.InUse {
		t.Errorf("values of no size take %d bytes", after.InUse-before.InUse)
	}
	works(t)
}

func sizeless[T any](t *testing.T) {
	t.Helper()
	l := NewLocal()
	defer l.Close()
	pur := NewPurpose("nothing")
	for _, p := range []*T{New[T](), In[T](l).New(), For[T](pur).New()} {
		if p == nil {
			t.Fatalf("nil for a %T", *p)
		}
		r := RefOf(p)
		if r.IsNil() || r.Ptr() != p {
			t.Errorf("a Ref to a %T does not lead back", *p)
		}
		Delete(p)
		Delete(p) // There is nothing to free, thus nothing to free twice.
		deleteIn(l, p)
		DeleteRef(r)
	}
	s := MakeSlice[T](5, math.MaxInt)
	if len(s) != 5 || cap(s) != math.MaxInt {
		t.Errorf("MakeSlice: %d of %d", len(s), cap(s))
	}
	if s = Append(s, make([]T, 7)...); len(s) != 12 {
		t.Errorf("Append: %d", len(s))
	}
	FreeSlice(s)
	FreeSlice(s[3:])
	FreeSlice(For[T](pur).MakeSlice(0, 9))
}

func TestEmptyBlocks(t *testing.T) {
	quiet(t)
	for _, b := range [][]byte{Alloc(0), AllocUninit(0), AllocAligned(0, 64), Realloc[byte](nil, 0), Realloc(Alloc(9), 0), Realloc([]byte{}, 0)} {
		if len(b) != 0 || cap(b) != 0 {
			t.Errorf("%d of %d bytes", len(b), cap(b))
		}
		Free(b)
		Free(b)
	}
	Free(nil)
	FreeSlice[point](nil)
	FreeSlice(MakeSlice[point](0, 0))
	Delete[point](nil)
}

// TestTypeOf100MB uses a type that is larger than anything the Go compiler puts on a stack.
func TestTypeOf100MB(t *testing.T) {
	if testing.Short() && !is64 {
		t.Skip("takes an eighth of the address space")
	}
	quiet(t)
	type big [100 << 20]byte
	before := ReadStats().InUse
	for _, create := range []func() *big{New[big], func() *big { p, _ := TryNew[big](); return p }} {
		p := create()
		if n := ReadStats().InUse - before; n < 100<<20 || n > 101<<20 {
			t.Errorf("a value of 100 MiB takes %d bytes", n)
		}
		p[0], p[50<<20], p[100<<20-1] = 1, 2, 3
		wantMisuse(t, "Delete of the middle", "interior pointer", func() { Free(p[4096:]) })
		if r := RefOf(p); r.Ptr() != p {
			t.Error("a Ref does not lead back")
		}
		Delete(p)
		wantMisuse(t, "second Delete", "double free", func() { Delete(p) })
	}
	p, err := TryNew[big]()
	if err != nil || p[0] != 0 || p[50<<20] != 0 || p[100<<20-1] != 0 {
		t.Errorf("%v, or bytes of the value before", err)
	}
	Delete(p)
	Purge()
	works(t)
}

func TestAlignment(t *testing.T) {
	quiet(t)
	var live [][]byte
	for align := 1; align <= maxAlign; align *= 2 {
		for _, n := range []int{1, 63, 64, 100, 4096, 5000, 65_536, 70_000, 1 << 20} {
			b := AllocAligned(n, align)
			if addr := addrOf(b); addr%uintptr(align) != 0 || len(b) != n || cap(b) != n || !allZero(b) {
				t.Fatalf("AllocAligned(%d, %d): %#x, %d of %d bytes, or not zero", n, align, addr, len(b), cap(b))
			}
			fill(b, n+align)
			live = append(live, b)
		}
	}
	i := 0
	for align := 1; align <= maxAlign; align *= 2 {
		for _, n := range []int{1, 63, 64, 100, 4096, 5000, 65_536, 70_000, 1 << 20} {
			if !filled(live[i], n+align) {
				t.Fatalf("the block of %d bytes aligned to %d was changed", n, align)
			}
			Free(live[i])
			i++
		}
	}
	for _, align := range []int{0, -1, -64, 3, 48, 4097, 2 * maxAlign, math.MaxInt, math.MinInt} {
		alloctest.MustPanic(t, func() { AllocAligned(64, align) }, "offheap: AllocAligned", fmt.Sprint(align), "power of two", fmt.Sprint(maxAlign))
		alloctest.MustPanic(t, func() { AllocAligned(0, align) }, "power of two")
		alloctest.MustPanic(t, func() { For[byte](NewPurpose("bad alignment")).Aligned(align) }, "power of two")
	}
	works(t)
}

// Types that hold a Go pointer, and where.
type (
	inField  struct{ next *inField }
	inNested struct {
		N int
		M struct{ List [3]struct{ Name string } }
	}
	embedded struct {
		inField
	}
	afterBool struct {
		B bool
		F func()
	}
	halfMarked struct {
		Marked link
		Bad    []byte
	}
)

func TestPointersAreRefused(t *testing.T) {
	quiet(t)
	refused[*int](t, "*int itself")
	refused[unsafe.Pointer](t, "unsafe.Pointer itself")
	refused[string](t, "string itself")
	refused[[]byte](t, "itself")
	refused[map[int]int](t, "map[int]int itself")
	refused[chan int](t, "chan int itself")
	refused[func()](t, "func() itself")
	refused[any](t, "itself")
	refused[error](t, "error itself")
	refused[reflect.Value](t, "reflect.Value.")
	refused[[2]*int](t, "[2]*int[0]: *int")
	refused[inField](t, "offheap.inField.next: *offheap.inField")
	refused[inNested](t, "inNested.M.List[0].Name: string")
	refused[embedded](t, "embedded.inField.next")
	refused[afterBool](t, "afterBool.F: func()")
	refused[halfMarked](t, "halfMarked.Bad: []uint8")
	// uintptr is a number to the collector. The mark UnsafeSelfContained is the caller's promise.
	Delete(New[uintptr]())
	Delete(New[link]())
	Delete(New[struct{ L [2]link }]())
	works(t)
}

func refused[T any](t *testing.T, path string) {
	t.Helper()
	l := NewLocal()
	defer l.Close()
	p := NewPurpose("refused")
	for what, f := range map[string]func(){
		"New":            func() { New[T]() },
		"TryNew":         func() { _, _ = TryNew[T]() },
		"NewRef":         func() { RefOf(New[T]()) },
		"NewIn":          func() { In[T](l).New() },
		"NewFor":         func() { For[T](p).New() },
		"MakeSlice":      func() { MakeSlice[T](1, 1) },
		"MakeSlice of 0": func() { MakeSlice[T](0, 0) },
		"TryMakeSlice":   func() { _, _ = TryMakeSlice[T](1, 1) },
		"MakeSliceFor":   func() { For[T](p).MakeSlice(1, 1) },
		"Append":         func() { Append[T](nil, *new(T)) },
	} {
		v := caught(f)
		if err, ok := v.(error); !ok || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "offheap.Ref") {
			t.Errorf("%s: panic value %v, want one that names %s and the remedy", what, v, path)
		}
	}
	if unsafex.Size[T]() != 0 {
		wantMisuse(t, "Delete", "foreign pointer", func() { Delete(new(T)) })
	}
}
