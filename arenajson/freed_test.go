// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"strings"
	"testing"

	"github.com/freehold-go/freehold/arena"
)

// TestFreedArena decodes and builds values that need no memory, in a freed arena. Each use of it panics,
// before it changes a variable.
func TestFreedArena(t *testing.T) {
	a := arena.NewArena()
	a.Free()
	n := 7
	for name, f := range map[string]func() error{
		"UnmarshalInto": func() error { return UnmarshalInto(a, []byte("1"), &n, Options{AliasInput: true}) },
		"V2":            func() error { return UnmarshalInto(a, []byte("1"), &n, Options{AliasInput: true, V2: true}) },
		"no input":      func() error { return UnmarshalInto(a, nil, &n) },
		"Unmarshal":     func() error { _, err := Unmarshal[struct{}](a, []byte("{}"), Options{AliasInput: true}); return err },
		"Parse":         func() error { _, err := Parse(a, []byte("1"), Options{AliasInput: true}); return err },
		"As":            func() error { _, err := As[struct{}](a, NullValue()); return err },
		"Decode":        func() error { return NewDecoder(a, strings.NewReader("")).Decode(&n) },
		"StringValue":   func() error { _, err := StringValue(a, ""); return err },
		"IntValue":      func() error { _, err := IntValue(a, 1); return err },
		"ArrayValue":    func() error { _, err := ArrayValue(a); return err },
		"NewObject":     func() error { _, err := NewObject(a, Value{}).Value(); return err },
		"Each": func() error {
			for _, err := range Each[int](a, strings.NewReader("")) {
				return err
			}
			return nil
		},
		"EachElement": func() error {
			for _, err := range EachElement[int](a, strings.NewReader("[]")) {
				return err
			}
			return nil
		},
	} {
		var err error
		if text := panicOf(func() { err = f() }); !strings.Contains(text, "freed") || n != 7 {
			t.Errorf("%s: panic %q, error %v; the variable is %d", name, text, err, n)
		}
	}
}
