package arena

import (
	"fmt"
	"reflect"
	"strconv"
)

func badShareAt(v any) error {
	return fmt.Errorf("arena: CloneOptions.ShareAt with a %T: only pointers lead to variables", v)
}

// path names the place at an offset in a block as Go code would: "order.items[3].mu". Of what begins there,
// stop is the type that is meant; nil is the innermost.
func (c *cloner) path(i uint32, offset uintptr, stop reflect.Type) string {
	b := c.at(i)
	index, field := offset/b.plan.size, offset%b.plan.size
	inner, _ := fieldPath(b.plan.typ, field, stop)
	if i == 0 {
		t := b.plan.whole
		if t.Kind() == reflect.Array {
			return rootName(t) + fmt.Sprintf("[%d]", index) + inner
		}
		return rootName(t) + inner
	}
	parent := c.at(b.parent)
	if b.kind == isScratch {
		return c.path(b.parent, 0, nil) + c.entry(b, index/b.plan.units) + inner
	}
	if parent.kind == isMap || b.kind == isMap {
		return c.path(b.parent, b.at, nil)
	}
	way := c.path(b.parent, b.at, nil)
	_, t := fieldPath(parent.plan.typ, b.at%parent.plan.size, nil)
	switch {
	case t.Kind() == reflect.Interface && b.kind == isBox:
		way += ".(" + b.plan.whole.String() + ")"
	case t.Kind() == reflect.Interface:
		way += ".(*" + b.plan.whole.String() + ")"
	}
	if t.Kind() == reflect.Slice || b.plan.units > 1 {
		way += fmt.Sprintf("[%d]", index)
	}
	return way + inner
}

// entry names an entry of a map, of which b holds the keys or the elements.
func (c *cloner) entry(b *block, i uintptr) string {
	for _, m := range c.maps {
		if m.keys.UnsafePointer() == b.src {
			return " key " + keyName(m.keys.Index(int(i)))
		}
		if m.elems.UnsafePointer() == b.src {
			return "[" + keyName(m.keys.Index(int(i))) + "]"
		}
	}
	return "[?]"
}

func keyName(k reflect.Value) string {
	switch k.Kind() {
	case reflect.String:
		return strconv.Quote(k.String())
	case reflect.Struct, reflect.Array, reflect.Pointer, reflect.Interface, reflect.Chan:
		return "of type " + k.Type().String()
	}
	return fmt.Sprint(k)
}

// rootName is what a path begins with.
func rootName(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Name() == "" {
		return "v"
	}
	return t.Name()
}

// fieldPath names the place at an offset in a t, and says which type stands there: stop, or the innermost.
func fieldPath(t reflect.Type, offset uintptr, stop reflect.Type) (string, reflect.Type) {
	path := ""
	for t != stop || offset != 0 {
		switch t.Kind() {
		case reflect.Struct:
			f, ok := fieldAt(t, offset)
			if !ok {
				return path, t
			}
			path += "." + f.Name
			t, offset = f.Type, offset-f.Offset
		case reflect.Array:
			if t.Len() == 0 {
				return path, t
			}
			path += fmt.Sprintf("[%d]", offset/t.Elem().Size())
			t, offset = t.Elem(), offset%t.Elem().Size()
		default:
			return path, t
		}
	}
	return path, t
}
