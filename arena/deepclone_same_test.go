// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"reflect"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// The reference for deep copies: a comparison of a value with its copy that knows nothing of plans,
// only what the documentation of DeepClone promises. It recurses, and it finds shared parts by maps.

// A seat is a variable, a slice or a map as the promise counts them.
type seat struct {
	at   uintptr
	typ  reflect.Type
	len  int
	what reflect.Kind
}

// A comparer compares one value with its copy.
type comparer struct {
	copies  map[seat]uintptr // Of originals.
	origins map[seat]uintptr // Of copies.
	spans   []seat           // Of the original, in the order of the walk.
}

// compare says how the copy y of x breaks the promise. Both are pointers.
func compare(x, y any) error {
	c := comparer{copies: map[seat]uintptr{}, origins: map[seat]uintptr{}}
	return c.same(reflect.ValueOf(x).Elem(), reflect.ValueOf(y).Elem(), "v")
}

// met says whether the pair is known, or how it breaks the promise.
func (c *comparer) met(x, y seat, path string) (bool, error) {
	if x.at == y.at {
		return false, fmt.Errorf("%s: a %s is shared with the original", path, x.typ)
	}
	cy, known := c.copies[x]
	cx, used := c.origins[y]
	switch {
	case known && cy != y.at:
		return false, fmt.Errorf("%s: a %s has two copies", path, x.typ)
	case used && cx != x.at:
		return false, fmt.Errorf("%s: two %s have one copy", path, x.typ)
	}
	c.copies[x], c.origins[y] = y.at, x.at
	return known, nil
}

func (c *comparer) same(x, y reflect.Value, path string) error {
	if x.CanAddr() && y.CanAddr() { // Unexported fields can be read then.
		x, y = reflect.NewAt(x.Type(), x.Addr().UnsafePointer()).Elem(), reflect.NewAt(y.Type(), y.Addr().UnsafePointer()).Elem()
	}
	if x.Type() != y.Type() {
		return fmt.Errorf("%s: a %s became a %s", path, x.Type(), y.Type())
	}
	switch x.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		if x.IsNil() || y.IsNil() {
			if x.IsNil() != y.IsNil() {
				return fmt.Errorf("%s: nil is %v, of the copy %v", path, x.IsNil(), y.IsNil())
			}
			return nil
		}
	}
	switch x.Kind() {
	case reflect.Pointer:
		if x.Type().Elem().Size() == 0 {
			return nil
		}
		return c.through(x, y, 1, path, func() error { return c.same(x.Elem(), y.Elem(), path+".*") })
	case reflect.Slice:
		if x.Len() != y.Len() || y.Cap() != y.Len() {
			return fmt.Errorf("%s: the length %d became %d with capacity %d", path, x.Len(), y.Len(), y.Cap())
		}
		if x.Len() == 0 || x.Type().Elem().Size() == 0 {
			return nil
		}
		return c.through(x, y, x.Len(), path, func() error { return c.elements(x, y, path) })
	case reflect.Map:
		return c.through(x, y, 1, path, func() error { return c.entries(x, y, path) })
	case reflect.Interface:
		xe, ye := reflect.New(x.Elem().Type()).Elem(), reflect.New(y.Elem().Type()).Elem()
		xe.Set(x.Elem())
		ye.Set(y.Elem())
		return c.same(xe, ye, path+".(any)")
	case reflect.Array:
		return c.elements(x, y, path)
	case reflect.Struct:
		for i := range x.NumField() {
			if err := c.same(x.Field(i), y.Field(i), path+"."+x.Type().Field(i).Name); err != nil {
				return err
			}
		}
		return nil
	case reflect.String:
		if x.String() != y.String() {
			return fmt.Errorf("%s: %q became %q", path, x.String(), y.String())
		}
		if a, b := unsafex.StringData(x.String()), unsafex.StringData(y.String()); a == b && a != nil && x.Len() > 0 {
			return fmt.Errorf("%s: a string is shared", path)
		}
		return nil
	}
	if a, b := fmt.Sprint(x), fmt.Sprint(y); a != b {
		return fmt.Errorf("%s: %s became %s", path, a, b)
	}
	return nil
}

// through compares what two pointers, slices or maps lead to, once.
func (c *comparer) through(x, y reflect.Value, n int, path string, inside func() error) error {
	sx := seat{uintptr(x.UnsafePointer()), x.Type(), n, x.Kind()}
	known, err := c.met(sx, seat{uintptr(y.UnsafePointer()), y.Type(), n, x.Kind()}, path)
	if known || err != nil {
		return err
	}
	c.spans = append(c.spans, sx)
	return inside()
}

func (c *comparer) elements(x, y reflect.Value, path string) error {
	for i := range x.Len() {
		if err := c.same(x.Index(i), y.Index(i), fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	return nil
}

// entries compares maps whose keys are strings or numbers.
func (c *comparer) entries(x, y reflect.Value, path string) error {
	if x.Len() != y.Len() {
		return fmt.Errorf("%s: %d entries became %d", path, x.Len(), y.Len())
	}
	for _, k := range x.MapKeys() {
		xe, ye := reflect.New(x.Type().Elem()).Elem(), reflect.New(x.Type().Elem()).Elem()
		xe.Set(x.MapIndex(k))
		v := y.MapIndex(k)
		if !v.IsValid() {
			return fmt.Errorf("%s: no key %v", path, k)
		}
		ye.Set(v)
		if err := c.same(xe, ye, fmt.Sprintf("%s[%v]", path, k)); err != nil {
			return err
		}
	}
	return nil
}
