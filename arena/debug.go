// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/owner"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
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

// Sampling leaves the fast paths as they are. Points are drawn along the memory that a bump cuts,
// each a random distance behind the last, and the limit of the current chunk never lies beyond the
// next one: so the value that reaches a point takes the slow way. A large value reaches points more
// often than a small one, and is taken in proportion less often. So each value is sampled with the
// same chance, whatever its size.

// samplePoint is how many bytes lie between two points on average, for each value that passes
// between two samples. Values smaller than this are sampled less often, in proportion to their
// size.
const samplePoint = 8

// allocSampled is alloc where one value in some goes to guarded pages. Values of types with
// pointers or bools stay in chunks.
func (in *state) allocSampled(op string, d *typeDesc, n int, size uintptr, zero bool) (unsafex.Ptr, error) {
	if d.flow == typedFlow {
		return in.cut(d, size, zero)
	}
	b := in.bumpFor(d)
	if b.sample == nil {
		b.sample = &sampler{left: in.debug.gap()}
	}
	b.look()
	if size >= b.sample.left {
		b.sample.left = in.debug.gap()
		if in.debug.takes(size) && debugmode.HoldSample(size) {
			v := value{size: size, desc: d, name: typeName(op, d, n), alloc: debugmode.Callers(0)}
			// Where the limit refuses it, it may well fit in the chunk that is there.
			if err := in.allocGuarded(&v); err == nil && v.at != nil {
				in.debug.values = append(in.debug.values, v)
				b.arm()
				return v.at, nil
			}
			debugmode.DropSample(size)
		}
	} else {
		b.sample.left -= size
	}
	p, err := in.cut(d, size, zero)
	b.arm()
	return p, err
}

// mean is the average distance between points.
func (s *debugState) mean() float64 { return samplePoint * float64(s.config.Sample) }

// gap is a random distance to the next point: exponential, so that points are independent of each
// other. Where every value is sampled it is the least.
func (s *debugState) gap() uintptr {
	if s.config.Sample == 1 {
		return 1
	}
	return uintptr(min(1+rand.ExpFloat64()*s.mean(), 1<<30))
}

// takes says whether a value that has reached a point is sampled: so often that of all values one
// in config.Sample is. A value of so many bytes reaches one with the chance that the divisor is.
func (s *debugState) takes(size uintptr) bool {
	if s.config.Sample == 1 {
		return true
	}
	chance := -math.Expm1(-samplePoint/s.mean()) / -math.Expm1(-float64(max(size, samplePoint))/s.mean())
	return rand.Float64() < chance
}

// fence is how many bytes a canary has.
const fence = 16

// raiseFences writes the canaries before and behind a value.
func (v *value) raiseFences() {
	unsafex.FillAt(unsafex.Before(v.at, fence), fence, debugmode.Canary)
	unsafex.FillAt(unsafex.Add(v.at, v.size), fence, debugmode.Canary)
}

// damage is the offset of the first damaged byte of a value's canaries, the one nearest to the
// value.
func (v *value) damage() (offset int, damaged bool) {
	switch v.in {
	case inGuard:
		at, ok := debugmode.CheckObject(v.at)
		return at, !ok
	case inFenced:
		for i, c := range unsafex.SliceOf[byte](unsafex.Add(v.at, v.size), fence, fence) {
			if c != debugmode.Canary {
				return int(v.size) + i, true
			}
		}
		before := unsafex.SliceOf[byte](unsafex.Before(v.at, fence), fence, fence)
		for i := range before {
			if before[fence-1-i] != debugmode.Canary {
				return -1 - i, true
			}
		}
	}
	return 0, false
}

// check panics if a canary of the values from the n-th on is damaged.
func (s *debugState) check(op string, id uint64, n int) {
	if s == nil || n >= len(s.values) { // Fewer than at a checkpoint, if a Free has found damage.
		return
	}
	for i := range s.values[n:] {
		if e := s.values[n+i].checked(op, id); e != nil {
			panic(e)
		}
	}
}

// checked is nil if the canaries of a value are whole.
func (v *value) checked(op string, id uint64) *offheap.MisuseError {
	at, damaged := v.damage()
	if !damaged {
		return nil
	}
	where := "right behind"
	switch n := at - int(v.size); {
	case at < 0:
		where = countBytes(-at) + " before"
	case n > 0:
		where = countBytes(n) + " behind"
	}
	b := v.block(id)
	r := debugmode.Misuse("damaged canary", fmt.Sprintf("a byte %s a %s was written", where, b), "found in arena."+op+", called", b.Addr, b, 0)
	r.Advice = "Look for a write beside the value between its allocation and now: an unchecked index, or C code."
	return &offheap.MisuseError{Op: op, Addr: b.Addr, Kind: r.Kind, Detail: r.What, Report: r.Error(),
		Here: r.Access, Allocated: v.alloc.String()}
}

func countBytes(n int) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// Check searches for writes outside the values of a: with the debug mode guard, it
// compares the canaries before and behind values without pointers. It returns an error that joins a
// [*offheap.MisuseError] for each value with a write beside it. It returns nil if there are none,
// or if no such mode is on. Free, Reset and Rewind make the same check for the values that they
// free, and panic. Values of off-heap arenas are blocks, which [offheap.Check] checks.
//
// The time is proportional to the number of values.
func (a *Arena) Check() error {
	if a == nil {
		return nil
	}
	in, lock := a.lock("Check")
	defer lock.unlock()
	return in.checkValues()
}

func (in *state) checkValues() error {
	if in.debug == nil {
		return nil
	}
	var all []error
	for i := range in.debug.values {
		if e := in.debug.values[i].checked("Check", in.self.id); e != nil {
			all = append(all, e)
		}
	}
	return errors.Join(all...)
}

// freeValues makes every use of the values from the n-th on one that faults or is seen to be
// stale, as far as the mode can. op is the function that frees them. A damaged canary panics before
// anything is changed; one of a block of offheap when the values after it are freed.
func (in *state) freeValues(op string, n int) {
	if in.debug != nil && n < len(in.debug.values) {
		in.freeValuesSlow(op, n)
	}
}

//go:noinline
func (in *state) freeValuesSlow(op string, n int) {
	s := in.debug
	s.check(op, in.self.id, n)
	g := freeing{in: in, op: op}
	if debugmode.On() {
		g.free = debugmode.Callers(0)
	}
	for len(s.values) > n { // If offheap finds a damaged block, no freed one must be left here.
		last := len(s.values) - 1
		g.take(&s.values[last])
		s.values[last] = value{}
		s.values = s.values[:last]
	}
	in.rec.noteLeak()
}

// A freeing is one free of values, by Free, Reset, Rewind or Put.
type freeing struct {
	in    *state
	op    string
	free  debugmode.Stack
	by    int64 // The goroutine, known if there are tombs.
	tombs map[tombKey]uintptr
}

// A tombKey is the identity of values with pointers that are freed together.
type tombKey struct {
	desc  *typeDesc
	size  uintptr
	alloc debugmode.Stack
}

func (g *freeing) take(v *value) {
	in, s := g.in, g.in.debug
	switch v.in {
	case inGuard:
		addr := unsafex.PtrAddr(v.at)
		debugmode.Freed(addr, g.op, 0)
		debugmode.FreeObject(v.at)
		s.held -= int64(v.size)
		in.rec.held.Add(-int64(v.size))
		store.charge(-int64(v.size))
	case inBlock:
		charged := v.charged(in.from)
		v.disownBlock(g.op)
		v.freeBlock()
		s.held -= charged
		in.rec.held.Add(-charged)
	default:
		if v.desc.flow == typedFlow {
			l := layoutOf(v.desc)
			var tomb uintptr
			if v.desc.scan {
				tomb = g.tombOf(v)
			}
			l.overwrite(v.at, v.size, tomb)
		} else {
			unsafex.FillAt(v.at, v.size, debugmode.PoisonFreed)
		}
		v.forbid(g.op)
	}
}

// tombOf is the tomb for the pointers in a value.
func (g *freeing) tombOf(v *value) uintptr {
	k := tombKey{v.desc, v.size, v.alloc}
	tomb, ok := g.tombs[k]
	if !ok {
		if g.tombs == nil {
			g.tombs = make(map[tombKey]uintptr)
			g.by = debugmode.Goroutine()
		}
		b := v.block(g.in.self.id)
		b.FreeOp, b.Free, b.FreeBy = g.op, g.free, g.by
		tomb = debugmode.NewTomb(b)
		g.tombs[k] = tomb
	}
	return tomb
}

// A layout says where in the values of a type the words are that cannot be overwritten with just
// any bytes, in the order in which they lie (GC-8). All else may be.
type layout struct {
	size  uintptr
	spots []spot
}

// A spot is such a word, or several.
type spot struct {
	off, size uintptr
	kind      spotKind
	elem      uintptr // The size of a slice's or string's elements.
	part      *layout // Of the elements of an array.
}

type spotKind uint8

const (
	spotPointers spotKind = iota // Of nothing but pointers: one word, or the two of an interface with methods.
	// spotAny is an interface without methods. Its type stays: Go compares types by address, and an
	// assertion to another type would make an error that faults only when it is printed.
	spotAny
	spotSlice  // Address, length and capacity.
	spotString // Address and length.
	spotBool   // Go code trusts it to be 0 or 1 (C1).
	spotArray
)

// layouts holds the layout of each *typeDesc whose values were freed.
var layouts sync.Map

func layoutOf(d *typeDesc) *layout {
	if l, ok := layouts.Load(d); ok {
		return l.(*layout)
	}
	l := newLayout(d.typ)
	layouts.Store(d, l)
	return l
}

func newLayout(t reflect.Type) *layout {
	l := &layout{size: t.Size()}
	l.add(t, 0)
	return l
}

// add adds the spots of a t that lies at an offset.
func (l *layout) add(t reflect.Type, off uintptr) {
	s := spot{off: off, size: t.Size()}
	switch t.Kind() {
	case reflect.Bool:
		s.kind = spotBool
	case reflect.String:
		s.kind, s.elem = spotString, 1
	case reflect.Slice:
		s.kind, s.elem = spotSlice, t.Elem().Size()
	case reflect.Interface:
		if s.kind = spotPointers; t.NumMethod() == 0 {
			s.kind = spotAny
		}
	case reflect.Chan, reflect.Func, reflect.Map, reflect.Pointer, reflect.UnsafePointer:
		s.kind = spotPointers
	case reflect.Array:
		s.kind, s.part = spotArray, newLayout(t.Elem())
		if t.Len() == 0 || len(s.part.spots) == 0 {
			return
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			l.add(f.Type, off+f.Offset)
		}
		return
	default:
		return
	}
	l.spots = append(l.spots, s)
}

// overwrite overwrites values in a row, n bytes from p on: pointers lead to the tomb, so that the first
// use of one faults, and all else becomes poison.
func (l *layout) overwrite(p unsafex.Ptr, n, tomb uintptr) {
	for at := uintptr(0); at+l.size <= n; at += l.size {
		done := uintptr(0)
		for i := range l.spots {
			s := &l.spots[i]
			unsafex.FillAt(unsafex.Add(p, at+done), s.off-done, debugmode.PoisonFreed)
			s.overwrite(unsafex.Add(p, at+s.off), tomb)
			done = s.off + s.size
		}
		if done < l.size { // Or the address might be another object's.
			unsafex.FillAt(unsafex.Add(p, at+done), l.size-done, debugmode.PoisonFreed)
		}
	}
}

// tombReach bounds the bytes that a slice or a string claims to have behind a tomb: so many are
// inaccessible there.
const tombReach = 2 << 10

func (s *spot) overwrite(p unsafex.Ptr, tomb uintptr) {
	switch s.kind {
	case spotPointers:
		for w := uintptr(0); w < s.size; w += wordSize {
			put(unsafex.Add(p, w), unsafex.Pointer(tomb))
		}
	case spotAny:
		put(unsafex.Add(p, wordSize), unsafex.Pointer(tomb))
	case spotSlice, spotString:
		s.buryText(p, tomb)
	case spotBool:
		*unsafex.As[bool](p) = true
	case spotArray:
		s.part.overwrite(p, s.size, tomb)
	}
}

// buryText overwrites a slice or a string. Its length is less than the inaccessible memory
// behind the tomb, so that no index leads elsewhere, and is not 0, so that a loop faults. If not even
// one element fits there, it is 0 all the same: Go does not touch the beginning of an element before it
// touches what lies far behind, as it does with the target of a pointer.
func (s *spot) buryText(p unsafex.Ptr, tomb uintptr) {
	length := unsafex.As[uintptr](unsafex.Add(p, wordSize))
	if s.elem != 0 {
		*length = min(max(*length, 1), max(1, tombReach/s.elem))
	}
	if tomb == 0 || s.elem > debugmode.TombReach {
		*length = 0
	}
	put(p, unsafex.Pointer(tomb))
	if s.kind == spotSlice {
		*unsafex.As[uintptr](unsafex.Add(p, 2*wordSize)) = *length
	}
}

// This file reports values in chunks on the Go heap to sanitizers; offheap reports values in its
// blocks.

// watched says whether the value is reported to the sanitizer. Valgrind sees the collector's reads,
// too, so that values with pointers, which the collector goes on reading, must stay allowed there;
// and it takes for red zones what others of one type may lie in.
func (v *value) watched() bool {
	return sanitize.Enabled && v.in == inChunk && (sanitize.Kind != "valgrind" || v.desc.flow != typedFlow)
}

// announce reports a new value to the sanitizer, and the fences around it if it has some. Values of
// one type with pointers or bools lie side by side, because the collector takes them for an array.
func (in *state) announce(v *value) {
	if !v.watched() {
		return
	}
	addr := unsafex.PtrAddr(v.at)
	debugmode.Add(v.block(in.self.id))
	sanitize.Fresh(addr, v.size, true)
	if v.desc.flow != typedFlow {
		sanitize.Poison(addr-fence, fence)
		sanitize.Poison(addr+v.size, fence)
	}
}

// forbid reports to the sanitizer that no code may touch the value any more. op is the function
// that freed it.
func (v *value) forbid(op string) {
	if v.watched() {
		addr := unsafex.PtrAddr(v.at)
		debugmode.Freed(addr, op, 0)
		sanitize.Freed(addr, v.size)
	}
}
