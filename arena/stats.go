// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/freehold-go/freehold/internal/owner"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// Stats are the bytes of one arena.
type Stats struct {
	// InUse is the memory of values, with the gaps that their alignment needs.
	InUse int64
	// Retained is the rest of the arena's chunks: the free part of each, and the chunks that Reset
	// and Rewind kept.
	Retained int64
	// Held is the sum of both.
	Held int64
	// Chunks is the number of chunks, Types the number of types with pointers or bools that have
	// chunks.
	Chunks, Types int
}

// Stats counts the memory of a. The time is proportional to the number of chunks.
func (a *Arena) Stats() Stats {
	if a == nil {
		return Stats{}
	}
	in, lock := a.lock("Stats")
	defer lock.unlock()
	return in.count()
}

func (s *state) count() Stats {
	n := Stats{InUse: s.debug.bytes(), Held: s.rec.held.Load(), Types: s.types()}
	if s.maps != nil && !s.from.outside {
		n.InUse += s.maps.inUse
	}
	s.each(func(b *bump) {
		if b.chunk != &noChunk {
			n.count(b.chunk, b.chunk.next)
		}
		for _, list := range []*chunk{b.full, b.large, b.spare, b.spareLarge} {
			n.count(list, nil)
		}
	})
	if s.from.single || s.from.outside && s.debug.apart() {
		n.InUse = n.Held
	}
	n.Retained = n.Held - n.InUse
	return n
}

// types is the number of types that have chunks of their own.
func (s *state) types() (n int) {
	for _, b := range s.typed {
		if b.chunk != &noChunk || b.full != nil || b.large != nil || b.spare != nil || b.spareLarge != nil {
			n++
		}
	}
	return n
}

func (s *Stats) count(list, end *chunk) {
	for c := list; c != end; c = c.next {
		s.Chunks++
		s.InUse += int64(c.used)
	}
}

// Totals are the bytes of all arenas.
type Totals struct {
	Arenas   int   // That are not freed, or not known to be gone.
	Held     int64 // In their chunks, on the Go heap and off it.
	OffHeap  int64 // The part of Held in off-heap and fixed arenas; [offheap.Stats] count it, too.
	Retained int64 // In Pools, and in the store, which keeps it for some seconds.
	// Leaked is the number of off-heap arenas that were dropped without Free, and LeakedBytes the
	// memory that they keep for ever. Both are parts of the figures above, and grow when the
	// collector finds such an arena.
	Leaked      int
	LeakedBytes int64
	// Forgotten is the number of arenas on Go memory that died without Free so far. That is no
	// mistake, but the collector takes their memory later than Free does, and no arena reuses it.
	// It grows when the collector has found such an arena. [ForgottenPlaces] lists the places that
	// made them.
	Forgotten uint64
}

// ReadTotals counts over all arenas. It takes about 0.1 ms for a thousand of them.
func ReadTotals() Totals {
	t := Totals{Retained: store.kept.Load() + proven.kept.Load() + pooled.Load()}
	eachRecord(func(r *record, leaked bool) {
		n := r.held.Load()
		t.Arenas++
		t.Held += n
		if r.from.outside {
			t.OffHeap += n
		}
		if leaked {
			t.Leaked++
			t.LeakedBytes += n
		}
	})
	t.Forgotten = registry.forgotten.Load()
	return t
}

// SetLimit bounds the bytes of a's chunks, 0 for no bound, and returns the old bound. If a value
// needs a chunk beyond the bound, a refuses it with [offheap.ErrLimit]; existing values stay, and a
// works on. Empty chunks that Reset, Rewind or a Pool left with a count, but a releases them before
// it refuses a value.
func (a *Arena) SetLimit(n int64) (old int64) {
	if n < 0 {
		panic(fmt.Errorf("arena: SetLimit: negative limit %d; 0 means none", n))
	}
	if a == nil {
		return 0
	}
	return a.check("SetLimit").rec.limit.Swap(n)
}

// Clone copies the target of v, a pointer, a slice or a string, to the Go heap if it lies in an
// arena, so that it can outlive the arena. Otherwise it returns v unchanged. The copy is shallow:
// memory that the copied value points to stays where it is (see [Heap] for a full copy). A slice's
// copy has the slice's length as its capacity. Clone panics if T is of another kind.
func Clone[T any](v T) T {
	t := reflect.TypeFor[T]()
	rv := reflect.ValueOf(&v).Elem()
	if t.Kind() == reflect.Interface && !rv.IsNil() {
		rv = rv.Elem()
		t = rv.Type()
	}
	switch t.Kind() {
	case reflect.String:
		s := rv.String()
		if len(s) > 0 && inArena(unsafex.StringData(s)) {
			return as[T](reflect.ValueOf(string(append([]byte(nil), s...))).Convert(t))
		}
	case reflect.Slice:
		if rv.Cap() > 0 && inArena(rv.UnsafePointer()) {
			c := reflect.MakeSlice(t, rv.Len(), rv.Len())
			reflect.Copy(c, rv)
			return as[T](c)
		}
	case reflect.Pointer:
		if !rv.IsNil() && inArena(rv.UnsafePointer()) {
			c := reflect.New(t.Elem())
			c.Elem().Set(rv.Elem())
			return as[T](c.Convert(t))
		}
	default:
		panic(fmt.Errorf("arena: Clone of a %s: only pointers, slices and strings can be cloned", t))
	}
	return v
}

// as is the value in v, which is a T.
func as[T any](v reflect.Value) (t T) {
	reflect.ValueOf(&t).Elem().Set(v)
	return t
}

// inArena says whether p lies in a chunk that an arena has.
func inArena(p unsafex.Ptr) bool {
	owner, known := ownerOf(unsafex.PtrAddr(p))
	return known && owner != 0
}

// ownerOf is the ID of the arena that has the memory at addr, 0 if it was one's and is no longer.
// It is not known if it is in no chunk.
func ownerOf(addr uintptr) (id uint64, known bool) {
	if c := index.find(addr); c != nil {
		return c.ownerID(), true
	}
	return debugOwnerOf(addr)
}

// Owns reports whether v, a pointer, a slice or a string, leads to a value in a. It panics if v is
// of another kind.
func (a *Arena) Owns(v any) bool {
	rv := reflect.ValueOf(v)
	if a != nil {
		a.check("Owns")
	}
	var p unsafex.Ptr
	switch rv.Kind() {
	case reflect.String:
		p = unsafex.StringData(rv.String())
	case reflect.Slice, reflect.Pointer, reflect.UnsafePointer:
		p = rv.UnsafePointer()
	default:
		panic(fmt.Errorf("arena: Owns of a %T: only pointers, slices and strings lead to values", v))
	}
	if a == nil || p == nil {
		return false
	}
	in, lock := a.lock("Owns")
	defer lock.unlock()
	return in.owns(p)
}

// owns says whether p leads to a value in a.
func (a *Arena) owns(p unsafex.Ptr) bool {
	c := index.find(unsafex.PtrAddr(p))
	if c == nil {
		owner, _ := debugOwnerOf(unsafex.PtrAddr(p))
		return owner == a.id
	}
	return c.owner.Load() == a.rec && unsafex.PtrAddr(p)-unsafex.PtrAddr(c.base) < c.used
}

func init() {
	owner.Register(func(addr uintptr) string {
		if id, known := ownerOf(addr); known && id != 0 {
			return fmt.Sprintf("arena %d", id)
		}
		return ""
	})
}

// Cleanup frees a at the end of a test, and returns a, which may be of any kind:
//
//	a := arena.Cleanup(t, arena.NewArena())
//
// Before, it checks a: the test fails if a value was written beside, which [Arena.Check] finds in
// the debug mode guard, or if there is another mistake, such as a copy written over the
// arena. An arena with such damage is not freed. If the test has freed a, Cleanup does nothing.
//
// Cleanups run last in, first out, so a cleanup that is registered later may still use the arena.
// Tests may run in parallel. [CheckLeaks] and [CheckFreed] look at the arenas that the tested code
// makes itself.
func Cleanup(t offheap.TB, a *Arena) *Arena {
	t.Helper()
	if a == nil {
		return nil
	}
	a.check("Cleanup")
	id, made := a.id, a.place()
	t.Cleanup(func() {
		t.Helper()
		if a.freed() {
			return
		}
		if err := freeChecked(a); err != nil {
			t.Errorf("arena %d, which was made by %s, at the end of the test: %v", id, made, err)
		}
	})
	return a
}

// freeChecked frees a, or returns the mistakes that it finds.
func freeChecked(a *Arena) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *offheap.MisuseError:
			err = v
		default:
			panic(v)
		}
	}()
	if err := a.Check(); err != nil {
		return err
	}
	a.Free()
	return nil
}

// CheckFreed makes a test fail at its end if arenas of any kind that were made since the call have
// not been freed, or put back into their [Pool]. It is stricter than [CheckLeaks]: an arena on Go
// memory without Free is no mistake, but no arena reuses its memory. The failure lists the place
// that made each arena, whether the program still has it or the collector has taken it. With the
// kill switch it lists off-heap arenas alone.
//
// Call it before you register cleanups that free arenas: cleanups run last in, first out. Arenas of
// tests that run in parallel count, too.
func CheckFreed(t offheap.TB) {
	t.Helper()
	before := registry.last.Load()
	taken := registry.places.watch(before)
	t.Cleanup(func() {
		t.Helper()
		if text := unfreedSince(before, taken); text != "" {
			t.Errorf("%s", text)
		}
	})
}

// unfreedSince lists the arenas with IDs above a number that are not freed, one line each. taken
// returns the places of those that the collector took.
func unfreedSince(id uint64, taken func() []uintptr) string {
	var b strings.Builder
	for _, i := range List() { // It notices what the collector took, too.
		if i.ID > id && i.Kind != singleName {
			fmt.Fprintf(&b, "freehold: %s, not freed\n", i)
		}
	}
	for _, made := range taken() {
		fmt.Fprintf(&b, "freehold: an arena, made by %s, not freed; the collector took it\n", placeOf(made))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// CheckLeaks makes a test fail at its end if off-heap arenas that were made since the call have not
// been freed, whether or not the program still has a pointer to them. In the debug mode leaks
// (FREEHOLD=leaks) the failure lists them with the calls that made them, otherwise with the place
// that made them. The collector frees arenas on Go memory, so these are never leaks.
//
// Call it before you register cleanups that free arenas: cleanups run last in, first out. Arenas of
// tests that run in parallel count, too.
func CheckLeaks(t offheap.TB) {
	t.Helper()
	before := registry.last.Load()
	t.Cleanup(func() {
		t.Helper()
		if text := leaksSince(before); text != "" {
			t.Errorf("%s", text)
		}
	})
}

// leaksSince lists the off-heap arenas with IDs above a number, one line each, and the stack.
func leaksSince(id uint64) string {
	var b strings.Builder
	for _, i := range List() {
		if i.ID > id && (i.Kind == offHeapName || i.Kind == fixedName) {
			fmt.Fprintf(&b, "freehold: leak: %s, not freed\n", i)
			if i.Stack != "" {
				b.WriteString("  made by:\n" + i.Stack)
			}
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
