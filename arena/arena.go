// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// noCopy makes `go vet` report copies of the struct that has it as a field.
type noCopy struct{}

func (*noCopy) Lock() {}

func (*noCopy) Unlock() {}

// An Arena holds values that are allocated one by one and freed together. A nil *Arena is valid: it
// allocates from the Go heap, and freeing and resetting it does nothing.
//
// An Arena serves one goroutine at a time, except one made by [NewShared].
//
// An Arena must not be copied. A copy panics when it needs memory of a chunk, and at every other
// use.
type Arena struct {
	_ noCopy
	// The fast paths use what is here, and nothing else. An older copy that is written over the Arena
	// brings old cursors back, by which values of the same type are cut, but no list of chunks: these
	// are in the state.

	// recent is the type T that took the slow way last, as a nil *T, and its chunk's cursor. New looks
	// there first: to compare types costs less than to find one.
	recent struct {
		typ    any
		cursor *cursor
	}
	// slots is the first of mask+1 slots, in which a type is found by its key: in the place of the
	// key's hash or in one of the places behind. A mask of 0 means that there are none: every call
	// takes the slow path.
	slots *slot
	mask  uintptr
	text  *cursor // Of bytes. Nil if no function of the package made the Arena.

	*state
	id   uint64
	made uintptr // The program counter of the call that made the arena.
}

// A state is what an arena has beside its fast paths: all that lists, counts and frees chunks. Its
// methods are for callers that have checked the Arena: its self-pointer is that Arena.
//
//	Arena ──> slots ──> cursor         The fast paths: New finds a cursor and moves it.
//	 │  ∧                 │
//	 v  │ self            │ is the beginning of
//	state ──> bump ───> chunk ──> ...  One bump for words, one for bytes, one for each other type.
//	 │  │                 │
//	 │  └──> source       │ owner      Where chunks come from and go to.
//	 v                    v
//	record <───────── registry         What is known of the arena after the program has dropped it.
//
// A value is cut in five steps, of which the first mostly suffices:
//
//  1. The Arena's recent type, or its slot, leads to a cursor with room.
//  2. alloc checks the Arena, and the bump of the type cuts from its current chunk (bump.go).
//  3. The bump makes a spare chunk, which Reset or Rewind left, the current one.
//  4. The bump gets a chunk from the source: from the store, where freed arenas leave theirs, from the Go
//     heap or from offheap (source.go, store.go). A limit is checked there.
//  5. The limit refuses: spare chunks go, and the bump asks for less.
//
// A chunk that leaves the arena is closed, and the slots forget it. So a slot leads to a chunk of the
// arena or to one that has no room.
type state struct {
	self *Arena // Nil once the arena is freed, and while a Pool has the state.
	rec  *record
	from *source
	// shared is the arena that a shared one locks. A shared arena has no chunks of its own.
	shared *sharedArena
	// noReuse: the collector gets the chunks after Free, Reset and Rewind; see noreuse.go.
	noReuse bool
	put     bool // Pool.Put freed it.

	table  []slot // Nil if every call takes the slow path.
	filled int    // How many slots have a key.

	words, bytes *bump
	typed        []*bump             // In the order of their making.
	byDesc       map[*typeDesc]*bump // Of typed, once they are many.
	marks        []mark              // Of checkpoints, the oldest first.

	debug  *debugState // If a debug mode concerns it.
	maps   *goMaps     // Of UnsafeGoMap, if there are some.
	onHeap int64       // With the kill switch: the bytes that it has charged.
}

// A slot leads from the key of a type to the cursor of the chunk that its values are cut from.
type slot struct {
	key    uintptr
	cursor *cursor
}

// The slots of an arena are a hash table with linear probing: it leads from the keys of types to
// cursors. The fast paths read the place of the key's hash alone; the slow paths search on from
// there. The table is at most half full, so few types lie in another place. It grows with the number
// of types. Keys are addresses, which the linker chooses: a table that grows with their collisions
// can get any size.

const (
	minSlots = 8       // Of the table that is part of the arena.
	maxSlots = 1 << 10 // If types need more than half of them, the table is cleared and filled again.
)

// A freshState is a state and what it begins with.
type freshState struct {
	in           state
	words, bytes bump
	few          [4]*bump // The first of typed.
	inline       [minSlots]slot
}

// A bump cuts values of one flow, and of one type if typed, for one arena. A bump that a Typed has
// never serves a second arena; others go on to the next arena of a Pool.
type bump struct {
	chunk *chunk // The current one; never nil.
	in    *state
	a     *Arena    // If a Typed has the bump: the arena that made the Typed.
	desc  *typeDesc // If typed.
	flow  flow
	grow  uint8 // Class of the next chunk.

	full  *chunk // Were current before, the last one first.
	large *chunk // Hold one block each, the last one first.

	spare      *chunk // Empty, kept by Reset or Rewind, the largest first.
	spareLarge *chunk // Likewise, of those that held one block each.

	sample *sampler // If values are sampled.

	// Without reuse: the bytes that a round is expected to take, and those of the round's chunks.
	expect, round uintptr
}

// A chunk is a run of memory from which values are cut, one behind the other. Its base and size
// never change until it is dropped, which clears its cursor. It serves one flow, and one type if
// typed, for all its life.
type chunk struct {
	cursor // First, so that the fast paths need one address.

	size  uintptr
	lead  uintptr // Bytes of the block in front of base, if off the Go heap.
	dirty uintptr // Words and bytes: what lies behind it is zero. It lags behind used.

	next *chunk
	desc *typeDesc     // Of typed chunks.
	mem  reflect.Value // Of typed chunks on the Go heap: a variable of type []T that holds them.

	tick  uint32 // When it entered the store.
	class uint8  // Chunks of one class have one size.
	flow  flow
	off   bool // Off the Go heap.

	owner atomic.Pointer[record] // That of the arena, or nil.

	// On 64-bit systems a chunk takes two cache lines, so that arenas of two Ps do not share one.
	_ [8]byte
}

// An UnsafeCursor is the place where the next values of one type are cut from. A decoder that makes
// many values looks it up once, with [Arena.UnsafeCursor] or [UnsafeSlabs.Cursor], and cuts from it
// without a look-up for each value.
//
// A cursor has no room once its chunk is full. The decoder then allocates in the ordinary way, and
// looks the cursor up anew. A cursor is valid until the arena's next Reset, Rewind, Free or Put:
// afterwards its chunk may be another arena's. A cursor keeps the memory that it leads to alive, so a
// decoder forgets it at the end of a message. It serves the goroutine of its arena and must not be
// copied.
type UnsafeCursor struct {
	base unsafex.Ptr // Of the chunk.
	used uintptr     // Values lie in [0, used).
	// The fast paths cut up to here. In words, the bytes between used and limit are zero. In a
	// chunk that is not current, limit is 0, so that a slot that still leads to it finds it full.
	limit uintptr
	floor uintptr // A checkpoint noted the values in [0, floor).
	typed bool    // Behind used all is zero. So it is in chunks of one type.
}

// A cursor is the part of a chunk that the fast paths read and write. A slot of an arena leads to a
// chunk that the arena has. When a chunk leaves the arena, the slots are cleared, and the cursor is
// closed until the next owner opens it. A copy of an arena may still have the cursor in its recent or
// text. It then cuts values of the same type or flow from a chunk of another arena: stale values, as
// those of a freed arena.
type cursor = UnsafeCursor

// noChunk is the chunk of a bump that has none. It is never written to.
var noChunk chunk

// A mark is the position of one bump at a checkpoint.
type mark struct {
	serial             uint64
	chunk, full, large *chunk
	used               uintptr
	values             int   // How many the debug mode knew.
	onHeap             int64 // Of the arena.
	maps               int   // How many Go maps were lent.
}

// end is where the chunks that were filled after the mark end in the list of full chunks: at the
// chunk that was current at the mark or, without a current one, at the chunk that was full last.
func (m *mark) end() *chunk {
	if m.chunk != &noChunk {
		return m.chunk
	}
	return m.full
}

// noMark is the mark of a bump that came after the checkpoint.
var noMark = mark{chunk: &noChunk}

// A record describes an arena that is not freed, also after the program has dropped it.
type record struct {
	id    atomic.Uint64 // 0 while a Pool has the record.
	state weak.Pointer[state]
	made  uintptr // The program counter of the call that made it.
	from  *source
	next  *record // In the registry, with prev: guarded by the lock of the shard. Nil if struck off.
	prev  *record
	held  atomic.Int64    // Bytes in chunks.
	limit atomic.Int64    // Of held; 0 for none.
	stack debugmode.Stack // The calls that made it, in the debug mode leaks.

	refused atomic.Pointer[any] // The first panic of offheap when the arena freed a chunk; see tellLate.

	round   atomic.Uint64           // Checkpoint, Rewind, Reset and Free count it up.
	history atomic.Pointer[history] // Of the rounds, once there was a checkpoint.
}

// A history says whether an arena still has the values that it made at some moment. An arena has
// one from its first checkpoint on. Moments are rounds of the arena, which rise with each
// Checkpoint, Rewind and Reset, and with Free. Builders and Maps ask when the round has changed,
// from any goroutine that reads them.
type history struct {
	mu    sync.Mutex
	begun uint64 // The round that the last Reset began.
	freed uint64 // The round that the last Rewind began.
	marks []period
}

// A period begins with a checkpoint. Values made in [noted, rewound) are freed.
type period struct{ serial, noted, rewound uint64 }

// A source is where the chunks of an arena come from, and where they go. The kinds of arenas differ in
// nothing else.
type source struct {
	name    string
	outside bool // Chunks lie outside the Go heap: they take no Go pointers, and must be freed.
	fixed   bool // There is one chunk, of words, which serves all data.
	single  bool // The kill switch: there are no chunks, and each value is an object of the Go heap.
	purpose *offheap.Purpose
}

// The names of sources, in [Info]. A shared arena on Go memory has a name of its own.
const (
	goName      = "Go memory"
	sharedName  = "shared"
	offHeapName = "off-heap"
	fixedName   = "fixed"
	singleName  = "Go heap"
)

var (
	fromGo     = source{name: goName}
	fromShared = source{name: sharedName}
	fromSingle = source{name: singleName, single: true}
)

// onGo says whether chunks lie on the Go heap.
func (f *source) onGo() bool { return !f.outside && !f.single }

// heapRecord stands for the Go heap, as the arena that a nil *Arena is.
var heapRecord = record{from: &fromSingle}

// A sharedArena is the arena behind a shared one, and its lock.
type sharedArena struct {
	mu    sync.Mutex
	freed atomic.Bool // Set under the lock.
	in    Arena
	freshState
}

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

// A sampler draws the points of one bump.
type sampler struct {
	left uintptr // Bytes to the next point, from seen on.
	seen uintptr // The position of the current chunk up to which bytes are counted.
}

// goMaps are the Go maps of an arena; see gomap.go.
type goMaps struct {
	types []*typeMaps // In the order of their making.
	lent  int         // How many maps are lent. A checkpoint notes that number.
	held  int64       // Bytes of all maps.
	inUse int64       // Of those that are lent.
}

// A typeMaps has the maps of one type. Those that are lent come first, in the order in which they were lent, which the
// next round repeats; the others wait for their next use.
type typeMaps struct {
	desc  *typeDesc
	maps  []goMap
	lent  int
	small int64 // Bytes of a map without a table.
}

// A goMap is a Go map that an arena has made.
type goMap struct {
	v      reflect.Value
	plain  map[string]any // The map, if it has this type, the most frequent one: reflect takes twice the time.
	size   int            // How many entries it had at most, as far as the arena knows.
	number int            // How many maps had been lent before it.
}

// check is the state of a. It panics if a is not an arena in use: it is freed, a copy, or no function
// of the package made it. Two copies with the same lists would return the same memory, so every path
// that needs more than a cursor begins here.
func (a *Arena) check(op string) *state {
	s := a.state
	if s == nil || s.self != a {
		a.misused(op)
	}
	if s.shared != nil && s.shared.freed.Load() {
		s.shared.in.misused(op)
	}
	return s
}

// direct says whether a is an arena in use that is not shared.
func (a *Arena) direct() bool { return a.state != nil && a.self == a && a.shared == nil }

// freed reports whether the arena was freed, or put into a Pool.
func (a *Arena) freed() bool {
	return a.state != nil && (a.self == nil || a.shared != nil && a.shared.freed.Load())
}

// misused panics with the mistake that made an arena unusable.
//
//go:noinline
func (a *Arena) misused(op string) {
	switch {
	case a.state == nil:
		panic(misuse(op, useOfZero, "on an Arena that no function of the package made; use NewArena"))
	case a.self == nil:
		panic(a.ended(op))
	}
	panic(misuse(op, useOfCopy, "on a copy of arena %d, which was made by %s; use *Arena, never copy the value", a.id, a.place()))
}

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

// opPut is the name of Put in messages.
const opPut = "Pool.Put"

// lock returns a or, if a is shared, the arena behind it, which the caller uses until unlock. A caller
// that makes a value writes all that the value begins with before: as long as it has the lock, no other
// goroutine frees the value.
//
//	in, lock := a.lock(op)
//	defer lock.unlock()
func (a *Arena) lock(op string) (in *Arena, lock *sharedArena) {
	sh := a.check(op).shared
	if sh == nil {
		return a, nil
	}
	sh.mu.Lock()
	if sh.freed.Load() {
		sh.mu.Unlock()
		sh.in.misused(op)
	}
	return &sh.in, sh
}

// unlock ends what lock began.
func (sh *sharedArena) unlock() {
	if sh != nil {
		sh.mu.Unlock()
	}
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

// each calls f for every bump.
func (s *state) each(f func(*bump)) {
	f(s.words)
	f(s.bytes)
	for _, b := range s.typed {
		f(b)
	}
}

// name is what messages call the arena.
func (a *Arena) name() string {
	if a == nil {
		return "the Go heap"
	}
	return fmt.Sprintf("arena %d", a.id)
}

func (a *Arena) place() string { return placeOf(a.made) }

// place is where the arena was made.
func (r *record) place() string { return placeOf(r.made) }

// placeOf names the place of a call.
func placeOf(pc uintptr) string {
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	return fmt.Sprintf("%s at %s:%d", f.Function, f.File, f.Line)
}

// ownerID is the ID of the arena that has the chunk, or 0.
func (c *chunk) ownerID() uint64 {
	if r := c.owner.Load(); r != nil {
		return r.id.Load()
	}
	return 0
}

// block is the address of the block of offheap that the chunk lies in.
func (c *chunk) block() uintptr { return unsafex.PtrAddr(c.base) - c.lead }

// typ is the type that a typed chunk is for, and nil for others.
func (c *chunk) typ() reflect.Type {
	if c.desc == nil {
		return nil
	}
	return c.desc.typ
}

// close makes every call take the slow way.
func (a *Arena) close() {
	a.slots, a.mask, a.text = nil, 0, &noChunk.cursor
	a.recent.typ, a.recent.cursor = nil, &noChunk.cursor
}

// outOfMemory is an error that errors.Is [offheap.ErrOutOfMemory].
func outOfMemory(format string, args ...any) error {
	return fmt.Errorf("arena: %s: more memory than the machine has: %w", fmt.Sprintf(format, args...), offheap.ErrOutOfMemory)
}

// misuse is what a panic says of a mistake with an arena, a Pool, a Builder, a Map or a checkpoint.
func misuse(op, kind, format string, args ...any) *offheap.MisuseError {
	detail := fmt.Sprintf(format, args...)
	return &offheap.MisuseError{Op: op, Kind: kind, Detail: detail, Report: "arena: " + op + " " + detail}
}

// The kinds of misuse. offheap.MisuseError lists them.
const (
	useAfterFree  = "use after Free"
	useAfterReset = "use after Reset"
	useOfCopy     = "use of a copy"
	useOfZero     = "use of a zero value"
	concurrentUse = "concurrent use"
	useOfMark     = "stale or foreign checkpoint"
)

// Try calls f. If f panics with an error that errors.Is [offheap.ErrLimit] or
// [offheap.ErrOutOfMemory], Try returns this error. Every other panic passes on unchanged. Where f
// ended, its results and the values that it changed are as far as it came: an assignment from a call
// that found no memory did not happen.
//
//	err := arena.Try(func() { rows = arena.Append(a, rows, row) })
//
// Try costs some nanoseconds, and an error some microseconds. The functions that programs call most
// have a twin that returns the error itself: [TryNew] and [TryMakeSlice].
func Try(f func()) (err error) { return offheap.Try(f) }

// must turns an error into the panic of the functions that return none.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
