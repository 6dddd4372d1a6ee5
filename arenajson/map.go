// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding/json"
	"reflect"
	"strconv"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// entry is one that is not in use: maps of one type may lie in each other. If a method of the program may see the
// entry, it is a new one.
func (d *decoder) entry(p *plan) *entry {
	if p.foreign {
		return newEntry(p)
	}
	free := d.entriesOf(p)
	e := free.first
	if e == nil {
		d.made++
		return newEntry(p)
	}
	free.first, e.next = e.next, nil
	return e
}

func newEntry(p *plan) *entry {
	e := &entry{key: reflect.New(p.key).Elem(), value: reflect.New(p.elem.typ).Elem()}
	e.to = e.value.Addr().UnsafePointer()
	return e
}

// release keeps an entry for the next map of the type. Its value is zero. An entry that methods of the program have seen
// is not kept: a method may have kept its address, and another goroutine may decode the next document.
func (d *decoder) release(p *plan, e *entry) {
	if p.foreign {
		return
	}
	e.key.SetZero()
	free := d.entriesOf(p)
	free.first, e.next = e, free.first
}

// entriesOf is the list of entries for a type of map. It moves to the front: the next map is mostly of the same type.
func (d *decoder) entriesOf(p *plan) *entryList {
	all := d.entries
	for i := range all {
		if all[i].plan == p {
			all[0], all[i] = all[i], all[0]
			return &all[0]
		}
	}
	d.entries = append(all, entryList{plan: p})
	return &d.entries[len(all)]
}

// A mapTarget is a map that is decoded into: an arena.Map, or else a Go map.
type mapTarget struct {
	table arena.UnsafeMap
	goMap reflect.Value
}

// mapAt is the map in a variable. If there is none, it makes one. ok is false if decoding ended.
func (d *decoder) mapAt(p *plan, to pointer) (m mapTarget, ok bool) {
	if p.op != opArenaMap {
		at := unsafex.As[pointer](to)
		if *at == nil {
			*at = d.newMap(p.mem)
		}
		return mapTarget{goMap: reflect.NewAt(p.typ, to).Elem()}, *at != nil
	}
	v := reflect.NewAt(p.typ, to).Elem()
	if !v.IsNil() {
		m.table = v.Interface().(arena.UnsafeMap)
		m.table.Len() // It panics if the Map is stale: the object may be empty.
		return m, true
	}
	// On the Go heap, so that a stale one panics: in the arena the Map of a later document would lie in its place.
	table := reflect.New(p.typ.Elem())
	m.table = table.Interface().(arena.UnsafeMap)
	if err := m.table.UnsafeStart(d.a); err != nil {
		d.stop(err)
		return m, false
	}
	v.Set(table)
	return m, true
}

// set puts an entry into the map. It reports false if decoding ended.
func (d *decoder) set(m mapTarget, e *entry) bool {
	if m.table == nil {
		m.goMap.SetMapIndex(e.key, e.value)
		return true
	}
	// SAFETY: p.table and p.elem have the types of the Map.
	if err := m.table.UnsafeSet(e.key.Addr().UnsafePointer(), e.to); err != nil {
		d.stop(err)
		return false
	}
	return true
}

// get gives an entry the value that its key has in the map, and reports whether there is one.
func (m mapTarget) get(e *entry) bool {
	if m.table != nil {
		// SAFETY: as in set.
		return m.table.UnsafeGet(e.key.Addr().UnsafePointer(), e.to)
	}
	old := m.goMap.MapIndex(e.key)
	if old.IsValid() {
		e.value.Set(old)
	}
	return old.IsValid()
}

func (m mapTarget) length() int {
	if m.table != nil {
		return m.table.Len()
	}
	return m.goMap.Len()
}

// member is the name of the member at i, and the index of its value, or -1.
func (d *decoder) member(i int) (name string, value int) {
	if d.peek(i) != '"' {
		return "", d.syntax()
	}
	name, i = d.text(i + 1)
	if i < 0 {
		return "", i
	}
	return name, d.colon(i)
}

// mapping decodes the object at i into a map. Values of equal keys do not merge: the last one counts.
func (d *decoder) mapping(p *plan, to pointer, i int) int {
	if i = d.enter(i); i < 0 {
		return i
	}
	m, ok := d.mapAt(p, to)
	if !ok {
		return -1
	}
	if p.anys && !d.opts.ValuesForAny {
		return d.anyMembers(*unsafex.As[map[string]any](to), i)
	}
	if d.peek(i) == '}' {
		return d.leave(i)
	}
	e := d.entry(p)
	for {
		start := i
		var name string
		if name, i = d.member(i); i < 0 {
			return i
		}
		if i = d.value(p.elem, e.to, i); i < 0 {
			return i
		}
		if p.keyText { // Each key is a variable of its own: its method may keep the address.
			e.key = reflect.New(p.key).Elem()
		}
		ok, went := d.keyInto(p, e.key, name, start)
		if !went {
			return -1
		}
		if ok && !d.set(m, e) {
			return -1
		}
		e.value.SetZero()
		i = d.after(i)
		if d.peek(i) != ',' {
			break
		}
		i = d.space(i + 1)
	}
	if i = d.close(i, '}'); i >= 0 {
		d.release(p, e)
	}
	return i
}

// keyInto makes key that of a name, whose quote is at start. ok is false if the name is no key of the type; went is false
// if decoding ended.
func (d *decoder) keyInto(p *plan, key reflect.Value, name string, start int) (ok, went bool) {
	if p.keyText {
		end := d.nameEnd(start) // The copy has lost the name's escapes.
		went = d.literal(p.keyPlan, key.Addr().UnsafePointer(), d.input[start:end], true, start, end)
		return went, went
	}
	switch {
	case p.keyKind == reflect.String:
		key.SetString(name)
		return true, true
	case key.CanInt():
		if n, err := strconv.ParseInt(name, 10, 64); err == nil && !key.OverflowInt(n) {
			key.SetInt(n)
			return true, true
		}
	default:
		if n, err := strconv.ParseUint(name, 10, 64); err == nil && !key.OverflowUint(n) {
			key.SetUint(n)
			return true, true
		}
	}
	d.save(&json.UnmarshalTypeError{Value: "number " + name, Type: p.key, Offset: int64(start + 1)}, start)
	return false, true
}
