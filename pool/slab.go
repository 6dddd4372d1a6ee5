// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"fmt"
	"iter"
	"math"
	"math/bits"
	"reflect"
	"unsafe"

	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// A Handle leads to a value of a [Slab]. It has 8 bytes and no pointer: a slot and a generation.
// Each New of a slot has a generation of its own, so a handle to a deleted value finds nothing. The
// zero Handle leads to nothing. Handles are comparable.
type Handle[T any] struct {
	_ [0]*T
	n uint64 // The generation above, the slot below.
}

// Index is the slot of the value. The values that live at one moment have different slots, and slots
// are numbered from 0 without gaps, so an index leads into tables beside the slab.
func (h Handle[T]) Index() uint32 { return uint32(h.n) }

// IsNil says whether h is the zero Handle.
func (h Handle[T]) IsNil() bool { return h.n == 0 }

// Uint64 is h as a number, for [HandleFromUint64].
func (h Handle[T]) Uint64() uint64 { return h.n }

// HandleFromUint64 is the Handle whose Uint64 is n. It accepts any number: [Slab.Get] checks each
// handle.
func HandleFromUint64[T any](n uint64) Handle[T] { return Handle[T]{n: n} }

func handleOf[T any](slot, gen uint32) Handle[T] {
	return Handle[T]{n: uint64(gen)<<32 | uint64(slot)}
}

// SlabOptions say where the values of a [Slab] lie.
type SlabOptions struct {
	// Purpose is the account of the values, which then lie off the Go heap. T must not hold Go
	// pointers. The limit of the Purpose holds. With nil, the values lie on the Go heap, and T is
	// any type.
	Purpose *offheap.Purpose
}

// A Slab is a set of values of one type that are found by handles. A handle to a deleted value finds
// nothing, also when another value has the slot. Values never move.
//
// The zero Slab is empty and ready; its values lie on the Go heap. Off the Go heap, values live until
// Delete, Clear or Free; without Free they are leaked.
//
// One goroutine may change a Slab at a time, and no other may use it meanwhile. Any number of
// goroutines may call Get, All, Len and WriteTo together. A Slab must not be copied: New, Delete and
// ReadFrom of a copy panic with an [*offheap.MisuseError].
type Slab[T any] struct {
	_       noCopy
	self    *Slab[T]   // The Slab itself, once it was used. A copy has another value here.
	chunks  []*item[T] // The first item of each chunk of slotsOf[T]() items.
	alive   []uint64   // A bit for each slot.
	free    uint32     // The first free slot plus one, 0 for none. The others follow by item.next.
	used    uint32     // The slots below it were used. The others have generation 0.
	count   int
	purpose *offheap.Purpose
	typed   bool  // Off the Go heap items share memory with items of this type alone.
	freed   place // Where Free was called.
}

// An item is a slot. The generation lies in the cache line of the value.
type item[T any] struct {
	gen  uint32 // Odd while the slot has a value.
	next uint32 // The next free slot plus one, 0 for none.
	val  T
}

// A generation that reaches retiredGen ends the slot: it never has a value again, so that no
// generation comes back.
const retiredGen = math.MaxUint32 - 1

func slotsOf[T any]() uint32 { return 1 << chunkShift[T]() }

// NewSlab returns an empty Slab. It panics if the values are to lie off the Go heap and T holds Go
// pointers. The message names the field.
func NewSlab[T any](o SlabOptions) *Slab[T] {
	s := &Slab[T]{purpose: o.Purpose}
	s.self = s
	if o.Purpose != nil {
		info := mustLackPointers[T]("NewSlab")
		s.typed = info.Bools || info.SelfContained
	}
	return s
}

// mustLackPointers panics if values of T cannot lie off the Go heap, and returns what is known of T.
func mustLackPointers[T any](op string) typeinfo.Info {
	info := typeinfo.Describe(reflect.TypeFor[T](), reflect.TypeFor[offheap.UnsafeSelfContained]())
	if info.PointerPath != "" {
		panic(fmt.Errorf("pool: %s: values of %s cannot lie off the Go heap: they hold a Go pointer (%s)", op, info.Type, info.PointerPath))
	}
	return info
}

// slot and Get call no generic function: each such call would load a dictionary of types, also where
// it is inlined, and they have little else to do. Get is written so that it is just inlined.

// shiftFor is the binary logarithm of the slots of a chunk, by the size of an item. A chunk has 32 to
// 64 KiB, or one slot. The compiler makes it a constant.
func shiftFor(size uintptr) uint { return 16 - min(16, max(4, uint(bits.Len(uint(size-1))))) }

// chunkShift is shiftFor of the items of a T.
func chunkShift[T any]() uint { return shiftFor(unsafe.Sizeof(item[T]{})) }

// slot is the item of a slot below used.
func (s *Slab[T]) slot(i uint32) *item[T] {
	shift := shiftFor(unsafe.Sizeof(item[T]{}))
	// SAFETY: a chunk has 1<<shift items, and the index is below that.
	return (*item[T])(unsafe.Add(unsafe.Pointer(s.chunks[i>>shift]), uintptr(i&(1<<shift-1))*unsafe.Sizeof(item[T]{})))
}

// Get returns the value of h, or nil if it was deleted. A handle of another Slab of the same T finds
// the value of that slot if both generations are equal, and nil otherwise.
func (s *Slab[T]) Get(h Handle[T]) (v *T) {
	shift := shiftFor(unsafe.Sizeof(item[T]{}))
	if c := uint32(h.n) >> shift; uint(c) < uint(len(s.chunks)) {
		// SAFETY: a chunk has 1<<shift items, and the index is below that.
		it := (*item[T])(unsafe.Add(unsafe.Pointer(s.chunks[c]), uintptr(h.n)&(1<<shift-1)*unsafe.Sizeof(item[T]{})))
		if uint64(it.gen) == h.n>>32 && it.gen&1 != 0 {
			v = &it.val
		}
	}
	return v
}

// New makes a value, which is zero, and returns it with its handle. It panics if memory is refused;
// [offheap.Try] makes that an error, and the Slab works on.
func (s *Slab[T]) New() (Handle[T], *T) {
	next := s.free
	if next == 0 || s.self != s {
		next = s.newSlot()
	}
	i := next - 1
	it := s.slot(i)
	s.free = it.next
	it.gen++
	s.alive[i/64] |= 1 << (i % 64)
	s.count++
	return handleOf[T](i, it.gen), &it.val
}

// newSlot returns a free slot plus one. The first slot that was never used becomes the list of free
// slots if that is empty.
//
//go:noinline
func (s *Slab[T]) newSlot() uint32 {
	s.open("New")
	if s.free != 0 {
		return s.free
	}
	if s.used == math.MaxUint32 { // Slots are numbers of 32 bits, and one is added to them.
		panic(fmt.Errorf("pool: Slab.New: all %d slots are used: %w", s.used, offheap.ErrOutOfMemory))
	}
	if s.used>>chunkShift[T]() == uint32(len(s.chunks)) {
		c, err := s.newChunk()
		if err != nil {
			panic(err)
		}
		s.chunks = append(s.chunks, c)
		s.alive = append(s.alive, make([]uint64, wordsFor(len(s.chunks)<<chunkShift[T]())-len(s.alive))...)
	}
	s.used++
	s.free = s.used
	return s.free
}

// wordsFor is the number of words with a bit for each of n slots.
func wordsFor(n int) int { return (n + 63) / 64 }

// open prepares s for a change. It panics if op must not use s.
func (s *Slab[T]) open(op string) {
	switch {
	case s.freed != 0:
		panic(misuse("Slab."+op, "use after Free", "make another Slab; handles of this one would lead to its values", s.freed))
	case s.self == nil:
		s.self = s
	case s.self != s:
		panic(copied("Slab."+op, "Slab"))
	}
}

// newChunk makes the items of a chunk, all zero. Items of 64 bytes take one cache line each, unless
// they keep the alignment of their type as all typed memory does.
func (s *Slab[T]) newChunk() (*item[T], error) {
	n := int(slotsOf[T]())
	if s.purpose == nil {
		return &make([]item[T], n)[0], nil
	}
	items := offheap.For[item[T]](s.purpose)
	if !s.typed {
		items = items.Aligned(64)
	}
	c, err := items.TryMakeSlice(n, n)
	if err != nil {
		return nil, fmt.Errorf("pool: %d slots of a Slab: %w", n, err)
	}
	return &c[0], nil
}

// freeChunk gives the memory of a chunk back.
func (s *Slab[T]) freeChunk(c *item[T]) {
	if s.purpose != nil {
		offheap.FreeSlice(itemsOf(c))
	}
}

// itemsOf is a chunk as a slice.
func itemsOf[T any](c *item[T]) []item[T] {
	n := int(slotsOf[T]())
	return unsafex.SliceOf[item[T]](unsafex.PtrOf(c), n, n)
}

// Delete ends the value of h and says whether there was one. What a *T from New or Get reads
// afterwards is zero, or the next value of the slot.
func (s *Slab[T]) Delete(h Handle[T]) bool {
	i, gen := h.Index(), uint32(h.n>>32)
	if i >= s.used || gen&1 == 0 {
		return false
	}
	it := s.slot(i)
	if it.gen != gen {
		return false
	}
	if s.self != s {
		s.open("Delete")
	}
	zero(&it.val)
	it.gen++
	s.alive[i/64] &^= 1 << (i % 64)
	s.count--
	if it.gen != retiredGen {
		it.next, s.free = s.free, i+1
	}
	return true
}

// zero makes *v zero, so that it keeps nothing alive. A large zero value would come from the Go
// heap.
func zero[T any](v *T) {
	if unsafex.Size[T]() <= 1024 {
		var none T
		*v = none
		return
	}
	clear(unsafex.SliceOf[T](unsafex.PtrOf(v), 1, 1))
}

// All returns the values with their handles in the order of slots. The loop may delete any value; a
// value that is deleted before its turn is left out. A value that the loop makes may be left out, too,
// and a loop that makes a value in each round ends.
func (s *Slab[T]) All() iter.Seq2[Handle[T], *T] {
	return func(yield func(Handle[T], *T) bool) {
		size := unsafe.Sizeof(item[T]{})
		for w, end := 0, wordsFor(int(s.used)); w < min(end, len(s.alive)); w++ {
			word := s.alive[w]
			if word == 0 {
				continue
			}
			first := s.slot(uint32(w * 64))
			for ; word != 0; word &= word - 1 {
				bit := uint32(bits.TrailingZeros64(word))
				i := uint32(w*64) + bit
				var it *item[T]
				if shiftFor(size) >= 6 { // The 64 slots of a word lie in one chunk.
					// SAFETY: the chunk goes on for 63 items behind the first.
					it = (*item[T])(unsafe.Add(unsafe.Pointer(first), uintptr(bit)*size))
				} else {
					it = s.slot(i)
				}
				if it.gen&1 == 0 { // The loop has deleted it.
					continue
				}
				if !yield(handleOf[T](i, it.gen), &it.val) || s.freed != 0 {
					return
				}
			}
		}
	}
}

// Len is the number of values.
func (s *Slab[T]) Len() int { return s.count }

// Clear deletes all values. Their handles find nothing from now on.
func (s *Slab[T]) Clear() {
	for h := range s.All() {
		s.Delete(h)
	}
}

// Free gives the memory back and ends the Slab: Get finds nothing, and New panics. A second Free does
// nothing. No *T of the Slab may be used afterwards, if the values lie off the Go heap.
func (s *Slab[T]) Free() {
	if s.freed != 0 {
		return
	}
	s.open("Free")
	s.freed = here()
	chunks := s.chunks
	s.chunks, s.alive, s.free, s.used, s.count = nil, nil, 0, 0, 0
	for _, c := range chunks {
		s.freeChunk(c)
	}
}
