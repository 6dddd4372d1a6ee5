// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync"

	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// A tracker holds the objects of a Pool in the modes guard and leaks, and under the race detector. It
// reuses idle objects late, the oldest first, so that a use after Put meets an idle object.
//
// In a debug mode it has a record of each object that Get returned or Put gave back. With guard
// the record has a copy of the idle object, and a difference is a write after Put.
type tracker[T any] struct {
	mu    sync.Mutex
	known map[*T]*record[T] // nil under the race detector alone.
	idle  []*T
	next  int // In idle, the next to be compared.
	max   int
	copy  bool // Records have copies of idle objects.
}

// A record is what is known of an object.
type record[T any] struct {
	block debugmode.Block // Alloc is where Get returned it, Free where Put gave it back.
	image []byte          // The bytes of the idle object, as Put left them.
}

const (
	// lateBy is the number of idle objects before one is used again.
	lateBy = 32
	// looks is the number of idle objects that each Get compares with their copies.
	looks = 64
)

func newTracker[T any](most int) *tracker[T] {
	t := &tracker[T]{max: most}
	if most == 0 {
		t.max = perP * runtime.GOMAXPROCS(0)
	}
	if checksObjects() && unsafex.Size[T]() > 0 { // Values of size zero have one address.
		t.known = make(map[*T]*record[T])
		t.copy = debugmode.Current().Guard
	}
	return t
}

// checksObjects says whether a debug mode is on that keeps records of objects. sample does not: it
// is for production, and chooses among blocks off the Go heap.
func checksObjects() bool {
	modes := debugmode.Current()
	return modes.Guard || modes.Leaks
}

// get returns the oldest idle object, or nil if there are few. It panics if an idle object was
// written.
func (t *tracker[T]) get() *T {
	t.mu.Lock()
	defer t.mu.Unlock()
	for range min(looks, len(t.idle)) {
		t.next %= len(t.idle)
		x := t.idle[t.next]
		t.next++
		if e := t.written(x, "Get"); e != nil {
			panic(e)
		}
	}
	if len(t.idle) <= lateBy {
		return nil
	}
	x := t.idle[0]
	if e := t.written(x, "Get"); e != nil {
		panic(e)
	}
	t.idle = t.idle[1:]
	return x
}

// got notes that Get returns x.
func (t *tracker[T]) got(x *T) {
	if t.known == nil {
		return
	}
	b := debugmode.Block{
		Addr: unsafex.Addr(x), Size: unsafex.Size[T](), Owner: "pool", Type: reflect.TypeFor[T]().String(),
		Alloc: debugmode.Callers(0), Leak: true,
	}
	t.mu.Lock()
	_, again := t.known[x]
	r := &record[T]{block: b}
	t.known[x] = r
	t.mu.Unlock()
	if again {
		debugmode.Forget(b.Addr)
	}
	debugmode.Add(b)
}

// returned notes that Put got x. It panics if x is idle or never came from Get.
func (t *tracker[T]) returned(x *T) {
	if t.known == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.known[x]
	switch {
	case r == nil:
		panic(t.report("foreign pointer", fmt.Sprintf("Put of a %s that Get of this Pool did not return", reflect.TypeFor[T]()),
			"Put", debugmode.Block{}, "Put what Get returned, and nothing else."))
	case r.block.FreeOp != "":
		panic(t.report("second Put", fmt.Sprintf("Put of a %s that is idle already", reflect.TypeFor[T]()),
			"Put", r.block, "Keep one owner for each object: without this mode two callers of Get would share it."))
	}
	r.block.FreeOp, r.block.Free = "Put", debugmode.Callers(0)
	debugmode.Freed(r.block.Addr, "Put", 0)
}

// report makes the mistake of a call.
func (t *tracker[T]) report(kind, what, op string, b debugmode.Block, advice string) *offheap.MisuseError {
	where := "pool.Pool." + op
	if op == "Check" {
		where = "offheap.Check"
	}
	r := debugmode.Misuse(kind, what, "found in "+where+", called", b.Addr, b, 0)
	r.Advice = advice
	return &offheap.MisuseError{
		Op: op, Addr: b.Addr, Kind: kind, Detail: what, Report: r.Error(),
		Here: r.Access, Allocated: b.Alloc.String(), Freed: b.Free.String(),
	}
}

// forget strikes x off: the Pool does not keep it.
func (t *tracker[T]) forget(x *T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, x)
}

// put makes x idle, and returns the number of objects that the Pool does not keep for it.
func (t *tracker[T]) put(x *T) (dropped int) {
	sanitize.RaceFree(unsafex.Addr(x), unsafex.Size[T]())
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.copy {
		t.known[x].image = bytesQuietly(x)
	}
	t.idle = append(t.idle, x)
	for ; len(t.idle) > max(0, t.max); dropped++ {
		delete(t.known, t.idle[0])
		t.idle = t.idle[1:]
	}
	return dropped
}

// written is the mistake of a write to the idle x, or nil. The next write is found again.
func (t *tracker[T]) written(x *T, op string) *offheap.MisuseError {
	r := t.known[x]
	if r == nil || r.image == nil {
		return nil
	}
	at, same := difference(r.image, x)
	if same {
		return nil
	}
	r.image = bytesQuietly(x)
	return t.report("write after Put", fmt.Sprintf("byte %d of a %s was written while it was idle", at, reflect.TypeFor[T]()),
		op, r.block, "The write came between the Put and now; built with -race the program reports where.")
}

// check is offheap.Check for the Pool.
func (t *tracker[T]) check() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found []error
	for _, x := range t.idle {
		if e := t.written(x, "Check"); e != nil {
			found = append(found, e)
		}
	}
	return errors.Join(found...)
}

func (t *tracker[T]) drain() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.idle)
	for _, x := range t.idle {
		delete(t.known, x)
	}
	t.idle = nil
	return n
}

func (t *tracker[T]) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.idle)
}

// bytesQuietly returns a copy of the bytes of *x. It copies the padding between fields, too, which an
// assignment of a T can leave out and reflect copies. The program may write to *x by mistake, which is
// to be reported as such: no code with a race detector in it reads the bytes.
//
//go:norace
func bytesQuietly[T any](x *T) []byte {
	return []byte(unsafex.StringOf(unsafex.PtrOf(x), int(unsafex.Size[T]())))
}

// difference is the first byte in which *x differs from image. same says that none does.
//
//go:norace
func difference[T any](image []byte, x *T) (at int, same bool) {
	a := unsafex.StringOf(unsafex.PtrOf(x), len(image))
	b := unsafex.StringOf(unsafex.DataOf(image), len(image))
	if a == b {
		return 0, true
	}
	for a[at] == b[at] {
		at++
	}
	return at, false
}
