// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"math/bits"
	"reflect"
	"strings"

	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// hashKind is how a type of keys is hashed.
type hashKind uint8

const (
	hashAny    hashKind = iota // As Go says.
	hashWord                   // An aligned 1, 2, 4 or 8 bytes, whose bits are the key.
	hashString                 // A string.
	hashBytes                  // Bytes that are the key.
)

// keyInfo is what a Map must know of the types of its keys and values.
type keyInfo struct {
	kind    hashKind
	strings []uintptr // Where in a key there are strings.
	// rewritten: keys that are equal may have different bits, of which the last that was set
	// counts.
	rewritten bool
	scanned   bool // Slots hold pointers that must not outlive their entries.
	direct    bool // Keys are words, and zero in all slots that are not full.
}

// keyInfos leads from the type of a Map's slots to their *keyInfo.
var keyInfos typeinfo.Table[keyInfo]

func init() { keyInfos.Init((*keyInfo).fill) }

// keysOf is the keyInfo of a Map with slots of type S, a mapSlot.
func keysOf[S any]() *keyInfo {
	key := typeinfo.Key[S]()
	if k, ok := keyInfos.Recent(key); ok {
		return k
	}
	return keyInfos.Find(key, reflect.TypeFor[S]())
}

// fill makes k the keyInfo of a type of slots.
func (k *keyInfo) fill(_ uintptr, slot reflect.Type) {
	f, _ := slot.FieldByName("key")
	t := f.Type
	bytes := k.walk(t, 0)
	switch {
	case t.Kind() == reflect.String:
		k.kind = hashString
	case bytes == t.Size() && bytes != 0:
		k.kind = hashBytes
		if n := bytes; n <= 8 && n&(n-1) == 0 && uintptr(t.Align()) >= min(n, bits.UintSize/8) {
			k.kind = hashWord
		}
	}
	k.scanned = describeType(slot).flow == typedFlow
	k.direct = k.kind == hashWord && slot.Size() <= maxDirect
}

// walk notes the part at an offset of a key, and counts the bytes that say alone whether two keys
// are equal.
func (k *keyInfo) walk(t reflect.Type, at uintptr) (bytes uintptr) {
	switch t.Kind() {
	case reflect.String:
		k.strings = append(k.strings, at)
		return 0
	case reflect.Interface, reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		k.rewritten = true
		return 0
	case reflect.Array:
		if t.Len() == 0 {
			return 0
		}
		first := len(k.strings)
		bytes = k.walk(t.Elem(), at)
		each := k.strings[first:len(k.strings):len(k.strings)]
		for i := 1; i < t.Len() && len(each) > 0; i++ {
			for _, s := range each {
				k.strings = append(k.strings, s+uintptr(i)*t.Elem().Size())
			}
		}
		return bytes * uintptr(t.Len())
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.Name != "_" { // Which Go does not compare.
				bytes += k.walk(f.Type, at+f.Offset)
			}
		}
		return bytes
	}
	return t.Size()
}

// own makes all strings of the key at p copies in a.
func (k *keyInfo) own(op string, a *Arena, p unsafex.Ptr) error {
	for _, at := range k.strings {
		s := unsafex.As[string](unsafex.Add(p, at))
		c, err := ownString(op, a, *s)
		if err != nil {
			return err
		}
		*s = c
	}
	return nil
}

// ownString is [String] with an error, and copies also where the arena is the Go heap, so that the
// kill switch changes nothing for those who use the original's bytes again.
func ownString(op string, a *Arena, s string) (string, error) {
	if len(s) == 0 {
		return "", nil
	}
	var p unsafex.Ptr
	if a != nil && a.direct() { // As in mapMemory.
		p = a.text.take(uintptr(len(s)))
	}
	if p == nil {
		var err error
		if p, err = a.alloc(op, describe[byte](), len(s), false); err != nil {
			return "", err
		}
	}
	if p == nil {
		return strings.Clone(s), nil
	}
	copy(unsafex.SliceOf[byte](p, len(s), len(s)), s)
	return unsafex.StringOf(p, len(s)), nil
}
