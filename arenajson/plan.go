// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/freehold-go/freehold/arena"
)

// An op says how a value is decoded into a variable of a type.
type op uint8

const (
	opLiteral op = iota // No value but null fits.
	opBool
	opInt8
	opInt16
	opInt32
	opInt64
	opUint8
	opUint16
	opUint32
	opUint64
	opFloat32
	opFloat64
	opString
	opQuoted // A number, or by version 1 a bool or string, in a string.
	opNumber // json.Number
	opBytes  // A slice of bytes, or by version 2 an array: base64.
	opRaw    // json.RawMessage
	opTime   // time.Time
	opValue  // Value
	opPointer
	opStruct // encoding/json/v2 reads values from here to opArenaMap, and bools, token by token. See mismatch.
	opSlice
	opArray
	opMap
	opArenaMap    // A pointer to an arena.Map.
	opAny         // An interface without methods.
	opInterface   // One with methods.
	opUnmarshaler // Has UnmarshalJSON.
	opText        // Has UnmarshalText, for strings.
	opFrom        // Has UnmarshalJSONFrom.
	opNever       // Every value is an error.
)

// A plan is how values of one type are decoded by some rules. It is made once for each, and does not change.
type plan struct {
	op    op
	base  op // Of opQuoted: the op of the type without quotes.
	rules rules
	typ   reflect.Type
	mem   *arena.UnsafeType
	size  uintptr

	// foreign: decoding may call methods of the program's types. encoding/json calls none if the document is not
	// well-formed to its end.
	foreign bool

	elem  *plan // Of a pointer, slice, array or map.
	count int   // Of an array.
	never error // Of opNever: why.
	*object
	*table
}

// An object is what a struct adds to its plan.
type object struct {
	fields   []field
	names    names
	fallback *fallback // Where unknown members go, or nil.
	refused  *badType  // Why no object can be decoded, or nil.
}

// A table is what a map adds to its plan.
type table struct {
	key     reflect.Type
	keyPlan *plan
	anys    bool // It is a map[string]any.
	unique  bool // Names differ if and only if the keys do: then the map shows names that stand twice.
}

// A planKey is what a plan is made for.
type planKey struct {
	typ   reflect.Type
	rules rules
}

// plans has the plans by planKey.
var plans sync.Map

// planFor is the plan of a key.
func planFor(k planKey) *plan {
	if p, ok := plans.Load(k); ok {
		return p.(*plan)
	}
	return compile(k)
}

// compile is planFor for a key that had no plan a moment ago.
func compile(k planKey) *plan {
	c := compiler{made: make(map[planKey]*plan)}
	p := c.plan(k.typ, k.rules) // It is not in made if another goroutine has made it meanwhile.
	c.publish()
	return p
}

// A compiler makes the plans of a type and of all that it leads to.
type compiler struct {
	made map[planKey]*plan
}

var (
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	numberType          = reflect.TypeFor[json.Number]()
	rawType             = reflect.TypeFor[json.RawMessage]()
	timeType            = reflect.TypeFor[time.Time]()
	durationType        = reflect.TypeFor[time.Duration]()
	valueType           = reflect.TypeFor[Value]()
	mapAnyType          = reflect.TypeFor[map[string]any]()
	arenaMapType        = reflect.TypeFor[arena.UnsafeMap]()
	arenaPath           = reflect.TypeFor[arena.Arena]().PkgPath()
	floatType           = reflect.TypeFor[float64]()
)

// plan is the plan of a type.
func (c *compiler) plan(t reflect.Type, r rules) *plan {
	k := planKey{t, r}
	if p, ok := c.made[k]; ok {
		return p
	}
	if p, ok := plans.Load(k); ok {
		return p.(*plan)
	}
	p := &plan{typ: t, rules: r, mem: arena.UnsafeTypeOf(t), size: t.Size()}
	c.made[k] = p
	if !p.ofMethods() {
		p.op = c.kind(p)
	}
	return p
}

// ofMethods sets the op of a type that decodes itself, or reports false. A pointer and an interface leave that to what they lead to.
func (p *plan) ofMethods() bool {
	pt, json := reflect.PointerTo(p.typ), p.rules&memberName == 0 || p.rules&textKeys == 0
	switch {
	case p.typ.Kind() == reflect.Pointer || p.typ.Kind() == reflect.Interface:
		return false
	case p.typ == timeType:
		p.op = opTime
		if p.badTag() {
			p.refuse(errStringTag)
		}
	case p.typ == durationType && p.rules&nanos == 0:
		p.refuse(errDuration)
	case p.typ == valueType && json:
		p.op = opValue
	case p.typ == numberType && json:
		p.op = opNumber
	case p.typ == rawType && json:
		p.op = opRaw
	case json && fromType != nil && pt.Implements(fromType):
		p.op = opFrom
	case json && pt.Implements(unmarshalerType):
		p.op = opUnmarshaler
	case pt.Implements(textUnmarshalerType):
		p.op = opText
	default:
		return false
	}
	return true
}

var (
	errStringTag = errors.New("invalid use of `string` tag option")
	errDuration  = errors.New("no default representation")
)

// badTag reports whether a type that is no number has the option string where only numbers may.
func (p *plan) badTag() bool { return p.rules&stringTag != 0 && p.rules&quotesAll == 0 }

// refuse makes every value an error.
func (p *plan) refuse(err error) op {
	p.op, p.never = opNever, err
	return opNever
}

// publish marks the new plans that lead to one which calls methods of the program, and makes all of them known. Plans refer to
// each other, so that those that another goroutine has made meanwhile serve besides.
func (c *compiler) publish() {
	for again := true; again; {
		again = false
		for _, p := range c.made {
			if !p.foreign && p.leadsToForeign() {
				p.foreign, again = true, true
			}
		}
	}
	for k, p := range c.made {
		plans.LoadOrStore(k, p)
	}
}

// leadsToForeign reports whether decoding may call methods of the program, as far as the plans that p leads to are marked.
func (p *plan) leadsToForeign() bool {
	switch {
	case p.op == opUnmarshaler || p.op == opText || p.op == opFrom:
		return true
	case p.elem != nil && p.elem.foreign, p.table != nil && p.keyPlan.foreign:
		return true
	case p.object == nil:
		return false
	}
	return p.fallback != nil && p.fallback.plan.foreign || slices.ContainsFunc(p.object.fields, func(f field) bool { return f.plan.foreign })
}

// kind is the op of p's type without methods; what it needs is put into p.
func (c *compiler) kind(p *plan) op {
	t, r := p.typ, p.rules.within()
	switch t.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		return p.quotable(sized(t.Size(), opInt8), stringTag|memberName)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint, reflect.Uintptr:
		return p.quotable(sized(t.Size(), opUint8), stringTag|memberName)
	case reflect.Float32, reflect.Float64:
		needPowers()
		return p.quotable(sized(t.Size(), opFloat32-2), stringTag|memberName)
	case reflect.Pointer:
		return c.pointer(p)
	}
	if p.badTag() {
		return p.refuse(errStringTag)
	}
	switch t.Kind() {
	case reflect.Bool:
		return p.quotable(opBool, stringTag)
	case reflect.String:
		return p.quotable(opString, stringTag)
	case reflect.Slice, reflect.Array:
		p.elem = c.plan(t.Elem(), r)
		if t.Kind() == reflect.Array {
			p.count = t.Len()
		}
		return p.row()
	case reflect.Struct:
		p.object = c.object(t, r)
		return opStruct
	case reflect.Map:
		return c.table(p, opMap, t.Key(), t.Elem())
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return opInterface
		}
		needPowers()
		return opAny
	}
	if p.rules&goesOn == 0 {
		return p.refuse(nil)
	}
	return opLiteral // Functions, channels and so on.
}

// quotable is the op of what stands in a string if one of the rules is set.
func (p *plan) quotable(o op, r rules) op {
	if p.rules&r == 0 {
		return o
	}
	p.base = o
	return opQuoted
}

// row is the op of a slice or array.
func (p *plan) row() op {
	array := p.typ.Kind() == reflect.Array
	bytes := p.typ.Elem().Kind() == reflect.Uint8
	if p.rules&looseBytes == 0 {
		bytes = bytes && p.typ.Elem().PkgPath() == "" // Of byte itself, not of another type made from it.
	} else if array {
		bytes = false
	}
	switch {
	case bytes:
		return opBytes
	case array:
		return opArray
	}
	return opSlice
}

// pointer is the op of a pointer. The option string holds for what it leads to, but by version 1 not through two pointers.
func (c *compiler) pointer(p *plan) op {
	t := p.typ
	if key, elem, ok := arenaMapOf(t); ok {
		return c.table(p, opArenaMap, key, elem)
	}
	if endless(t) {
		return opLiteral
	}
	r := p.rules
	if r&quotesAll != 0 && t.Elem().Kind() == reflect.Pointer {
		r &^= stringTag
	}
	p.elem = c.plan(t.Elem(), r)
	return opPointer
}

// endless reports whether a pointer type leads to nothing but pointers, as type P *P does: no value but null fits.
func endless(t reflect.Type) bool {
	seen := make(map[reflect.Type]bool)
	for ; t.Kind() == reflect.Pointer; t = t.Elem() {
		if seen[t] {
			return true
		}
		seen[t] = true
	}
	return false
}

// sized is the op for numbers of that many bytes; first is that for one.
func sized(bytes uintptr, first op) op {
	switch bytes {
	case 1:
		return first
	case 2:
		return first + 1
	case 4:
		return first + 2
	}
	return first + 3
}

// table is the op of a map with keys and elements of the types given.
func (c *compiler) table(p *plan, o op, key, elem reflect.Type) op {
	r := p.rules.within()
	p.elem = c.plan(elem, r)
	p.table = &table{key: key, keyPlan: c.plan(key, r|memberName), anys: p.typ == mapAnyType}
	switch p.keyPlan.op {
	case opString, opBool, opQuoted:
		p.unique = key.Kind() != reflect.Float32 && key.Kind() != reflect.Float64
	}
	return o
}

// arenaMapOf are the types of keys and values of the arena.Map that t is a pointer to. A struct in which a *Map is embedded has its
// methods, too, but is none.
func arenaMapOf(t reflect.Type) (key, value reflect.Type, ok bool) {
	if !t.Implements(arenaMapType) || t.Elem().PkgPath() != arenaPath || !strings.HasPrefix(t.Elem().Name(), "Map[") {
		return nil, nil, false
	}
	key, value = reflect.Zero(t).Interface().(arena.UnsafeMap).UnsafeTypes()
	return key, value, true
}
