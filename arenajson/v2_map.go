// SPDX-License-Identifier: Apache-2.0

package arenajson

import "reflect"

// mappingV2 decodes the object at i into a map. Values of keys that the map has are decoded into what is there.
func (d *decoder) mappingV2(p *plan, to pointer, i int) int {
	if i = d.enter(i); i < 0 {
		return i
	}
	m, ok := d.mapAt(p, to)
	if !ok {
		return -1
	}
	if d.peek(i) == '}' {
		return d.leave(i)
	}
	e := d.entry(p)
	var seen reflect.Value // The keys that the document has named, if the map had entries before.
	if m.length() > 0 {
		seen = reflect.MakeMap(reflect.MapOf(p.key, reflect.TypeFor[struct{}]()))
	}
	set := -1
	if !p.rules.unique {
		set = d.names.open()
	}
	for {
		begin := i
		if i = d.keyV2(p, e, set, i); i < 0 {
			return i
		}
		if m.get(e) && (!seen.IsValid() || seen.MapIndex(e.key).IsValid()) {
			return d.duplicate(d.nameAt(begin, d.nameEnd(begin)), begin)
		}
		if seen.IsValid() {
			seen.SetMapIndex(e.key, reflect.ValueOf(struct{}{}))
		}
		i = d.valueV2(p.elem, e.to, i)
		if !d.set(m, e) || i < 0 {
			return -1
		}
		e.value.SetZero()
		if i = d.after(i); d.peek(i) != ',' {
			break
		}
		i = d.space(i + 1)
	}
	if set >= 0 {
		d.names.close(set)
	}
	if i = d.close(i, '}'); i >= 0 {
		d.release(p, e)
	}
	return i
}

// nameEnd is the index behind the name at i, which was read before. If a method has changed the input so that it does not
// end, the name is short.
func (d *decoder) nameEnd(i int) int {
	if end := (&scanner{data: d.input}).skipText(i + 1); end >= 0 {
		return end
	}
	return i + len(`""`)
}

// keyV2 decodes the name at i into the key of an entry, and returns the index of the value. Names are noted in a set, if
// there is one.
func (d *decoder) keyV2(p *plan, e *entry, set, i int) int {
	if d.peek(i) != '"' {
		return d.syntax()
	}
	if p.keyPlan.op == opString {
		name, next := d.textV2(i + 1)
		if next < 0 {
			return next
		}
		e.key.SetString(name)
		return d.colon(next)
	}
	next := d.skipV2(i)
	if next < 0 {
		return next
	}
	if set >= 0 && !d.names.insert(set, d.nameAt(i, next)) {
		return d.duplicate(d.nameAt(i, next), i)
	}
	if p.foreign { // A method may keep the key's address.
		e.key = reflect.New(p.key).Elem()
	} else {
		e.key.SetZero()
	}
	if p.keyPlan.op == opFrom {
		d.calls++
		if err := fromV2(e.key.Addr().Interface(), d.input[i:next:next], false, true); err != nil {
			return d.fail(err, i)
		}
	} else if next = d.valueV2(p.keyPlan, e.key.Addr().UnsafePointer(), i); next < 0 {
		return next
	}
	return d.colon(next)
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
	i = d.valueV2(p.elem, e.to, i)
	if d.set(m, e) && i >= 0 {
		e.value.SetZero()
		d.release(p, e)
	}
	return i
}
