// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/owner"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// A debugState is what an arena keeps under a debug mode: which values it has made, and where.
// Arenas that no mode concerns have none.
//
// With guard the values are kept apart: no slot leads to a chunk, so that every call takes the slow
// way. On Go memory, values without pointers then lie on guarded pages, or, where there are no more,
// in chunks between canaries. Values with pointers must lie where the collector sees them, so that
// they stay in chunks. When they are freed, they are overwritten and never used again, and chunks go
// to the quarantine instead of the store. Off-heap values are a block of offheap each, which does
// the rest by itself.
//
// With a sanitizer that is compiled in, values are served as with guard where no guarded page is
// left, and the sanitizer watches over the fences.
//
// With the kill switch, values of off-heap arenas are a block of offheap each, too, which lies on the
// Go heap: offheap.Refs lead to blocks of offheap alone.
//
// With sample alone, arenas work as ever, and the chosen values lie on guarded pages. Values of
// off-heap arenas are never chosen: an offheap.Ref leads to blocks of offheap alone.
type debugState struct {
	config   debugmode.Config
	separate bool
	off      bool
	busy     atomic.Bool
	values   []value         // In the order in which they were made, so that a checkpoint is a number of them.
	held     int64           // Bytes of those that lie in no chunk.
	freed    debugmode.Stack // The call that freed the arena.
	freedBy  int64           // Its goroutine.
}

// A value is what one call has made: some values of one type in a row.
type value struct {
	at    unsafex.Ptr
	size  uintptr
	desc  *typeDesc
	name  string // For reports: the type, "[]" and the type, or "string".
	alloc debugmode.Stack
	in    memory
}

// memory is where a value lies.
type memory uint8

const (
	inChunk  memory = iota
	inFenced        // In a chunk, between canaries.
	inGuard         // On guarded pages.
	inBlock         // In a block of offheap.
)

// newDebugState is the state of a new arena, nil if no mode concerns its kind.
func newDebugState(from *source) *debugState {
	off := from.outside
	if off && freehold.HeapMode() {
		return &debugState{separate: true, off: true}
	}
	if !debugmode.On() || from.single {
		return nil
	}
	c := debugmode.Current()
	separate := c.Guard || c.Pointers && off || sanitize.Enabled
	if !separate && (c.Sample == 0 || off) {
		return nil
	}
	return &debugState{config: c, separate: separate, off: off}
}

// begin says that the caller uses a until done, and panics if another goroutine does so at this moment.
// It finds only mistakes: an arena serves one goroutine at a time, and no function calls the program
// between begin and done, so that no goroutine begins twice. Without a debug mode an arena has no busy
// word, and begin does nothing. Nor does it in two more cases:
//
//   - A shared arena has a lock.
//   - Under the race detector the word would order the two goroutines, which hides their race.
func (in *state) begin(op string) *debugState {
	s := in.debug
	if s == nil || sanitize.Race {
		return nil
	}
	if !s.busy.CompareAndSwap(false, true) {
		panic(misuse(op, concurrentUse, "on arena %d while another goroutine uses it; it was made by %s: an arena serves one goroutine at a time: give each goroutine an arena of its own, or make it with NewShared", in.self.id, in.self.place()))
	}
	if busyHook != nil {
		busyHook()
	}
	return s
}

// busyHook runs while an arena is busy. Tests stop a goroutine in it.
var busyHook func()

// done ends what begin began.
func (s *debugState) done() {
	if s != nil {
		s.busy.Store(false)
	}
}

// apart says whether every call must take the slow way.
func (s *debugState) apart() bool { return s != nil && s.separate }

// bytes are those of values that lie in no chunk.
func (s *debugState) bytes() int64 {
	if s == nil || s.off {
		return 0
	}
	return s.held
}

// apartMost bounds the chunks of values that are kept apart: memory that a Rewind frees in them is
// not used again.
const apartMost = 4 << 10

// maxChunk is up to what size the chunks of a bump grow.
func (s *debugState) maxChunk() uintptr {
	if s.apart() {
		return apartMost
	}
	return maxChunk
}

// allocDebug is alloc for n > 0 values of some size in an arena that a mode concerns.
func (in *state) allocDebug(op string, d *typeDesc, n int, size uintptr, zero bool) (unsafex.Ptr, error) {
	s := in.debug
	if !s.separate {
		return in.allocSampled(op, d, n, size, zero)
	}
	v := value{size: size, desc: d}
	if debugmode.On() { // Otherwise no report names it.
		v.name, v.alloc = typeName(op, d, n), debugmode.Callers(0)
	}
	var err error
	switch {
	case s.off:
		err = in.allocBlock(&v, n)
	case !s.config.Guard || d.scan:
		err = in.allocChunk(&v)
	default:
		if err = in.allocGuarded(&v); err == nil && v.at == nil {
			err = in.allocChunk(&v)
		}
	}
	if err != nil {
		return nil, err
	}
	in.announce(&v)
	s.values = append(s.values, v)
	return v.at, nil
}

// allocGuarded puts a value without pointers on guarded pages. It leaves it without a place if
// there are no more.
func (in *state) allocGuarded(v *value) error {
	if err := in.rec.charge(int64(v.size)); err != nil {
		return err
	}
	p, ok := debugmode.NewObject(v.size, v.desc.align, v.desc.flow == typedFlow, !in.debug.separate)
	if !ok {
		in.rec.held.Add(-int64(v.size))
		return nil
	}
	store.charge(int64(v.size))
	in.debug.held += int64(v.size)
	v.at, v.in = p, inGuard
	debugmode.Add(v.block(in.self.id))
	return nil
}

// block is what reports say of a value in the arena with that ID.
func (v *value) block(id uint64) debugmode.Block {
	return debugmode.Block{Addr: unsafex.PtrAddr(v.at), Size: v.size, Owner: "arena", Type: v.name, Arena: id, Alloc: v.alloc}
}

// allocChunk puts a value in a chunk, with canaries around it if it may have some: the collector
// takes a chunk of values with pointers for an array of them.
func (in *state) allocChunk(v *value) error {
	var err error
	if v.desc.flow == typedFlow || !in.debug.config.Guard && !sanitize.Enabled {
		v.at, err = in.cutApart(v.desc, v.size)
		return err
	}
	room := fence + v.size + fence
	if v.desc.flow == wordFlow {
		room = (room + 7) &^ 7
	}
	p, err := in.cutApart(v.desc, room)
	if err != nil {
		return err
	}
	v.at = unsafex.Add(p, fence)
	if in.debug.config.Guard {
		v.in = inFenced
		v.raiseFences()
	}
	return nil
}

// cutApart is cut for values that are kept apart. Afterwards the fast paths that need no slot find the
// chunk full, those of Typed, String, Bytes and Map: the mode would not know their values.
func (in *state) cutApart(d *typeDesc, size uintptr) (unsafex.Ptr, error) {
	p, err := in.cut(d, size, true)
	in.bumpFor(d).shut()
	return p, err
}

// allocBlock puts a value in a block of offheap.
func (in *state) allocBlock(v *value, n int) error {
	_ = in.from.purpose.Name() // It panics before anything is counted.
	charged := v.charged(in.from)
	err := in.rec.charge(charged)
	if err != nil {
		return err
	}
	defer func() {
		if v.at == nil { // An error, or a panic of offheap.
			in.rec.held.Add(-charged)
		}
	}()
	if v.at, err = makeBlock(in.from.purpose, v.desc.typ, n); err != nil {
		return fmt.Errorf("arena: %w", err)
	}
	in.debug.held += charged
	v.in = inBlock
	in.ownBlock(v)
	in.rec.noteLeak()
	return nil
}

// ownBlock notes that a block of offheap is the arena's, which alone frees it.
func (in *state) ownBlock(v *value) {
	if debugmode.On() {
		debugmode.Add(v.block(in.self.id)) // Offheap has noted it by now; reports shall name the arena.
	} else {
		heapBlocks.Store(unsafex.PtrAddr(v.at), in.self.id)
	}
}

// disownBlock is for a block that op is about to free.
func (v *value) disownBlock(op string) {
	if debugmode.On() {
		debugmode.Freeing(unsafex.PtrAddr(v.at), op)
	} else {
		heapBlocks.Delete(unsafex.PtrAddr(v.at))
	}
}

// heapBlocks has the IDs of the arenas that have blocks with the kill switch, by the addresses of
// these.
var heapBlocks sync.Map

// heapOwnerOf is ownerOf for values of off-heap arenas with the kill switch. It does not ask for that
// mode, because this would freeze the modes.
func heapOwnerOf(addr uintptr) (id uint64, known bool) {
	if begin, _ := owner.Beside(addr); begin != 0 {
		if v, ok := heapBlocks.Load(begin); ok {
			return v.(uint64), true
		}
	}
	return 0, false
}

// charged is how much of its limit a block takes in an off-heap arena.
func (v *value) charged(from *source) int64 {
	if from.fixed { // As where all values share one chunk of words.
		return int64((v.size + 7) &^ 7)
	}
	return int64(v.size)
}

// stringMakers are the functions whose bytes are strings.
var stringMakers = []string{"String", "Concat"}

// typeName is what reports call n values of a type that a function has made.
func typeName(op string, d *typeDesc, n int) string {
	switch {
	case d.typ.Kind() == reflect.Uint8 && slices.Contains(stringMakers, op):
		return "string"
	case n == 1:
		return d.typ.String()
	}
	return d.slice.String()
}

// debugOwnerOf is ownerOf for values that lie in no chunk.
func debugOwnerOf(addr uintptr) (id uint64, known bool) {
	if !debugmode.On() {
		return heapOwnerOf(addr)
	}
	b, ok := debugmode.Find(addr)
	if !ok || b.Arena == 0 || addr-b.Addr >= b.Size {
		return 0, false
	}
	if b.FreeOp != "" {
		return 0, true
	}
	return b.Arena, true
}

// freeBlock gives a block back to offheap.
func (v *value) freeBlock() { owner.Free(unsafex.PtrAddr(v.at), v.desc.typ) }

// ended is the mistake of a call of op on an arena that was freed, in a debug mode with the stacks of both.
func (a *Arena) ended(op string) *offheap.MisuseError {
	by, how, todo := "Free", "freed", "do not use an arena after its Free, and call Free once"
	if a.put {
		by, how, todo = "Pool.Put", "freed by Pool.Put", "do not use an arena after Pool.Put, and put it back once"
	}
	e := misuse(op, useAfterFree, "on arena %d, which was %s; it was made by %s: %s", a.id, how, a.place(), todo)
	if a.debug == nil || a.debug.freed == 0 {
		return e
	}
	b := debugmode.Block{Arena: a.id, FreeOp: by, Free: a.debug.freed, FreeBy: a.debug.freedBy}
	r := debugmode.Misuse(e.Kind, "", "found in arena."+op+", called", 0, b, 0)
	_, stacks, _ := strings.Cut(r.Error(), "\n")
	e.Report += "\n" + stacks
	e.Here, e.Freed = r.Access, b.Free.String()
	return e
}

// noteEnd notes the call that freed a, if a debug mode is on.
func (in *state) noteEnd() {
	if !debugmode.On() {
		return
	}
	if in.debug == nil {
		in.debug = &debugState{}
	}
	in.debug.freed = debugmode.Callers(0)
	if in.debug.separate { // The mode sample is for production, and the number takes some 10 µs.
		in.debug.freedBy = debugmode.Goroutine()
	}
}
