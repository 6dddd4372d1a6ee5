// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"fmt"
	"go/format"
	"go/types"
	"slices"
	"strings"
)

// A Layout is the memory that a value takes: its size in bytes, and how many of these bytes the
// collector reads, which is up to the end of the last pointer.
type Layout struct {
	Size, Pointers int64
}

// layoutOf is the layout of a type, by the sizes of the compiler and machine that the package was
// loaded for.
func layoutOf(t types.Type, sizes types.Sizes) Layout {
	return Layout{Size: sizes.Sizeof(t), Pointers: pointerBytes(t, sizes)}
}

// pointerBytes is where a type's last pointer ends: abi.Type.PtrBytes of Go's type descriptors.
func pointerBytes(t types.Type, sizes types.Sizes) int64 {
	word := sizes.Sizeof(types.Typ[types.Uintptr])
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if u.Kind() == types.String || u.Kind() == types.UnsafePointer {
			return word // a string's length follows its pointer
		}
		return 0
	case *types.Pointer, *types.Map, *types.Chan, *types.Signature, *types.Slice:
		return word
	case *types.Interface:
		return 2 * word
	case *types.Array:
		if n, elem := u.Len(), pointerBytes(u.Elem(), sizes); n > 0 && elem > 0 {
			return (n-1)*sizes.Sizeof(u.Elem()) + elem
		}
		return 0
	case *types.Struct:
		return structPointerBytes(u, sizes)
	}
	return 0 // a type parameter: its instances differ
}

func structPointerBytes(u *types.Struct, sizes types.Sizes) int64 {
	fields := fieldsOf(u)
	offsets := sizes.Offsetsof(fields)
	for i := len(fields) - 1; i >= 0; i-- {
		if p := pointerBytes(fields[i].Type(), sizes); p > 0 {
			return offsets[i] + p
		}
	}
	return 0
}

func fieldsOf(u *types.Struct) []*types.Var {
	fields := make([]*types.Var, u.NumFields())
	for i := range fields {
		fields[i] = u.Field(i)
	}
	return fields
}

// reordered is the struct with its fields in the order that takes the fewest bytes and, among such
// orders, lets the collector stop soonest. Fields of size 0 come first, so that they need no
// padding at the end. Then alignment decides, the largest first. Then come fields with pointers
// before others, those with the shortest tail behind their last pointer first. This is the order of
// x/tools' fieldalignment, whose results are in words.
func reordered(u *types.Struct, sizes types.Sizes) *types.Struct {
	fields := fieldsOf(u)
	tags := map[*types.Var]string{}
	for i, f := range fields {
		tags[f] = u.Tag(i)
	}
	slices.SortStableFunc(fields, func(a, b *types.Var) int {
		return compareFields(a.Type(), b.Type(), sizes)
	})
	list := make([]string, len(fields))
	for i, f := range fields {
		list[i] = tags[f]
	}
	return types.NewStruct(fields, list)
}

func compareFields(a, b types.Type, sizes types.Sizes) int {
	if az, bz := sizes.Sizeof(a) == 0, sizes.Sizeof(b) == 0; az != bz {
		return before(az)
	}
	if c := cmp.Compare(sizes.Alignof(b), sizes.Alignof(a)); c != 0 {
		return c
	}
	ap, bp := pointerBytes(a, sizes), pointerBytes(b, sizes)
	if (ap == 0) != (bp == 0) {
		return before(ap != 0)
	}
	if ap != 0 {
		if c := cmp.Compare(sizes.Sizeof(a)-ap, sizes.Sizeof(b)-bp); c != 0 {
			return c
		}
	}
	return cmp.Compare(sizes.Sizeof(b), sizes.Sizeof(a))
}

func before(first bool) int {
	if first {
		return -1
	}
	return 1
}

const (
	// MaxHeaderless is the largest object with pointers that the allocator gives no header on
	// 64-bit systems, runtime.minSizeForMallocHeader.
	MaxHeaderless = 512
	// headerSize is the header's size.
	headerSize = 8
)

// SizeClass is the size of the block that the allocator takes for an object on a 64-bit system. It
// comes from the doctor's own allocator: size classes are the same on all systems, and have hardly
// changed since Go 1.2.
func SizeClass(size int64, pointers bool) int64 {
	if pointers && size > MaxHeaderless {
		size += headerSize
	}
	if size <= 0 || size > 1<<20 {
		return max(size, 0) // far above the classes: whole pages
	}
	return int64(cap(append([]byte(nil), make([]byte, size)...)))
}

// structText writes a struct type's declaration as gofmt does, one field a line.
func structText(name string, u *types.Struct, qualify types.Qualifier) string {
	var b strings.Builder
	fmt.Fprintf(&b, "type %s struct {\n", name)
	for i := range u.NumFields() {
		f := u.Field(i)
		b.WriteByte('\t')
		if !f.Embedded() {
			b.WriteString(f.Name() + " ")
		}
		b.WriteString(types.TypeString(f.Type(), qualify))
		if tag := u.Tag(i); tag != "" {
			fmt.Fprintf(&b, " `%s`", tag)
		}
		b.WriteByte('\n')
	}
	b.WriteString("}")
	text, err := format.Source([]byte(b.String()))
	if err != nil {
		return b.String() // a type that cannot be written, such as one of a function
	}
	return string(text)
}
