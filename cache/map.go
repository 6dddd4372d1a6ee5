// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
)

// MapOptions configure a Map. Their zero value is good.
type MapOptions struct {
	// Name names the map in statistics and in offheap's accounts.
	Name string

	// Limit bounds the bytes off the Go heap, entries and index together. It is at least 1 MiB; 0 is as many as
	// the machine, and offheap's limits, allow.
	Limit int64
}

// Map is a map from keys to values that lie off the Go heap. It loses nothing: it grows with its entries, and shrinks
// after deletions. Keys and values are those of [Values]. An entry needs about 20 bytes beside its key and
// value, and up to a third more in all after deletions.
//
// If the memory of the next entry is refused, or would exceed the Limit, Set and Update return an error
// that errors.Is [offheap.ErrLimit] or [offheap.ErrOutOfMemory], and the map is what it was.
type Map[K comparable, V any] struct {
	_ noCopy
	typed[K, V]
}

// NewMap returns an empty map. The error says what is wrong in the options or the types.
func NewMap[K comparable, V any](o MapOptions) (*Map[K, V], error) {
	s := settings{Options: Options{Name: o.Name, Bytes: o.Limit}, keep: true}
	if o.Limit == 0 {
		s.Bytes = mostBytes
	}
	if s.Bytes < leastBytes || s.Bytes > mostBytes {
		return nil, fmt.Errorf("cache: MapOptions.Limit is %d; 0, or from %d to %d", o.Limit, leastBytes, int64(mostBytes))
	}
	m := new(Map[K, V])
	if err := m.init(s, nil); err != nil {
		return nil, err
	}
	return m, nil
}
