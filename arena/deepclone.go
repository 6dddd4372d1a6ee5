// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// ErrUncloneable is the error of the refusals of [DeepClone] and [Heap]: a part of the value cannot
// be copied. The message has the path to it.
var ErrUncloneable = errors.New("a part of the value cannot be copied")

// CloneOptions are options of [DeepClone] and [Heap]. The zero value is a good choice. If several
// are given, they add up.
type CloneOptions struct {
	// Share names types whose values are shared, not copied. A pointer to one is kept. If a value
	// is part of another, its bits are copied, so it leads to the same memory as the original.
	// Channels, functions and other values that are refused otherwise can be named, except that a
	// time.Timer, a time.Ticker and freehold's own handles are shared behind pointers only, also
	// within other values. As after an assignment, a write to the copy of a strings.Builder panics.
	Share []reflect.Type
	// UnsafeTrust names types of other modules. DeepClone then copies the unexported fields of
	// every type of their packages. The caller vouches that these packages do not use package
	// unsafe to store data in such a field that differs from the field's type. If one does, the
	// clone corrupts memory.
	UnsafeTrust []reflect.Type
}

// DeepClone copies v, and everything that can be reached from it through pointers, slices, strings,
// maps and interfaces, to a. It copies each variable once, so the copy has the shape of the
// original:
//
//   - Cycles stay cycles, and equal pointers stay equal.
//   - If a pointer leads into a struct, an array or a slice that is copied as well, its copy leads
//     to the same place in the copy. The surrounding variable is copied only if something leads to
//     that, too.
//   - Slices of one array that overlap, up to their capacities, share one array in the copy, as do
//     overlapping strings. Capacities are kept. DeepClone does not read memory behind the length of
//     every slice, because other goroutines may write there; it is zero in the copy.
//   - Nil stays nil, and empty stays empty.
//
// Exported fields are always copied. Unexported fields are copied if their struct type is declared
// in the main module or in the module that calls DeepClone, is a value type of the standard library
// that DeepClone knows, or has the method UnsafeCloneFields, or if [CloneOptions].UnsafeTrust names
// a type of its package. The unexported fields of all other types are copied by their bits, as an
// assignment does, if they lead only to strings, immutable values and memory that lives as long as
// the program. If not, DeepClone refuses the value.
//
// The reason: a package may use package unsafe to store data in its unexported fields that differs
// from their types, as log/slog and time do. The types of the caller's own module must not do so,
// or must be named in [CloneOptions].Share. DeepClone knows the types of bytes, container, errors,
// math/big, strings, sync, sync/atomic and net/url that hold values, and others. It copies
// generated messages of google.golang.org/protobuf, except that it refuses those of other modules
// if they have unknown fields or extensions.
//
// A package that is not main, with a path that begins like one of the standard library's, as
// log/mine does, counts as a part of the library. A test binary does not say which modules it has:
// in it, modules whose paths lie below that of the main module count as the main module.
//
// By the following method, which is never called, a type promises that its fields hold values of
// their types:
//
//	func (T) UnsafeCloneFields() (_ T)
//
// Some values are not copied but shared by address, because they are identities:
//
//   - the targets of a reflect.Type, a *time.Location, a *regexp.Regexp, a *strings.Replacer, a
//     unique.Handle and a weak.Pointer, and errors made by errors.New;
//   - an Arena, a Pool, an offheap.Local or Purpose that pointers lead to;
//   - package-level variables that pointers lead to, such as error sentinels, except the one that v
//     itself points to, where T is a pointer type: Heap(&variable) copies, Heap[any](&variable)
//     shares. Data that the linker lays out for composite literals in their initial values counts as
//     such. DeepClone cannot tell a sentinel that is made when the program starts, as by fmt.Errorf,
//     from another value: name its type in CloneOptions.Share. Slices and strings are always copied;
//   - targets in memory that neither Go nor freehold allocated, such as C's, except the variable
//     that v itself points to;
//   - targets without a size, such as an incomplete type of C, unless they lie in an arena or off the
//     heap. The copies of all pointers to those are equal, so that keys of a map that differ in such
//     pointers alone become one;
//   - targets of pointers in a type that is [offheap.UnsafeSelfContained];
//   - the values that the options name.
//
// If a shared value lies in an arena or leads into one, the copy must not outlive that arena. An
// example is an error that errors.New made of a string in an arena.
//
// Maps are copied to Go maps, which live on the Go heap and keep the arena's memory alive, as any
// pointer does; their keys and values lead to the arena. A map must not be used after a is freed.
//
// The copy of a *[Map] leads to a Map in a, or to one without an arena, as NewMap(nil, n) makes it. Its
// keys and values are copied each by itself: a pointer that stands in two of them leads to two copies,
// except a *Map. An arenajson.Value is copied with all of its part of the document. DeepClone to an
// arena made by NewShared refuses a *Map, and every DeepClone more than 1000 Maps in each other.
//
// A key of a map must not hold memory of an arena that was reset or freed: Go hashes the copy of the
// key, and if the key contains itself by now, or holds the same memory very many times, the process
// ends by a stack overflow, or the hash takes very long.
//
// DeepClone refuses some values, with a value that errors.Is [ErrUncloneable] and names the path of
// the field: channels, functions and unsafe.Pointers that are not nil, sync types in use (a
// sync.Mutex that is locked; one at rest is copied, as atomic values are), contexts, timers, open
// files, a Map by value, a Builder, and those handles of freehold that it shares behind pointers, if they
// are part of v by value. The program must not change v meanwhile. DeepClone also panics where
// [New] does. After a panic a is unchanged. In an arena made by NewShared, calls that concern all
// of it wait for the end of the clone, as Reset and Stats do.
//
// A value that holds pointers cannot go to an arena off the heap. Strings, and slices of elements
// without pointers, can.
func DeepClone[T any](a *Arena, v T, options ...CloneOptions) T {
	c, err := deepClone("DeepClone", a, v, options)
	must(err)
	return c
}

// Heap copies v, and everything that can be reached from it, to the Go heap. The copy may outlive
// all arenas. The rules are those of [DeepClone]. Each variable becomes one of its own there, so
// the collector frees each one when the program drops it. If there is no memory, the process ends, as it does
// after a make.
func Heap[T any](v T, options ...CloneOptions) T {
	c, err := deepClone("Heap", nil, v, options)
	must(err)
	return c
}

func deepClone[T any](op string, a *Arena, v T, options []CloneOptions) (T, error) {
	if a != nil {
		a.check(op)
	}
	plans := mainPlans().with(options)
	p := plans.plan(reflect.TypeFor[T]())
	if p.asks { // To find the caller costs more than a small clone.
		plans = callerPlans(2).with(options)
		p = plans.plan(reflect.TypeFor[T]())
	}
	if p.flat() {
		return v, nil
	}
	if p.selves {
		p.detach(unsafex.Unescaped(unsafex.PtrOf(&v)), p.units)
	}
	return cloneValue(op, a, v, plans, p)
}

// cloneValue is deepClone for a value that the plan p is for. Here v lies on the heap. In deepClone it lies on the stack, where the
// address that a strings.Builder notes of itself follows the stack, until detach has replaced it.
func cloneValue[T any](op string, a *Arena, v T, plans *plans, p *plan) (out T, err error) {
	shared := a != nil && a.shared != nil
	clone := func(a *Arena) error {
		c := idle.Get().(*cloner)
		defer c.release()
		c.op, c.a, c.shared, c.plans = op, a, shared, plans
		return c.run(p, unsafex.PtrOf(&v), unsafex.PtrOf(&out))
	}
	if a != nil {
		in, lock := a.lock(op)
		defer lock.unlock()
		a = in
	}
	err = clone(a)
	if err != nil {
		var zero T
		return zero, err
	}
	runtime.KeepAlive(&v)
	return out, nil
}

// refusal is the panic in the midst of a clone that becomes its error.
type refusal struct{ error }

// run clones the value at src to dst, in one pass or the long way. An error or a panic leaves the
// arena as it was before. In the long way only a value that changes meanwhile is refused after memory
// was written to.
func (c *cloner) run(p *plan, src, dst unsafex.Ptr) (err error) {
	if c.tryOnePass(p, src, dst) {
		return nil
	}
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
	c.fillMaps()
	done = true
	return nil
}

// attempt notes a's position. The caller calls end once, with keep set if the values made since
// then stay.
func (a *Arena) attempt(op string) (end func(keep bool)) {
	if a == nil {
		return func(bool) {}
	}
	at := Checkpoint{a.id, registry.last.Add(1)}
	a.checkpoint(at)
	return func(keep bool) {
		if !keep {
			a.check(op)
			a.rewind(op, at, false) // No pointer to a failed copy has left the package.
		}
		from, _ := a.marksOf(at)
		clear(a.marks[from:])
		a.marks = a.marks[:from]
	}
}

// refuse ends the clone because of the value at w, in the current block, that o is for.
func (c *cloner) refuse(o *op, w unsafex.Ptr) {
	path := c.path(c.current, unsafex.PtrAddr(w)-unsafex.PtrAddr(c.at(c.current).src), o.typ)
	why, advice := o.why, "CloneOptions.Share names types that are to be shared"
	h := handleOf(o.typ)
	_, final := c.refusal(o.typ)
	switch {
	case h != nil:
		advice = h.advice
	case final:
		advice = fmt.Sprintf("hold it by a pointer, and name %s in CloneOptions.Share", o.typ)
	case o.kind == opHold:
		why = "leads to memory from an unexported field of " + o.why + ", a type of another module"
		advice = "name " + o.why + " in CloneOptions.Share, or in UnsafeTrust if its package keeps nothing else in the field by package unsafe"
	}
	panic(refusal{fmt.Errorf("arena: %s of %s: %s: %s %s: %w; %s", c.op, c.at(0).plan.whole, path, o.typ, why, ErrUncloneable, advice)})
}
