// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/freehold-go/freehold/internal/sanitize"
)

// knowsTypes says whether every block's type is known, as in the debug modes.
func knowsTypes() bool {
	std.start()
	return std.serving() != nil && (std.serving().modes.Asked() || sanitize.Enabled || sanitize.Race)
}

type boolsToo struct {
	A bool
	N int64
}

// TestSlabsKnowTypes frees values of types that have memory of their own, by the slow path of the
// slabs and in every mode.
func TestSlabsKnowTypes(t *testing.T) {
	quiet(t)
	if std.serving() != nil && !knowsTypes() {
		t.Skip("the kill switch looks at no type")
	}
	p, q := New[flags](), New[flags]()
	slowly := func(f func()) { // No P holds the blocks, so that their free takes the slow path.
		if std.serving() == nil {
			std.flushPs()
		}
		f()
	}
	wantMisuse(t, "Delete of the first field", "wrong type", func() { slowly(func() { Delete(&p.A) }) })
	wantMisuse(t, "Delete of another type with bools", "wrong type", func() {
		slowly(func() { Delete((*boolsToo)(unsafe.Pointer(q))) })
	})
	type named flags
	Delete((*named)(unsafe.Pointer(p))) // Go converts such pointers without unsafe code.
	Delete(q)
}

// TestFreesOfRightType frees what may be freed: none is a mistake.
func TestFreesOfRightType(t *testing.T) {
	quiet(t)
	type other point
	Delete((*other)(New[point]()))
	Delete((*point)(New[other]()))
	FreeSlice(Alloc(10))
	FreeSlice(MakeSlice[point](1, 1))
	Delete(&MakeSlice[point](1, 1)[0])
	FreeSlice(unsafe.Slice(New[point](), 1))
	Free(MakeSlice[byte](3, 9))
	type octet byte
	FreeSlice(MakeSlice[octet](3, 9))
	FreeSlice(Append([]point(nil), point{}, point{}))
	Delete(New[any1]())
}

// TestMovesOfWrongType: Realloc and Append free the block of a slice that they move, so they check the
// block's type as FreeSlice does.
func TestMovesOfWrongType(t *testing.T) {
	quiet(t)
	type head struct {
		At [4]int64
		Ok bool
	}
	if std.serving() == nil || knowsTypes() {
		p := New[head]()
		wantMisuse(t, "Realloc of the first field to nothing", "wrong type", func() { Realloc(p.At[:], 0) })
		Delete(p)
	}
	type plain struct {
		At [4]int64
		N  int64
	}
	if knowsTypes() {
		p := New[plain]()
		wantMisuse(t, "Realloc of the first field", "interior pointer", func() { Realloc(p.At[:], 9) })
		wantMisuse(t, "Realloc of the first field to nothing", "wrong type", func() { Realloc(p.At[:], 0) })
		wantMisuse(t, "Append to the first field", "interior pointer", func() { Append(p.At[:], 9) })
		wantMisuse(t, "Grow of the first field", "interior pointer", func() { Grow(p.At[:], 9) })
		Delete(p)
	}
	type number int64
	s := MakeSlice[number](3, 3)
	FreeSlice(Append(Realloc(s, 9), 1, 2, 3))
	FreeSlice(Append(Realloc(Alloc(3), 9), 1, 2, 3))
}

type any1 struct{ _ [3]uint16 }

// TestConsumedSlice frees slices that were cut to the end of their block.
func TestConsumedSlice(t *testing.T) {
	quiet(t)
	l := NewLocal()
	defer l.Close()
	for _, n := range []int{1, 8, 100, 70_000} {
		b, s := Alloc(n), MakeSlice[flags](n, n)
		rest, values := b, s
		for len(rest) > 0 {
			rest = rest[(len(rest)+1)/2:]
		}
		for len(values) > 0 {
			values = values[(len(values)+1)/2:]
		}
		for what, f := range map[string]func(){
			"Free": func() { Free(rest) }, "b[n:]": func() { Free(b[n:]) }, "Free by a Local": func() { l.Free(rest) },
			"FreeSlice": func() { FreeSlice(values) }, "s[n:]": func() { FreeSlice(s[n:]) },
		} {
			m := wantMisuse(t, what, "consumed slice", f)
			if !strings.Contains(m.Error(), "capacity") {
				t.Errorf("%s: %v", what, m)
			}
		}
		Free(b)
		FreeSlice(s)
	}
	Free(nil)
	Free(Alloc(0))
	Free([]byte{})
	Free(make([]byte, 10)[:0:0])
	FreeSlice(MakeSlice[point](0, 0))
	FreeSlice(MakeSlice[struct{}](7, 7))
	l.Free(nil)
}

// TestAppendRespectsCapacity appends to a slice that hides the rest of its block. As with append,
// the rest must not change.
func TestAppendRespectsCapacity(t *testing.T) {
	quiet(t)
	for _, n := range []int{6, 100, 5000, 100_000} {
		s := MakeSlice[int64](n, n)
		for i := range s {
			s[i] = int64(i)
		}
		for _, k := range []int{n - 1, n/2 + 1, 1} {
			t1 := MakeSlice[int64](n, n)
			copy(t1, s)
			whole := unsafe.Slice(&t1[0], n)
			wrote := false
			probe := func() { wrote = whole[k] != int64(k) }
			got := appendProbed(t1[:k:k], probe)
			if wrote {
				t.Errorf("Append to s[:%d:%d] of %d elements wrote over s[%d]", k, k, n, k)
			}
			if len(got) != k+1 || got[k] != -1 || k > 1 && got[k-1] != int64(k-1) {
				t.Errorf("Append to s[:%d:%d] of %d elements gave %d of them, the last two %v", k, k, n, len(got), got[max(0, k-1):])
			}
			FreeSlice(got)
		}
		FreeSlice(s)
	}
}

// appendProbed appends -1 to s and calls probe when the block of s holds its last values: the block
// is free then, and nothing has used it again.
func appendProbed(s []int64, probe func()) []int64 {
	old := unsafe.Pointer(&s[0])
	got := Append(s, -1)
	if std.serving() == nil && unsafe.Pointer(&got[0]) == old {
		probe()
	}
	return got
}

// TestRightMessages: each operation says what it wanted of memory that is not offheap's.
func TestRightMessages(t *testing.T) {
	quiet(t)
	mine, small := make([]byte, 64), MakeSlice[int32](1, 1)
	defer FreeSlice(small)
	for op, c := range map[string]struct {
		f    func()
		want string
	}{
		"RefOf":     {func() { RefOf(&mine[0]) }, "a Ref leads to blocks of offheap alone"},
		"Free":      {func() { Free(mine) }, "must not be freed here"},
		"FreeSlice": {func() { FreeSlice(mine) }, "must not be freed here"},
		// The likely cause of a slice from elsewhere; a Delete has another one.
		"Free of an appended slice":      {func() { Free(append(mine, 1)) }, "Go's append has probably moved it"},
		"FreeSlice of an appended slice": {func() { FreeSlice(append(small, 1, 2, 3, 4, 5, 6, 7, 8, 9)) }, "Go's append has probably moved it"},
		"Delete":                         {func() { Delete(&mine[0]) }, "must not be freed here"},
		"Append":                         {func() { Append(mine, 1) }, "cannot grow here"},
		"Realloc":                        {func() { Realloc(mine, 100) }, "cannot grow here"},
	} {
		m := wantMisuse(t, op, "foreign pointer", c.f)
		if op, _, _ = strings.Cut(op, " "); m.Op != op || !strings.Contains(strings.ToLower(m.Error()), strings.ToLower(c.want)) {
			t.Errorf("%s: %q does not say %q", op, m, c.want)
		}
	}
	r := RefOf(New[point]())
	DeleteRef(r)
	if err, ok := caught(func() { r.Ptr() }).(error); ok { // Slabs may resolve it: the memory is still there.
		if !strings.Contains(err.Error(), "deleted") && !strings.Contains(err.Error(), "freed") {
			t.Errorf("a stale Ref: %v", err)
		}
	} else if std.serving() != nil {
		t.Error("a stale Ref is resolved where every block is known")
	}
}
