// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/freehold-go/freehold/internal/graph"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// Values of freehold's own types copy themselves: the fields of an arenajson.Value do not say what
// they lead to, and a Map belongs to an arena. A deep copy leaves such a part zero until the copy
// phase of the long way, and calls copyOwn for it then.

// ownMap is what *Map implements.
type ownMap interface {
	cloneMap(c *cloner, to unsafex.Ptr) error
}

var ownMapType = reflect.TypeFor[ownMap]()

// copiesItself reports whether values of t are copied by copyOwn.
func copiesItself(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && graph.CopierOf(t) != nil || t.Kind() == reflect.Pointer && isOwnMap(t.Elem()) && t.Implements(ownMapType)
}

// isOwnMap reports whether t is a Map. A struct in which a Map is embedded has its methods, and is none.
func isOwnMap(t reflect.Type) bool {
	return t.PkgPath() == reflect.TypeFor[Arena]().PkgPath() && strings.HasPrefix(t.Name(), "Map[")
}

// mostNested is how many Maps may lie in each other. Each one takes some KiB of the stack.
const mostNested = 1000

// ownMaps finds the copies of Maps by their originals, in all of one deep copy: the values in a Map
// are copied each by a cloner of its own.
type ownMaps map[unsafex.Ptr]unsafex.Ptr

// copyOwn copies the part at from.
func (c *cloner) copyOwn(o *op, from, to unsafex.Ptr) {
	var err error
	if f := graph.CopierOf(o.typ); f != nil {
		err = f(c.allocOwn, from, to)
	} else if q := load(from); q != nil {
		if made := c.ownMaps[q]; made != nil {
			put(to, made)
			return
		}
		err = reflect.NewAt(o.typ, from).Elem().Interface().(ownMap).cloneMap(c, to)
	}
	if err != nil {
		if c.nested == 0 { // The message has the outermost and the innermost of the Maps that lie in each other.
			err = fmt.Errorf("arena: %s of %s: a %s in it: %w", c.op, c.at(0).plan.whole, o.typ, err)
		}
		panic(refusal{err})
	}
}

// allocOwn returns zeroed memory for n values of t in the target.
func (c *cloner) allocOwn(t reflect.Type, n int) unsafex.Ptr {
	d := describeType(t)
	p, err := c.a.alloc(c.op, d, n, true) // For the Go heap the limits and the kill switch count.
	if err != nil {
		panic(refusal{err})
	}
	if c.a == nil || c.a.from.single {
		return makeOnHeap(d, uintptr(n))
	}
	return p
}

// cloneMap implements ownMap. The copy belongs to the arena that the clone goes to.
func (m *Map[K, V]) cloneMap(c *cloner, to unsafex.Ptr) error {
	if c.shared {
		return fmt.Errorf("%w: a Map cannot be copied to an arena made by NewShared, which may allocate for another goroutine meanwhile; make a new Map there", ErrUncloneable)
	}
	if c.nested == mostNested {
		return fmt.Errorf("%w: more than %d Maps lie in each other", ErrUncloneable, mostNested)
	}
	m.check(c.op)
	out := new(Map[K, V])
	out.self = out
	err := out.start(c.op, c.a, m.Len())
	if err != nil {
		return err
	}
	if c.ownMaps == nil {
		c.ownMaps = ownMaps{}
	}
	c.ownMaps[unsafex.PtrOf(m)] = unsafex.PtrOf(out)
	for k, v := range m.All() {
		if k, err = cloneWithin(c, k); err != nil {
			return err
		}
		if v, err = cloneWithin(c, v); err != nil {
			return err
		}
		if err := out.set(c.op, k, v); err != nil {
			return err
		}
	}
	put(to, unsafex.PtrOf(out))
	return nil
}

// cloneWithin copies a key or a value of a Map as a part of the copy that c makes.
func cloneWithin[T any](c *cloner, v T) (out T, err error) {
	p := c.plan(reflect.TypeFor[T]())
	if p.flat() {
		return v, nil
	}
	if p.selves {
		p.detach(unsafex.Unescaped(unsafex.PtrOf(&v)), p.units)
	}
	inner := idle.Get().(*cloner)
	defer inner.release()
	inner.op, inner.a, inner.plans = c.op, c.a, c.plans
	inner.ownMaps, inner.nested = c.ownMaps, c.nested+1
	err = inner.run(p, unsafex.PtrOf(&v), unsafex.PtrOf(&out))
	return out, err
}
