// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/freehold-go/freehold/arena"
)

// A keyV2 is a type and how the tag of the field around it says that values are written.
type keyV2 struct {
	typ    reflect.Type
	quoted bool // Numbers stand in strings.
	format string
}

// rulesV2 are what encoding/json/v2 adds to a plan.
type rulesV2 struct {
	keyV2
	*objectV2
	never     error // No value can be decoded: the type or the format is wrong.
	nonfinite bool  // A float may be one of "NaN", "Infinity" and "-Infinity".
	unique    bool  // Of a map: names differ if and only if the keys do.
	codec     *codec
	times     timeFormat
}

// plansV2 has the plans of version 2 by keyV2.
var plansV2 sync.Map

func planV2(k keyV2) *plan {
	if p, ok := plansV2.Load(k); ok {
		return p.(*plan)
	}
	return compileV2(k)
}

// compileV2 is planV2 for a key that had no plan a moment ago.
func compileV2(k keyV2) *plan {
	c := compilerV2{made: make(map[keyV2]*plan)}
	p := c.plan(k) // It is not in made if another goroutine has made it meanwhile.
	publish(&plansV2, c.made)
	return p
}

// A compilerV2 makes the plans of a type and of all that it leads to.
type compilerV2 struct {
	made map[keyV2]*plan
}

func (c *compilerV2) plan(k keyV2) *plan {
	if p, ok := c.made[k]; ok {
		return p
	}
	if p, ok := plansV2.Load(k); ok {
		return p.(*plan)
	}
	p := &plan{typ: k.typ, mem: arena.UnsafeTypeOf(k.typ), size: k.typ.Size(), rules: &rulesV2{keyV2: k}}
	c.made[k] = p
	p.op = c.kind(p)
	if k.typ.Kind() != reflect.Pointer && k.typ.Kind() != reflect.Interface {
		c.methods(p)
	}
	if p.rules.never != nil {
		p.op = opNever
	}
	return p
}

// methods replaces the op of a type that decodes itself.
func (c *compilerV2) methods(p *plan) {
	pt, k := reflect.PointerTo(p.typ), p.rules.keyV2
	switch {
	case k.typ == numberType:
		p.op = opNumber
	case k.typ == rawType:
		p.op = opRaw
	case k.typ == timeType:
		p.op = opTime
		p.rules.never = nil
		if !p.rules.times.ofTime(k.format) {
			p.rules.never = badFormat(k)
		}
		return
	case k.typ == durationType:
		p.op = opDuration
		p.rules.never = nil
		if k.format == "" {
			p.rules.never = errors.New("a time.Duration needs the option format in its tag: units, sec, milli, micro, nano or iso8601")
		} else if !p.rules.times.ofDuration(k.format) {
			p.rules.never = badFormat(k)
		}
		return
	case fromV2 != nil && pt.Implements(fromTypeV2):
		p.op = opFrom
	case pt.Implements(unmarshalerType):
		p.op = opUnmarshaler
	case pt.Implements(textUnmarshalerType):
		p.op, p.base = opText, p.op
	default:
		return
	}
	p.rules.never = nil // The methods see no format.
}

var durationType = reflect.TypeFor[time.Duration]()

func badFormat(k keyV2) error {
	return fmt.Errorf("the format %q is none of the type %v", k.format, k.typ)
}

// kind is the op of p's type without its methods; what it needs is put into p.
func (c *compilerV2) kind(p *plan) op {
	k, t := p.rules.keyV2, p.typ
	if !formats(k) {
		p.rules.never = badFormat(k)
	}
	switch t.Kind() {
	case reflect.Bool:
		return opBool
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		return quotedOp(p, sized(t.Size(), opInt8))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint, reflect.Uintptr:
		return quotedOp(p, sized(t.Size(), opUint8))
	case reflect.Float32, reflect.Float64:
		needPowers()
		p.rules.nonfinite = k.format == "nonfinite"
		return quotedOp(p, sized(t.Size(), opFloat32-2))
	case reflect.String:
		return opString
	case reflect.Slice, reflect.Array:
		return c.row(p)
	case reflect.Pointer:
		if key, elem, ok := arenaMapOf(t); ok {
			if !formatsMap(k.format) {
				p.rules.never = badFormat(k)
			}
			return c.table(p, opArenaMap, key, elem)
		}
		if endless(t) {
			return opLiteral
		}
		p.elem = c.plan(keyV2{t.Elem(), k.quoted, k.format})
		return opPointer
	case reflect.Struct:
		p.object, p.rules.objectV2 = c.object(t, k.quoted)
		return opStruct
	case reflect.Map:
		p.rules.unique = uniqueKeys(t.Key())
		return c.table(p, opMap, t.Key(), t.Elem())
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return opInterface
		}
		needPowers()
		return opAny
	}
	p.rules.never = errors.New("JSON has no values for this type")
	return opLiteral
}

// table is the op of a map with keys and elements of the types given.
func (c *compilerV2) table(p *plan, o op, key, elem reflect.Type) op {
	p.elem = c.plan(keyV2{typ: elem, quoted: p.rules.quoted})
	p.table = &table{key: key, keyKind: key.Kind(), keyPlan: c.plan(keyV2{typ: key, quoted: true})}
	return o
}

// quotedOp is opQuoted for numbers that stand in strings.
func quotedOp(p *plan, o op) op {
	if p.rules.quoted {
		return opQuoted
	}
	return o
}

// row is the op of a slice or array.
func (c *compilerV2) row(p *plan) op {
	k, t := p.rules.keyV2, p.typ
	p.elem = c.plan(keyV2{typ: t.Elem(), quoted: k.quoted})
	if t.Kind() == reflect.Array {
		p.count = t.Len()
	}
	switch {
	case isBytes(t) && k.format != "array":
		p.rules.codec = codecs[k.format]
		return opBase
	case t.Kind() == reflect.Array:
		return opArray
	}
	return opSlice
}

// isBytes reports whether t is a slice or array of byte itself, not of another type made from it.
func isBytes(t reflect.Type) bool {
	return t.Elem().Kind() == reflect.Uint8 && t.Elem().PkgPath() == ""
}

// formats reports whether a format suits a type without methods. Pointers leave that to what they point to.
func formats(k keyV2) bool {
	if k.format == "" {
		return true
	}
	switch k.typ.Kind() {
	case reflect.Pointer:
		return true
	case reflect.Float32, reflect.Float64:
		return k.format == "nonfinite"
	case reflect.Map:
		return formatsMap(k.format)
	case reflect.Slice, reflect.Array:
		if isBytes(k.typ) {
			return codecs[k.format] != nil || k.format == "array"
		}
		return k.typ.Kind() == reflect.Slice && formatsMap(k.format)
	}
	return false
}

// formatsMap reports whether a format suits maps and slices.
func formatsMap(format string) bool {
	return format == "" || format == "emitnull" || format == "emitempty"
}

// uniqueKeys reports whether two names make the same key of a type only if they would make the same one of another map: then the map
// shows names that stand twice.
func uniqueKeys(t reflect.Type) bool {
	switch k := t.Kind(); {
	case k == reflect.String, k >= reflect.Bool && k <= reflect.Uintptr:
		return t != durationType && !hasMethods(t)
	}
	return false
}

// A codec is a way to write bytes as text.
type codec struct {
	decode     func(dst, src []byte) (int, error)
	bits       int // Of a character.
	pad        byte
	ignoresEOL bool
}

var codecs = func() map[string]*codec {
	b64 := func(e *base64.Encoding) *codec { return &codec{e.Decode, 6, '=', true} }
	b32 := func(e *base32.Encoding) *codec { return &codec{e.Decode, 5, '=', true} }
	b16 := &codec{decode: hex.Decode, bits: 4}
	return map[string]*codec{
		"": b64(base64.StdEncoding), "base64": b64(base64.StdEncoding), "base64url": b64(base64.URLEncoding),
		"base32": b32(base32.StdEncoding), "base32hex": b32(base32.HexEncoding), "base16": b16, "hex": b16,
	}
}()
