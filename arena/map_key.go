// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"

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

// keyInfo is what a Map must know of a type of keys.
type keyInfo struct {
	kind    hashKind
	strings []uintptr // Where in a key there are strings.
	// rewritten: keys that are equal may have different bits, of which the last that was set
	// counts.
	rewritten bool
}

// keyInfos leads from the *typeDesc of a type to its *keyInfo.
var keyInfos sync.Map

func keysOf[K comparable]() *keyInfo {
	d := describe[K]()
	if i, ok := keyInfos.Load(d); ok {
		return i.(*keyInfo)
	}
	i, _ := keyInfos.LoadOrStore(d, newKeyInfo(d.typ))
	return i.(*keyInfo)
}

func newKeyInfo(t reflect.Type) *keyInfo {
	k := &keyInfo{}
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
	return k
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
	if a != nil && a.bytes.cursor != nil {
		p = a.bytes.take(uintptr(len(s)))
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

// A hasher makes the hashes of one Map its own, so that an attacker who chooses keys does not know
// which of them collide.
type hasher struct {
	add, mul uint64
	seed     maphash.Seed
}

func (h *hasher) init() {
	h.add, h.mul = rand.Uint64(), rand.Uint64()|1
	h.seed = maphash.MakeSeed()
}

// word mixes a word. Both halves of one product, as wyhash does it, are not enough: of keys in a
// row it makes an arithmetic progression, and the step of one Map in a hundred is so near to a
// simple fraction that its keys pile up in a few places. The second product breaks the progression
// up.
func (h *hasher) word(x uint64) uint64 {
	hi, lo := bits.Mul64(x^h.add, h.mul)
	return (hi ^ lo) * golden
}

func (m *Map[K, V]) hash(key K) uint64 {
	switch m.kind {
	case hashWord:
		return m.word(unsafex.Word(&key))
	case hashString:
		return maphash.String(m.seed, *unsafex.As[string](unsafex.PtrOf(&key)))
	case hashBytes:
		return maphash.Bytes(m.seed, unsafex.SliceOf[byte](unsafex.PtrOf(&key), int(unsafex.Size[K]()), int(unsafex.Size[K]())))
	}
	return maphash.Comparable(m.seed, key)
}

// GetBytes is [Map.Get] with a key in a buffer, which it does not copy.
func GetBytes[K ~string, V any](m *Map[K, V], key []byte) (V, bool) {
	return m.Get(bufferKey[K](key))
}

// SetBytes is [Map.Set] with a key in a buffer. If the key is new, SetBytes copies it to the arena.
func SetBytes[K ~string, V any](m *Map[K, V], key []byte, value V) {
	must(m.set("SetBytes", bufferKey[K](key), value))
}

// TrySetBytes is [Map.TrySet] with a key in a buffer. If the key is new, TrySetBytes copies it to the
// arena.
func TrySetBytes[K ~string, V any](m *Map[K, V], key []byte, value V) error {
	return m.set("TrySetBytes", bufferKey[K](key), value)
}

// bufferKey is a key for a Map, which does not keep it: it keeps copies of strings.
func bufferKey[K ~string](b []byte) K {
	return K(unsafex.StringOf(unsafex.Unescaped(unsafex.DataOf(b)), len(b)))
}
