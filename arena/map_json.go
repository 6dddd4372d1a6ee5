// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
)

// Without the methods here package encoding/json would write a Map as {}, since it sees no exported
// field. They copy the entries to a Go map and back, so that the rules for keys and values are
// json's own, in any version of it. Every program with an arena has that package already:
// internal/debugmode writes its evidence by it.

// MarshalJSON encodes the Map as package encoding/json encodes a Go map with the same entries: keys
// are sorted, and must be strings, integers or [encoding.TextMarshaler]; other keys are an error. It
// copies the entries to the Go heap first, and takes time and memory there in proportion. If a method
// of a key or a value frees the arena's values, MarshalJSON panics.
//
// A copy of a Map, as in json.Marshal(*m), has no such method: encoding/json writes {} for it. Go vet
// reports the copy.
func (m *Map[K, V]) MarshalJSON() ([]byte, error) {
	m.check("Map.MarshalJSON")
	// A method of a key or a value may free later keys. Then this panic takes the place of the results, or of a panic of
	// reflect's because json finds a key no more that it has seen.
	defer m.check("Map.MarshalJSON")
	entries := make(map[K]V, m.n)
	maps.Insert(entries, m.All())
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // The caller's encoder does so, unless it is told not to.
	if err := e.Encode(entries); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// UnmarshalJSON sets the entries of a JSON object, as package encoding/json does in a Go map:
// entries with other keys stay. The Map must be one of [NewMap]. json.Unmarshal makes a zero Map
// where it finds a nil *Map, and UnmarshalJSON returns an error for it, because the arena is not
// known; package arenajson makes a Map in its arena there. Keys are copied to the arena; memory that values point to lies on the Go heap.
//
// If the text or a type is wrong, the Map is unchanged. If the arena has no memory, UnmarshalJSON
// returns an error that errors.Is [offheap.ErrLimit] or [offheap.ErrOutOfMemory], and has set some
// of the entries.
func (m *Map[K, V]) UnmarshalJSON(text []byte) error {
	if m.self == nil {
		return fmt.Errorf("arena: Map.UnmarshalJSON of a %T that no function of the package made: make it with NewMap before, and unmarshal into it", m)
	}
	m.check("Map.UnmarshalJSON")
	var entries map[K]V
	if err := json.Unmarshal(text, &entries); err != nil {
		return err
	}
	for k, v := range entries {
		if err := m.set("Map.UnmarshalJSON", k, v); err != nil {
			return err
		}
	}
	return nil
}
