// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/freehold-go/freehold/adapters/arenaproto/internal/memory"
)

// mapping decodes a run of entries with f's tag into f's map. The first one is [i, next).
func (d *decoder) mapping(f *field, at pointer, i, next, end int) int {
	if d.depth < f.entry.levels {
		return d.fail(errDepth())
	}
	n := 1 + d.run(f, next, end)
	if m := memory.As[pointer](at); *m == nil {
		if *m = d.newMap(f.entry.typ, n); *m == nil {
			return -1
		}
	}
	var values pointer // The messages of the run, in a row.
	if f.entry.value.op == opMessage {
		if values = d.makeSlice(f.entry.value.sub.kind, n, i); values == nil {
			return -1
		}
	}
	for {
		d.depth -= f.entry.levels
		if !d.mapEntry(f.entry, at, values, i, next) {
			return -1
		}
		d.depth += f.entry.levels
		if n--; n == 0 {
			return next
		}
		if values != nil {
			values = memory.Add(values, f.entry.value.sub.kind.size)
		}
		var v uint64
		if v, i = d.lead(f, next+int(f.length), end); i < 0 {
			return i
		}
		next = i + int(v)
	}
}

// mapEntry decodes the entry in [i, end) and puts it into the map at an address. A key or a value that is
// missing is zero. value is the message for one, or nil if values are no messages.
func (d *decoder) mapEntry(e *entry, at, value pointer, i, end int) bool {
	// A message may hold a map of its own, which uses the scratch memory, too.
	var key, other scalar
	other.ref = value
	s, valued := &d.scratch, false
	for i < end {
		num, wire, next := d.tag(i, end)
		if next < 0 {
			return false
		}
		f := &e.key
		if num == 2 {
			f = &e.value
		}
		if num > 2 || uint8(wire) != f.wire {
			n := protowire.ConsumeFieldValue(num, wire, d.data[next:end:end])
			if n < 0 {
				return d.fail(errMalformed()) >= 0
			}
			i = next + n
			continue
		}
		v, next := d.lead(f, next, end)
		switch {
		case next < 0:
			return false
		case num == 1:
			i = d.value(f, f.op, s.key.at(f.op), v, next, end)
			key = s.key
		case value != nil:
			i, valued = d.message(f.sub, value, next, next+int(v), 0), true
		default:
			i = d.value(f, f.op, s.value.at(f.op), v, next, end)
			other = s.value
		}
		if i < 0 {
			return false
		}
	}
	if value != nil && !valued {
		d.partial = true // To protobuf-go, too, whether the value's type has required fields or not.
	}
	s.key, s.value = key, other
	e.put(at, s.key.at(e.key.op), s.value.at(e.value.op))
	return true
}

// put is an assignment to a map whose keys and values lie in memory as those of a map[K]V do. Go's maps
// look at the layout and the hash of a key, and both are the same (GC-13).
func put[K comparable, V any](m, key, value pointer) {
	(*memory.As[map[K]V](m))[*memory.As[K](key)] = *memory.As[V](value)
}

// putFor is put for keys and values of two ops.
func putFor(key, value op) func(m, key, value pointer) {
	switch key {
	case opBool:
		return putKey[bool](value)
	case opInt32, opZig32, opFixed32:
		return putKey[uint32](value)
	case opInt64, opZig64, opFixed64:
		return putKey[uint64](value)
	}
	return putKey[string](value)
}

func putKey[K comparable](value op) func(m, key, value pointer) {
	switch value {
	case opBool:
		return put[K, bool]
	case opInt32, opZig32, opFixed32:
		return put[K, uint32]
	case opInt64, opZig64, opFixed64:
		return put[K, uint64]
	case opText, opChars:
		return put[K, string]
	case opBytes:
		return put[K, []byte]
	}
	return put[K, pointer]
}
