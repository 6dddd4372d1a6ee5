// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"reflect"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/offheap"
)

// handles are uses of arenas, Maps, Locals and the like that have ended. Checks that are always on
// find most of them.
func handles() []Case {
	freed := always("arena", "which was freed")
	reset := always("arena", "was reset")
	copied := always("arena", "on a copy of", "never copy the value")
	return []Case{
		{Name: "arena-new", Text: "allocates from an arena after Free", Run: two(newAfterFree), Seen: freed},
		{Name: "arena-free-twice", Text: "frees an arena twice", Run: two(freeArenaTwice), Seen: freed},
		{Name: "typed-handle", Text: "allocates through a Typed after Free of its arena", Run: three(typedAfterFree[node], typedAfterFree[point]), Seen: freed},
		{Name: "builder-handle", Text: "writes to a Builder after Free of its arena", Run: two(builderAfterFree), Seen: freed},
		{Name: "builder-string", Text: "asks a Builder for its string after Free of its arena", Run: two(builderStringAfter(byFree)), Seen: freed},
		{Name: "builder-reset", Text: "writes to a Builder after Reset of its arena", Run: two(builderWriteAfter(byReset)), Seen: reset},
		{Name: "arena-copy-new", Text: "allocates from a copy of an arena after Free of the arena", Run: two(newFromCopy), Seen: freed},
		{Name: "arena-copy-free", Text: "frees a copy of an arena", Run: two(freeCopy), Seen: copied},
		{Name: "pool-copy", Text: "gets an arena from a copy of a Pool", Run: only(Plain, getFromCopy), Seen: copied},
		{Name: "builder-copy", Text: "writes to a copy of a Builder", Run: two(writeToCopy), Seen: copied},
		{Name: "map-copy", Text: "looks up a copy of an arena's Map", Run: three(mapCopied[string], mapCopied[int64]), Seen: copied},
		{Name: "map-get", Text: "looks up an arena's Map after Free", Run: three(mapAfter[string](byFree), mapAfter[int64](byFree)), Seen: freed},
		{Name: "map-reset-get", Text: "looks up an arena's Map after Reset", Run: three(mapAfter[string](byReset), mapAfter[int64](byReset)), Seen: reset},
		{Name: "map-rewind-set", Text: "sets an entry of an arena's Map after Rewind", Run: three(mapSetAfter[string](byRewind), mapSetAfter[int64](byRewind)), Seen: always("arena", "was rewound")},
		{Name: "map-iterate-reset", Text: "resets the arena of a Map while iterating over it", Run: three(mapIterate[string](byReset), mapIterate[int64](byReset)), Seen: reset},
		{Name: "map-iterate-free", Text: "frees the arena of a Map while iterating over it", Run: three(mapIterate[string](byFree), mapIterate[int64](byFree)), Seen: freed},
		{Name: "context-stale", Text: "allocates from an arena in a context after Free", Run: two(contextStale), Seen: freed},
		{Name: "pool-put-twice", Text: "puts an arena into a Pool twice", Run: only(Plain, putTwice), Seen: freed},
		{Name: "pool-new-after-put", Text: "allocates from an arena after Put", Run: only(Plain, newAfterPut), Seen: freed},
		{Name: "pool-free-after-put", Text: "frees an arena after Put", Run: only(Plain, freeAfterPut), Seen: freed},
		{Name: "checkpoint-stale", Text: "rewinds to a checkpoint from before a Reset", Run: two(checkpointStale), Seen: always("arena", "checkpoint", "stale")},
		{Name: "checkpoint-foreign", Text: "rewinds to another arena's checkpoint", Run: two(checkpointForeign), Seen: always("arena", "checkpoint")},
		{Name: "local-closed", Text: "allocates from a Local after Close", Run: only(OffHeap, localClosed), Seen: always("offheap", "Local that is closed")},
		{Name: "local-copied", Text: "allocates from a copy of a Local", Run: only(OffHeap, localCopied), Seen: always("offheap", "use of a copied Local")},
		{Name: "local-copied-close", Text: "closes a copy of a Local that is closed", Run: only(OffHeap, localCopiedClose), Seen: always("offheap", "use of a copied Local")},
		{Name: "local-zero", Text: "allocates from a Local that NewLocal did not make", Run: only(OffHeap, localZero), Seen: always("offheap", "a Local that NewLocal did not make")},
		{Name: "purpose-copied", Text: "allocates from a copy of a Purpose", Run: only(OffHeap, purposeCopied), Seen: always("offheap", "use of a copied Purpose")},
		{Name: "purpose-zero", Text: "allocates from a Purpose that NewPurpose did not make", Run: only(OffHeap, purposeZero), Seen: always("offheap", "a Purpose that NewPurpose did not make")},
		{Name: "ref-deleted", Text: "follows a Ref after DeleteRef", Run: only(OffHeap, refDeleted), Seen: staleRef("Delete")},
		{Name: "ref-delete-twice", Text: "deletes by a Ref twice", Run: only(OffHeap, refDeletedTwice), Seen: append(staleRef("Delete"), always("double free")...)},
		{Name: "sliceref-freed", Text: "follows a SliceRef after FreeSlice", Run: only(OffHeap, sliceRefFreed), Seen: staleRef("FreeSlice")},
		{Name: "type-with-pointers", Text: "makes a value with Go pointers off the heap", Run: only(OffHeap, refusedType), Seen: always("Go pointer", "node.next: *main.node")},
	}
}

// staleRef is who catches a link to a block that was freed by the function: each mode that knows all
// blocks.
func staleRef(free string) []Sight {
	known := Sight{By: []Mode{Guard, Leaks, HeapPointers, Sample, ASan, MSan, Valgrind}, Says: []string{"freehold: use after " + free + ":"}, Stacks: everything}
	race := Sight{By: []Mode{Race}, Says: []string{"offheap: Ref", "does not lead to"}} // Blocks are on the Go heap, and known.
	return []Sight{known, race}
}

func newAfterFree(v Variant) {
	h := openArena(v, byFree)
	giveUp(h)
	allocate[point](h)
}

func freeArenaTwice(v Variant) {
	h := openArena(v, byFree)
	giveUp(h)
	giveUp(h)
}

func typedAfterFree[T any](v Variant) {
	h := openArena(v, byFree)
	typed := arena.Of[T](h.a)
	typed.New()
	giveUp(h)
	typed.New()
}

func builderStringAfter(how way) func(Variant) {
	return func(v Variant) {
		h := openArena(v, how)
		b := arena.NewBuilder(h.a)
		_, _ = b.WriteString(text)
		giveUp(h)
		sum += int64(len(b.String()))
	}
}

func builderWriteAfter(how way) func(Variant) {
	return func(v Variant) {
		h := openArena(v, how)
		b := arena.NewBuilder(h.a)
		_, _ = b.WriteString(text)
		giveUp(h)
		_ = b.WriteByte('x')
	}
}

// copyOf is a copy of *p that `go vet` does not see.
func copyOf[T any](p *T) *T {
	c := new(T)
	*c = *p
	return c
}

func newFromCopy(v Variant) {
	h := openArena(v, byFree)
	c := copyOf(h.a)
	giveUp(h)
	arena.New[point](c)
}

func freeCopy(v Variant) {
	h := openArena(v, byFree)
	copyOf(h.a).Free()
}

func getFromCopy(v Variant) {
	h := openArena(v, byPut)
	giveUp(h)
	copyOf(&h.pool).Get()
}

func writeToCopy(v Variant) {
	h := openArena(v, byFree)
	b := arena.NewBuilder(h.a)
	_ = b.WriteByte('x')
	_ = copyOf(b).WriteByte('y')
}

func mapCopied[E comparable](v Variant) {
	h := openArena(v, byFree)
	accessMap(copyOf(allocateMap[E](h)))
}

func builderAfterFree(v Variant) {
	h := openArena(v, byFree)
	b := arena.NewBuilder(h.a)
	_, _ = b.WriteString(text)
	giveUp(h)
	_, _ = b.WriteString(text)
}

// numbers is a Map with some entries. A value is as long as a key; strings hold pointers, numbers none.
//
//go:noinline
func allocateMap[E comparable](h *home) *arena.Map[int64, E] {
	m := arena.NewMap[int64, E](h.a, 100)
	var e E
	if s, ok := any(&e).(*string); ok {
		*s = allocateString(h, text)
	}
	for i := range int64(100) {
		m.Set(i, e)
	}
	return m
}

func mapAfter[E comparable](how way) func(Variant) {
	return func(v Variant) {
		h := openArena(v, how)
		m := allocateMap[E](h)
		giveUp(h)
		accessMap(m)
	}
}

func mapSetAfter[E comparable](how way) func(Variant) {
	return func(v Variant) {
		h := openArena(v, how)
		m := allocateMap[E](h)
		giveUp(h)
		accessMapSet(m)
	}
}

func mapIterate[E comparable](how way) func(Variant) {
	return func(v Variant) {
		h := openArena(v, how)
		accessAll(h, allocateMap[E](h))
	}
}

//go:noinline
func accessMap[E comparable](m *arena.Map[int64, E]) {
	if e, ok := m.Get(50); ok {
		consume(e)
	}
}

//go:noinline
func accessMapSet[E comparable](m *arena.Map[int64, E]) {
	var e E
	m.Set(50, e)
}

//go:noinline
func accessAll[E comparable](h *home, m *arena.Map[int64, E]) {
	given := false
	for _, e := range m.All() {
		consume(e)
		if !given {
			given = true
			giveUp(h)
		}
	}
}

// consume reads e, and what it leads to.
func consume[E comparable](e E) {
	if s, ok := any(e).(string); ok && s == text {
		sum++
	}
}

func contextStale(v Variant) {
	h := openArena(v, byFree)
	ctx := arena.NewContext(context.Background(), h.a)
	giveUp(h)
	arena.New[point](arena.FromContext(ctx))
}

func putTwice(v Variant) {
	h := openArena(v, byPut)
	giveUp(h)
	giveUp(h)
}

func newAfterPut(v Variant) {
	h := openArena(v, byPut)
	giveUp(h)
	allocate[point](h)
}

func freeAfterPut(v Variant) {
	h := openArena(v, byPut)
	giveUp(h)
	h.a.Free()
}

func checkpointStale(v Variant) {
	h := openArena(v, byReset)
	giveUp(h)
	h.a.Rewind(h.since)
}

func checkpointForeign(v Variant) {
	h, other := openArena(v, byRewind), openArena(v, byRewind)
	h.since = other.since
	giveUp(h)
}

func localClosed(Variant) {
	l := offheap.NewLocal()
	p := offheap.In[point](l).New()
	offheap.In[point](l).Delete(p)
	l.Close()
	offheap.In[point](l).New()
}

// copied is a copy of *p, made so that go vet does not see it.
func copied[T any](p *T) *T {
	c := new(T)
	reflect.ValueOf(c).Elem().Set(reflect.ValueOf(p).Elem())
	return c
}

func localCopied(Variant) {
	l := offheap.NewLocal()
	defer l.Close()
	c := copied(l)
	offheap.In[point](l).Delete(offheap.In[point](l).New())
	offheap.In[point](c).New()
}

func localCopiedClose(Variant) {
	l := offheap.NewLocal()
	c := copied(l)
	l.Close()
	c.Close()
}

func localZero(Variant) { new(offheap.Local).Alloc(100) }

func purposeCopied(Variant) {
	c := copied(offheap.NewPurpose("copied"))
	offheap.For[point](c).New()
}

func purposeZero(Variant) { new(offheap.Purpose).Alloc(100) }

//go:noinline
func allocateRef() offheap.Ref[point] { return offheap.RefOf(offheap.New[point]()) }

//go:noinline
func giveUpRef(r offheap.Ref[point]) { offheap.DeleteRef(r) }

func refDeleted(Variant) {
	r := allocateRef()
	giveUpRef(r)
	accessRef(r)
}

//go:noinline
func accessRef(r offheap.Ref[point]) { sum += r.Ptr().x }

func refDeletedTwice(Variant) {
	r := allocateRef()
	giveUpRef(r)
	accessDeleteRef(r)
}

//go:noinline
func allocateSliceRef() offheap.SliceRef[point] {
	return offheap.SliceRefOf(offheap.MakeSlice[point](5, 5))
}

//go:noinline
func giveUpSliceRef(r offheap.SliceRef[point]) { offheap.FreeSlice(r.Slice()) }

func sliceRefFreed(Variant) {
	r := allocateSliceRef()
	giveUpSliceRef(r)
	accessSliceRef(r)
}

//go:noinline
func accessSliceRef(r offheap.SliceRef[point]) { sum += r.Slice()[4].x }

//go:noinline
func accessDeleteRef(r offheap.Ref[point]) { offheap.DeleteRef(r) }

func refusedType(Variant) { offheap.New[node]() }
