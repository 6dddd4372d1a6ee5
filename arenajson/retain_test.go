// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"slices"
	"testing"

	"github.com/freehold-go/freehold/arena"
)

// keeper keeps the address of each variable that it decodes, as a value of a registry does.
type keeper struct{ S []string }

type keeperKey string

var kept struct {
	values []*keeper
	keys   []*keeperKey
}

func (k *keeper) UnmarshalJSON(b []byte) error {
	k.S = []string{string(b)}
	kept.values = append(kept.values, k)
	return nil
}

func (k *keeperKey) UnmarshalText(b []byte) error {
	*k = keeperKey(b)
	kept.keys = append(kept.keys, k)
	return nil
}

// TestMethodsKeepAddresses has methods of keys and values of maps that keep the addresses of their variables. These
// are variables of one document: another goroutine may decode the next one, and to write to a variable that the program
// reads would be a data race of which the program knows nothing.
func TestMethodsKeepAddresses(t *testing.T) {
	defer func() { kept.values, kept.keys = nil, nil }()
	type maps struct {
		V map[string]keeper
		L map[string][1]keeper
		K map[keeperKey]int
	}
	a := arena.NewArena()
	defer a.Free()
	for _, a := range []*arena.Arena{nil, a} {
		kept.values, kept.keys = nil, nil
		for range 3 {
			before := kept
			if _, err := Unmarshal[maps](a, []byte(`{"V":{"a":1,"b":2},"L":{"c":[3]},"K":{"d":4,"e":5}}`)); err != nil {
				t.Fatal(err)
			}
			for _, v := range kept.values[len(before.values):] {
				if slices.Contains(before.values, v) {
					t.Error("a document's value is in the variable of another document's value")
				}
			}
			for i, k := range kept.keys {
				if want := []keeperKey{"d", "e"}[i%2]; *k != want {
					t.Errorf("key %d is %q after other documents, want %q", i, *k, want)
				}
			}
		}
	}
}
