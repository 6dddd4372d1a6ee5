// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bytes"
	"fmt"
	"math"
	"reflect"

	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// keys makes bytes of keys of type K, the same bytes for keys that are ==: the bytes of a string, or
// those of the fields without the padding between them, with +0 for -0.
type keys[K comparable] struct {
	text  bool
	plain bool // The value's memory is the bytes.
	parts []part
	size  int // Of all parts.
}

// A part is bytes of a value that are compared.
type part struct {
	at, size int
	float    bool
}

// newKeys says what keys of type K are made of, or why they cannot be.
func newKeys[K comparable]() (k keys[K], err error) {
	t := reflect.TypeFor[K]()
	if t.Kind() == reflect.String {
		k.text = true
		return k, nil
	}
	if info := typeinfo.Describe(t, reflect.TypeFor[offheap.UnsafeSelfContained]()); info.PointerPath != "" || info.SelfContained {
		return k, fmt.Errorf("cache: keys of %s hold a pointer (%s); a key is a string, or a value without pointers", t, info.PointerPath)
	}
	if t.Size() > mostKey {
		return k, fmt.Errorf("cache: keys of %s have %d bytes; at most %d", t, t.Size(), mostKey)
	}
	if err := k.add(t, 0); err != nil {
		return k, err
	}
	if k.size == 0 {
		return k, fmt.Errorf("cache: keys of %s have no bytes", t)
	}
	k.plain = len(k.parts) == 1 && !k.parts[0].float && k.size == int(t.Size())
	return k, nil
}

// add adds the parts of a value of type t at an offset.
func (k *keys[K]) add(t reflect.Type, at int) error {
	if t.Size() == 0 { // An array of them may have any length.
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		for f := range t.Fields() {
			if f.Name == "_" { // == does not look at it.
				continue
			}
			if err := k.add(f.Type, at+int(f.Offset)); err != nil {
				return err
			}
		}
		return nil
	case reflect.Array:
		for i := range t.Len() {
			if err := k.add(t.Elem(), at+i*int(t.Elem().Size())); err != nil {
				return err
			}
			if len(k.parts) > mostParts {
				return fmt.Errorf("cache: keys of %s have more than %d parts", reflect.TypeFor[K](), mostParts)
			}
		}
		return nil
	case reflect.Complex64, reflect.Complex128:
		half := int(t.Size() / 2)
		k.parts = append(k.parts, part{at, half, true}, part{at + half, half, true})
		k.size += 2 * half
		return nil
	}
	p := part{at, int(t.Size()), t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64}
	k.size += p.size
	if last := len(k.parts) - 1; last >= 0 && !p.float && !k.parts[last].float && k.parts[last].at+k.parts[last].size == at {
		k.parts[last].size += p.size
		return nil
	}
	k.parts = append(k.parts, p)
	return nil
}

const mostParts = 1 << 12

// bytes is the bytes of a key, which may be its memory, or else are appended to buf.
func (k *keys[K]) bytes(buf []byte, key *K) ([]byte, error) {
	switch {
	case k.text:
		// SAFETY: K is a string type, and the bytes are only read.
		s := *unsafex.As[string](unsafex.PtrOf(key))
		return unsafex.SliceOf[byte](unsafex.StringData(s), len(s), len(s)), nil
	case k.plain:
		return memoryOf(key), nil
	}
	memory := memoryOf(key)
	for _, p := range k.parts {
		b := memory[p.at : p.at+p.size]
		if !p.float {
			buf = append(buf, b...)
			continue
		}
		var f float64
		if p.size == 4 {
			f = float64(*unsafex.As[float32](unsafex.DataOf(b)))
		} else {
			f = *unsafex.As[float64](unsafex.DataOf(b))
		}
		if math.IsNaN(f) {
			return nil, fmt.Errorf("%w: %v", ErrNaN, *key)
		}
		if f == 0 {
			buf = append(buf, make([]byte, p.size)...)
		} else {
			buf = append(buf, b...)
		}
	}
	return buf, nil
}

// value is the key of bytes that k has made.
func (k *keys[K]) value(b []byte) (key K) {
	if k.text {
		*unsafex.As[string](unsafex.PtrOf(&key)) = string(b)
		return key
	}
	memory := memoryOf(&key)
	for _, p := range k.parts {
		b = b[copy(memory[p.at:p.at+p.size], b):]
	}
	return key
}

// made says whether k makes these bytes of a key.
func (k *keys[K]) made(b []byte) bool {
	key := k.value(b)
	same, err := k.bytes(nil, &key)
	return err == nil && bytes.Equal(same, b)
}

// memoryOf is the memory of a value without pointers.
func memoryOf[T any](v *T) []byte {
	n := int(unsafex.Size[T]())
	return unsafex.SliceOf[byte](unsafex.PtrOf(v), n, n)
}
