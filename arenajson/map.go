// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"reflect"

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

// mapping decodes the object at i into a map. By version 1 values of equal keys do not merge: the last one counts. By version 2 values
// of keys that the map has are decoded into what is there.
func (d *decoder) mapping(p *plan, to pointer, i int) int {
	if i = d.enter(i); i < 0 {
		return i
	}
	m, ok := d.mapAt(p, to)
	if !ok {
		return -1
	}
	if p.anys && !d.opts.ValuesForAny && (p.rules&merges != 0 || m.length() == 0) {
		return d.anyMembers(*unsafex.As[map[string]any](to), i)
	}
	if d.peek(i) == '}' {
		return d.leave(i)
	}
	e, k := d.entry(p), keySet{names: -1}
	if p.rules&repeats == 0 && !p.unique {
		k.names = d.names.open()
	}
	if p.rules&repeats == 0 && m.length() > 0 {
		k.keys = reflect.MakeMap(reflect.MapOf(p.key, reflect.TypeFor[struct{}]()))
	}
	for {
		begin := i
		if i, ok = d.key(p, e, &k, i); i < 0 {
			return i
		}
		if !ok {
			i = d.skip(i)
		} else {
			if p.rules&repeats == 0 && !k.once(m, e) {
				return d.repeated(begin)
			}
			if i = d.value(p.elem, e.to, i); !d.set(m, e) {
				return -1
			}
			e.value.SetZero()
		}
		if i < 0 {
			return i
		}
		i = d.after(i)
		if d.peek(i) != ',' {
			break
		}
		i = d.space(i + 1)
	}
	if k.names >= 0 {
		d.names.close(k.names)
	}
	if i = d.close(i, '}'); i >= 0 {
		d.release(p, e)
	}
	return i
}

// A keySet has the keys that a document has named in an object.
type keySet struct {
	names int           // Where the names are, or -1 if the map shows those that stand twice.
	keys  reflect.Value // A map of the keys, if the map had entries before.
}

// once gives an entry the value that its key has in the map, or reports false if the document has named the key before.
func (k *keySet) once(m mapTarget, e *entry) bool {
	if m.get(e) && (!k.keys.IsValid() || k.keys.MapIndex(e.key).IsValid()) {
		return false
	}
	if k.keys.IsValid() {
		k.keys.SetMapIndex(e.key, reflect.ValueOf(struct{}{}))
	}
	return true
}

// nameEnd is the index behind the name at i, which was read before. If a method has changed the input so that it does not
// end, the name is short.
func (d *decoder) nameEnd(i int) int {
	if end := (&scanner{data: d.input}).skipText(i + 1); end >= 0 {
		return end
	}
	return i + len(`""`)
}

// key decodes the name at i into the key of an entry, and returns the index of the value. ok is false if the name is no key of the type.
func (d *decoder) key(p *plan, e *entry, k *keySet, i int) (value int, ok bool) {
	if d.peek(i) != '"' {
		return d.syntax(), false
	}
	if p.keyPlan.op == opString {
		name, next := d.text(i + 1)
		if next < 0 {
			return next, false
		}
		e.key.SetString(name)
		return d.colon(next), true
	}
	if k.names >= 0 {
		next := d.skip(i)
		if next < 0 {
			return next, false
		}
		if !d.names.insert(k.names, d.textAt(i, next)) {
			return d.repeated(i), false
		}
	}
	if p.foreign { // A method may keep the key's address.
		e.key = reflect.New(p.key).Elem()
	} else {
		e.key.SetZero()
	}
	misfits := d.misfits
	next := d.value(p.keyPlan, e.key.Addr().UnsafePointer(), i)
	if next < 0 {
		return next, false
	}
	return d.colon(next), misfits == d.misfits
}

// mapMember decodes the value at i into the element of a map with string keys.
func (d *decoder) mapMember(p *plan, to pointer, name string, i int) int {
	m, ok := d.mapAt(p, to)
	if !ok {
		return -1
	}
	e := d.entry(p)
	e.key.SetString(name)
	m.get(e)
	if i = d.value(p.elem, e.to, i); d.set(m, e) && i >= 0 {
		e.value.SetZero()
		d.release(p, e)
	}
	return i
}
