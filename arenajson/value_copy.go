// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"fmt"
	"reflect"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/internal/graph"
	"github.com/freehold-go/freehold/internal/unsafex"
)

func init() {
	graph.RegisterCopier[Value](func(alloc func(reflect.Type, int) (pointer, error), from, to pointer) error {
		c := valueCopier{alloc}
		v, err := c.value(*unsafex.As[Value](from), maxDepth)
		*unsafex.As[Value](to) = v
		return err
	})
}

// A valueCopier copies Values for arena.DeepClone and arena.Heap. Only this package knows what the
// fields of a Value lead to.
type valueCopier struct {
	alloc func(t reflect.Type, n int) (pointer, error)
}

// value copies a Value with arrays and objects that are nested at most so deep.
func (c valueCopier) value(v Value, depth int) (Value, error) {
	if depth == 0 && v.Kind() >= Array {
		return Value{}, fmt.Errorf("%w: %w", arena.ErrUncloneable, errDeepValue)
	}
	n := v.Len()
	if n == 0 {
		return made(v.Kind(), nil, 0), nil
	}
	switch v.Kind() {
	case Number, String:
		text, err := c.text(v.text())
		return made(v.Kind(), unsafex.StringData(text), n), err
	case Array:
		to, err := c.alloc(reflect.TypeFor[Value](), n)
		if err != nil {
			return Value{}, err
		}
		// SAFETY: alloc has returned memory for n Values.
		elements := unsafex.SliceOf[Value](to, n, n)
		for i, e := range v.elements() {
			if elements[i], err = c.value(e, depth-1); err != nil {
				return Value{}, err
			}
		}
		return made(Array, to, n), nil
	case Object:
		to, err := c.alloc(reflect.TypeFor[member](), n)
		if err != nil {
			return Value{}, err
		}
		// SAFETY: as above.
		members := unsafex.SliceOf[member](to, n, n)
		for i, m := range v.members() {
			if members[i].value, err = c.value(m.value, depth-1); err == nil {
				members[i].name, err = c.text(m.name)
			}
			if err != nil {
				return Value{}, err
			}
		}
		return made(Object, to, n), nil
	}
	return v, nil
}

// text copies a string.
func (c valueCopier) text(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	to, err := c.alloc(reflect.TypeFor[byte](), len(s))
	if err != nil {
		return "", err
	}
	// SAFETY: alloc has returned memory for len(s) bytes, which nothing changes after the copy.
	copy(unsafex.SliceOf[byte](to, len(s), len(s)), s)
	return unsafex.StringOf(to, len(s)), nil
}
