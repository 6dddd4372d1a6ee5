// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding"
	"encoding/json"
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
	opLiteral op = iota // By encoding/json's rules for what has no faster way.
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
	opNumber // json.Number
	opBytes  // A slice of bytes: base64, or numbers.
	opRaw    // json.RawMessage
	opTime   // time.Time
	opStruct
	opPointer
	opSlice
	opArray
	opMap
	opArenaMap    // A pointer to an arena.Map.
	opAny         // An interface without methods.
	opInterface   // One with methods.
	opUnmarshaler // Has UnmarshalJSON.
	opText        // Has UnmarshalText: for strings; null is as for the type without it.

	// Of version 2.
	opNever    // Every value is an error.
	opQuoted   // A number in a string.
	opBase     // A slice or array of bytes: a string in base64 or the like.
	opDuration // time.Duration
	opFrom     // Has UnmarshalJSONFrom.
)

// A plan is how values of one type are decoded. It is made once for each type, and does not change.
type plan struct {
	op   op
	base op // Of opText: the op of the type without its method.
	typ  reflect.Type
	mem  *arena.UnsafeType
	size uintptr

	// foreign: decoding may call methods of the program's types. encoding/json calls none if the document is not
	// well-formed to its end.
	foreign bool

	elem  *plan // Of a pointer, slice, array or map.
	count int   // Of an array.
	*object
	*table

	rules *rulesV2 // Nil for version 1.
}

// An object is what a struct adds to its plan.
type object struct {
	fields []field
	names  names
}

// A table is what a map adds to its plan.
type table struct {
	key     reflect.Type
	keyKind reflect.Kind
	keyText bool // Keys have UnmarshalText.
	anys    bool // It is a map[string]any.
	keyPlan *plan
}

// A planKey is a type T and whether methods of *T count. As in encoding/json they do if T has a name, and for
// what a pointer of type *T points to.
type planKey struct {
	typ     reflect.Type
	methods bool
}

// plans has the plans by planKey.
var plans sync.Map

// keyOf is the key of a type. named says that it has a name, or is what a pointer type without one points to.
func keyOf(t reflect.Type, named bool) planKey {
	return planKey{t, named && t.Kind() != reflect.Pointer && reflect.PointerTo(t).NumMethod() > 0}
}

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
	p := c.plan(k) // It is not in made if another goroutine has made it meanwhile.
	publish(&plans, c.made)
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
	anyType             = reflect.TypeFor[any]()
	mapAnyType          = reflect.TypeFor[map[string]any]()
	arenaMapType        = reflect.TypeFor[arena.UnsafeMap]()
	arenaPath           = reflect.TypeFor[arena.Arena]().PkgPath()
	stringType          = reflect.TypeFor[string]()
	floatType           = reflect.TypeFor[float64]()
)

func (c *compiler) of(t reflect.Type) *plan { return c.plan(keyOf(t, t.Name() != "")) }

func (c *compiler) plan(k planKey) *plan {
	if p, ok := c.made[k]; ok {
		return p
	}
	if p, ok := plans.Load(k); ok {
		return p.(*plan)
	}
	p := &plan{typ: k.typ, mem: arena.UnsafeTypeOf(k.typ), size: k.typ.Size()}
	c.made[k] = p
	p.op = c.kind(p)
	if k.methods {
		switch pt := reflect.PointerTo(k.typ); {
		case k.typ == rawType:
			p.op = opRaw
		case k.typ == timeType:
			p.op = opTime
		case pt.Implements(unmarshalerType):
			p.op = opUnmarshaler
		case pt.Implements(textUnmarshalerType):
			p.op, p.base = opText, p.op
		}
	}
	return p
}

// publish marks the new plans that lead to one which calls methods of the program, and makes all of them known. Plans refer to
// each other, so that those that another goroutine has made meanwhile serve besides.
func publish[K comparable](known *sync.Map, made map[K]*plan) {
	for again := true; again; {
		again = false
		for _, p := range made {
			if !p.foreign && p.leadsToForeign() {
				p.foreign, again = true, true
			}
		}
	}
	for k, p := range made {
		known.LoadOrStore(k, p)
	}
}

// leadsToForeign reports whether decoding may call methods of the program, as far as the plans that p leads to are marked.
func (p *plan) leadsToForeign() bool {
	switch {
	case p.op == opUnmarshaler || p.op == opText || p.op == opFrom:
		return true
	case p.elem != nil && p.elem.foreign, p.table != nil && (p.keyText || p.rules != nil && p.keyPlan.foreign):
		return true
	case p.rules != nil && p.op == opStruct && p.rules.fallback != nil && p.rules.fallback.plan.foreign:
		return true
	}
	return p.object != nil && slices.ContainsFunc(p.object.fields, func(f field) bool { return f.plan.foreign })
}

// kind is the op of p's type without its methods; what it needs is put into p.
func (c *compiler) kind(p *plan) op {
	t := p.typ
	switch t.Kind() {
	case reflect.Bool:
		return opBool
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		return sized(t.Size(), opInt8)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint, reflect.Uintptr:
		return sized(t.Size(), opUint8)
	case reflect.Float32:
		return opFloat32
	case reflect.Float64:
		needPowers()
		return opFloat64
	case reflect.String:
		if t == numberType {
			return opNumber
		}
		return opString
	case reflect.Slice:
		p.elem = c.of(t.Elem())
		if t.Elem().Kind() == reflect.Uint8 {
			return opBytes
		}
		return opSlice
	case reflect.Array:
		p.elem, p.count = c.of(t.Elem()), t.Len()
		return opArray
	case reflect.Pointer:
		if key, elem, ok := arenaMapOf(t); ok {
			return c.table(p, opArenaMap, key, elem)
		}
		if endless(t) {
			return opLiteral
		}
		p.elem = c.plan(keyOf(t.Elem(), t.Name() == "")) // A pointer type with a name has no methods.
		return opPointer
	case reflect.Struct:
		p.object = c.object(t)
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
	return opLiteral // Functions, channels and so on: every value but null is an error.
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
func (c *compiler) table(p *plan, o op, k, elem reflect.Type) op {
	m := &table{key: k, keyKind: k.Kind(), keyText: reflect.PointerTo(k).Implements(textUnmarshalerType), anys: p.typ == mapAnyType}
	switch m.keyKind {
	case reflect.String,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
	default:
		if !m.keyText {
			return opLiteral
		}
	}
	p.elem, p.table = c.of(elem), m
	m.keyPlan = c.plan(keyOf(k, true)) // encoding/json makes a pointer to a key, so its methods count.
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
