package arena

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// ErrUncloneable is what errors.Is finds in the refusals of [DeepClone] and [Heap]: a part of the
// value has no copy. The message has the path to it.
var ErrUncloneable = errors.New("a part of the value cannot be copied")

// CloneOptions are those of [DeepClone] and [Heap]. The zero value is good; of several all count.
type CloneOptions struct {
	// Share names types whose values are shared, not copied: a pointer to one is kept as it is,
	// and where a value stands in another one its bits are copied, so that it leads to what the
	// original leads to. Channels, functions and anything else that is refused otherwise can be named.
	Share []reflect.Type
	// ShareAt lists pointers (also in interfaces, as errors are), each to a variable that is
	// shared: the clone keeps pointers to it and into it as they are.
	ShareAt []any
	// CopyGlobals copies package-level variables that pointers lead to as all else. Whoever clones
	// a template that is a package-level variable with pointers to others wants that.
	CopyGlobals bool
}

// DeepClone copies v and everything that can be reached from it to a: all that pointers, slices,
// strings, maps and interfaces lead to, unexported fields included. What is reached twice is
// copied once, so that the copy has the shape of the original:
//
//   - Cycles stay cycles, and equal pointers stay equal.
//   - A pointer into a struct, an array or a slice that is copied as well points to the same place in
//     the copy. A variable is copied with what surrounds it only if something leads to that, too.
//   - Slices of one array that overlap, up to their capacities, share one array in the copy, as do
//     overlapping strings. Capacities are kept. What lies behind the length of every slice is not
//     looked at, because others may be writing there: it is zero in the copy.
//   - Nil stays nil, and empty stays empty.
//
// Some of it is not copied but shared by address, because it is an identity and not a value:
//
//   - what a reflect.Type, a *time.Location, an unique.Handle, a weak.Pointer, an *Arena and an
//     *offheap.Purpose stand for, and errors made by errors.New;
//   - package-level variables that pointers lead to, such as error sentinels, except the one that v itself
//     points to. What the linker lays out for composite literals in their initial values counts as
//     such. A sentinel that is made when the program starts, as by fmt.Errorf, cannot be told from
//     another value: name it in CloneOptions.ShareAt. Slices and strings are always copied;
//   - what pointers in a type that is offheap.UnsafeSelfContained lead to;
//   - what the options name.
//
// Maps are copied to Go maps, which live on the Go heap and hold on to the arena's memory like any
// pointer; their keys and values lead to the arena. A map must not be used after a is freed.
//
// DeepClone refuses, with a value that errors.Is [ErrUncloneable] and names the path of the field:
// channels, functions and unsafe.Pointers that are not nil, sync types that are in use (a sync.Mutex
// that is locked; one at rest is copied, as atomic values are), open files, and an [arena.Map].
// Nobody may change v meanwhile. It panics as [New] does besides. If it panics, a is as it was
// before, except that memory of an arena made by [NewShared] is not used again before Reset.
//
// A value that holds pointers cannot go to an arena off the heap; strings and slices of pointer-free
// elements can.
func DeepClone[T any](a *Arena, v T, options ...CloneOptions) T {
	c, err := deepClone("DeepClone", a, v, options)
	must(err)
	return c
}

// TryDeepClone is DeepClone with an error instead of a panic for what it refuses and for what the
// world may refuse.
func TryDeepClone[T any](a *Arena, v T, options ...CloneOptions) (T, error) {
	return deepClone("TryDeepClone", a, v, options)
}

// Heap is the way back from an arena: a copy of v, and of everything that can be reached from it,
// on the Go heap, wherever it lies now. It may outlive all arenas. The rules are those of [DeepClone];
// each variable becomes one of its own there, so that what is dropped later is collected.
func Heap[T any](v T, options ...CloneOptions) T {
	c, err := deepClone("Heap", nil, v, options)
	must(err)
	return c
}

// TryHeap is Heap with an error instead of a panic for what it refuses.
func TryHeap[T any](v T, options ...CloneOptions) (T, error) {
	return deepClone("TryHeap", nil, v, options)
}

func deepClone[T any](op string, a *Arena, v T, options []CloneOptions) (T, error) {
	if a != nil {
		a.check(op)
	}
	var out T
	p := plansFor(options).plan(reflect.TypeFor[T]())
	if p.flat() {
		return v, nil
	}
	c := idle.Get().(*cloner)
	defer c.release()
	c.op, c.a = op, a
	c.configure(options)
	if err := c.run(p, unsafex.PtrOf(&v), unsafex.PtrOf(&out)); err != nil {
		var zero T
		return zero, err
	}
	runtime.KeepAlive(&v)
	return out, nil
}

// refusal is the panic in the midst of a clone that becomes its error.
type refusal struct{ error }

// run clones the value at src to dst. There is no error and no panic after the arena's memory has been
// written to but for the bugs of others, so that nobody sees a half.
func (c *cloner) run(p *plan, src, dst unsafex.Ptr) (err error) {
	done := false
	undo := c.a.attempt(c.op)
	defer func() {
		if done {
			undo(true)
			return
		}
		undo(false)
		if r := recover(); r != nil {
			f, ok := r.(refusal)
			if !ok {
				panic(r)
			}
			err = f.error
		}
	}()
	c.discover(p, src, dst)
	c.layOut()
	if err := c.allocate(); err != nil {
		return err
	}
	c.copyAll()
	done = true
	return nil
}

// attempt notes where a stands. The caller calls what it returns with whether what was made since
// then is to stay.
func (a *Arena) attempt(op string) (end func(keep bool)) {
	if a == nil || a.kind == kindShared {
		return func(bool) {}
	}
	at := Checkpoint{a.rec.id, registry.last.Add(1)}
	a.checkpoint(at)
	return func(keep bool) {
		if !keep {
			a.check(op)
			a.rewind(op, at)
		}
		from, _ := a.marksOf(at)
		clear(a.marks[from:])
		a.marks = a.marks[:from]
	}
}

// refuse ends the clone because of the value of type t that lies at w in the current block.
func (c *cloner) refuse(t reflect.Type, w unsafex.Ptr, why string) {
	path := c.path(c.current, unsafex.PtrAddr(w)-unsafex.PtrAddr(c.at(c.current).src), t)
	panic(refusal{fmt.Errorf("arena: %s of %s: %s: %s %s: %w; what is to be shared can be named in CloneOptions",
		c.op, c.at(0).plan.whole, path, t, why, ErrUncloneable)})
}
