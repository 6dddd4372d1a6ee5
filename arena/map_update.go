// SPDX-License-Identifier: Apache-2.0

package arena

// Update makes f(old, ok) the value of key, where old is the present value and ok says whether there
// is one; without one, old is zero. It is the way to count: m.Update(word, func(n int, _ bool) int {
// return n + 1 }). The key is hashed once, not twice as by Get and Set.
//
// f gets a copy of the value, and no pointer into the table, because the table may go before a
// pointer would. So f may use the Map, and its arena. Update sets the value after f has returned, as
// [Map.Set] does, whatever f did: an entry that f has deleted is there again, and a value that f has
// set is overwritten. If f frees, resets or rewinds the memory of the Map, Update panics, as every
// use of the Map does then. If f panics, the Map stays as f left it.
//
// If the Map must grow and there is no memory, Update panics as [Map.Set] does.
func (m *Map[K, V]) Update(key K, f func(old V, ok bool) V) { must(m.update(key, f)) }

func (m *Map[K, V]) update(key K, f func(old V, ok bool) V) error {
	const op = "Map.Update"
	u := m.unseen()
	u.check(op)
	h, serial := u.hash(key), u.t.serial
	at, found := u.seek(key, h)
	var old V
	if found {
		s := u.t.slots.at(at)
		old = s.value
	}
	value := f(old, found)
	u.check(op) // f may have used the Map and the arena.
	if u.t.serial != serial {
		h = u.hash(key)
	}
	if at, found = u.seek(key, h); found {
		u.replace(at, key, value)
		return nil
	}
	return u.insert(op, at, h, key, value)
}

// GetOrSet returns the value of key. If there is none, it sets value first, as [Map.Set] does; then
// ok is false.
func (m *Map[K, V]) GetOrSet(key K, value V) (actual V, ok bool) {
	actual, ok, err := m.getOrSet(key, value)
	must(err)
	return actual, ok
}

func (m *Map[K, V]) getOrSet(key K, value V) (actual V, ok bool, err error) {
	const op = "Map.GetOrSet"
	u := m.unseen()
	u.check(op)
	h := u.hash(key)
	at, found := u.seek(key, h)
	if found {
		s := u.t.slots.at(at)
		return s.value, true, nil
	}
	if err = u.insert(op, at, h, key, value); err != nil {
		return actual, false, err
	}
	return value, false, nil
}
