// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

// checkJSON writes a Map and the Go map with the same entries, by the functions of encoding/json, and
// reads both back.
func checkJSON[K, V comparable](t *testing.T, a *Arena, entries map[K]V) {
	t.Helper()
	m := NewMap[K, V](a, 0)
	for k, v := range entries {
		m.Set(k, v)
	}
	got, err := json.Marshal(m)
	want, wantErr := json.Marshal(entries)
	if string(got) != string(want) || (err == nil) != (wantErr == nil) {
		t.Errorf("%T: %s, %v, want %s, %v", m, got, err, want, wantErr)
	}
	if wantErr != nil {
		if !strings.Contains(err.Error(), wantErr.Error()) {
			t.Errorf("%T: %v, want %v in it", m, err, wantErr)
		}
		return
	}
	for _, escape := range []bool{true, false} {
		var got, want bytes.Buffer
		for b, v := range map[*bytes.Buffer]any{&got: []any{m}, &want: []any{entries}} {
			e := json.NewEncoder(b)
			e.SetEscapeHTML(escape)
			e.SetIndent(">", "\t")
			if err := e.Encode(v); err != nil {
				t.Error(err)
			}
		}
		if got.String() != want.String() {
			t.Errorf("%T: %s, want %s", m, &got, &want)
		}
	}
	back := NewMap[K, V](a, 0)
	if err := json.Unmarshal(want, back); err != nil {
		t.Error(err)
	}
	if err := sameMap(back, entries); err != nil {
		t.Errorf("%T read back: %v", m, err)
	}
}

type level int8

func (l level) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "level %d", int8(l)), nil }
func (l *level) UnmarshalText(b []byte) error {
	_, err := fmt.Sscanf(string(b), "level %d", (*int8)(l))
	return err
}

// TestMapJSON: package encoding/json writes and reads a Map as a Go map.
func TestMapJSON(t *testing.T) {
	for _, a := range []*Arena{nil, NewArena(), NewShared()} {
		checkJSON(t, a, map[string]int{})
		checkJSON(t, a, map[string]int{"b": 2, "a": 1, "": 0, "<é>&": -1, "\u2028\n\"": 5})
		checkJSON(t, a, map[string]string{"x": "<b>&amp;", "y": "\u2029"})
		checkJSON(t, a, map[int]int{10: 1, 9: -2, -1: 3, 100: 0})
		checkJSON(t, a, map[level]point{1: {}, -1: {}})
		checkJSON(t, a, map[netip.Addr]string{netip.MustParseAddr("10.0.0.1"): "a", netip.MustParseAddr("::1"): "b"})
		checkJSON(t, a, map[float64]int{1.5: 1})
		checkJSON(t, a, map[[2]string]int{{"a", "b"}: 1})
		a.Free()
	}
	off := NewOffHeap(Options{})
	defer off.Free()
	checkJSON(t, off, map[int64]int64{3: 4, 1: 2})
	var none *Map[string, int]
	if b, err := json.Marshal(map[string]any{"m": none}); string(b) != `{"m":null}` || err != nil {
		t.Errorf("a nil *Map: %s, %v", b, err)
	}
	m := NewMap[string, any](nil, 0)
	m.Set("f", func() {})
	if b, err := json.Marshal(m); err == nil {
		t.Errorf("a function: %s", b)
	}
	m.Clear()
	m.Set("nested", []any{1, nil, NewMap[string, int](nil, 0)})
	if b, err := m.MarshalJSON(); string(b) != `{"nested":[1,null,{}]}` || err != nil {
		t.Errorf("nested: %s, %v", b, err)
	}
}

// TestMapUnmarshalJSON: entries are added, or nothing changes and there is an error.
func TestMapUnmarshalJSON(t *testing.T) {
	a := NewArena()
	defer a.Free()
	type item struct{ A, B int }
	m := NewMap[string, item](a, 0)
	want := map[string]item{"old": {1, 1}, "both": {1, 1}}
	for k, v := range want {
		m.Set(k, v)
	}
	read := func(text string) error {
		also := maps.Clone(want)
		err := json.Unmarshal([]byte(text), m)
		if wantErr := json.Unmarshal([]byte(text), &also); (err == nil) != (wantErr == nil) {
			t.Errorf("%s: error %v, want %v", text, err, wantErr)
		} else if err == nil && also != nil {
			want = also
		}
		if err := sameMap(m, want); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		return err
	}
	if err := read(`{"both": {"B": 2}, "new": {"A": 3}}`); err != nil {
		t.Error(err)
	}
	for k := range m.Keys() {
		if !chunkless() && !a.Owns(k) {
			t.Errorf("the key %q is not in the arena", k)
		}
	}
	for _, wrong := range []string{`{"both": {"B": "x"}, "more": {}}`, `[]`, `{"more"`, `"text"`, `{"more": 5}`} {
		if read(wrong) == nil {
			t.Errorf("%s is read", wrong)
		}
	}
	if err := m.UnmarshalJSON([]byte("null")); err != nil {
		t.Error(err)
	}
	if err := sameMap(m, want); err != nil {
		t.Errorf("null: %v", err)
	}
	var holder struct{ M *Map[string, int] }
	if err := json.Unmarshal([]byte(`{"M": {"a": 1}}`), &holder); err == nil || !strings.Contains(err.Error(), "NewMap") {
		t.Errorf("a Map without an arena: %v", err)
	}
	holder.M = NewMap[string, int](a, 0)
	if err := json.Unmarshal([]byte(`{"M": {"a": 1}}`), &holder); err != nil {
		t.Error(err)
	}
	if err := sameMap(holder.M, map[string]int{"a": 1}); err != nil {
		t.Error(err)
	}
	limited := NewWith(Options{Limit: 16 << 10})
	defer limited.Free()
	text := `{"` + strings.Repeat("x", 100<<10) + `": 1}`
	if err := json.Unmarshal([]byte(text), NewMap[string, int](limited, 0)); !errors.Is(err, offheap.ErrLimit) {
		t.Errorf("a key beyond the limit: %v", err)
	}
}

// TestMapJSONStale: a Map whose arena was freed panics in both directions.
func TestMapJSONStale(t *testing.T) {
	for _, k := range kinds {
		a := k.make()
		m := NewMap[int, int](a, 0)
		m.Set(1, 1)
		c := copyOf(m)
		wantPanic(t, k.name, func() { _, _ = json.Marshal(c) }, "Map.MarshalJSON on a copy of a Map")
		a.Free()
		wantPanic(t, k.name, func() { _, _ = json.Marshal(m) }, "Map.MarshalJSON on arena", "was freed")
		wantPanic(t, k.name, func() { _ = json.Unmarshal([]byte(`{"1": 2}`), m) }, "Map.UnmarshalJSON on arena", "was freed")
	}
}

// A freesLater frees the values of an arena when it is written.
type freesLater struct{ free func() }

func (f freesLater) MarshalJSON() ([]byte, error) {
	if f.free != nil {
		f.free()
	}
	return []byte("0"), nil
}

// TestMapJSONFreedMeanwhile: if a value frees the keys that are to be written after it, MarshalJSON
// panics. They would be other strings.
func TestMapJSONFreedMeanwhile(t *testing.T) {
	if keptApart() || sampling() {
		t.Skip("a debug mode ends the process when freed keys are read")
	}
	for _, k := range kinds {
		if !k.pointers {
			continue
		}
		a := k.make()
		before := a.Checkpoint()
		for how, free := range map[string]func(){"reset": func() { a.Reset(Keep) }, "rewound": func() { a.Rewind(before) }} {
			m := NewMap[string, freesLater](a, 0)
			m.Set("a", freesLater{func() { free(); String(a, "xxx") }})
			m.Set("key", freesLater{})
			wantPanic(t, k.name, func() {
				b, err := json.Marshal(m)
				t.Errorf("%s: %s, %v", k.name, b, err)
			}, "Map.MarshalJSON on a Map", how)
			before = a.Checkpoint()
			// Go looks the keys of a map of more than eight entries up by their hashes, which are not those of the new bytes.
			m = NewMap[string, freesLater](a, 0)
			m.Set("a", freesLater{func() { free(); String(a, strings.Repeat("x", 1000)) }})
			for i := range 100 {
				m.Set(fmt.Sprint("key", i), freesLater{})
			}
			wantPanic(t, k.name+", many keys", func() {
				b, err := json.Marshal(m)
				t.Errorf("%s: %s, %v", k.name, b, err)
			}, "Map.MarshalJSON on a Map", how)
			before = a.Checkpoint()
		}
		a.Free()
	}
}
