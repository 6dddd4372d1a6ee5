// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	stdjson "encoding/json"
	"os"
	"reflect"
	"testing"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/arenajson"
	"github.com/freehold-go/freehold/cmd/bench"
)

// TestDamagedDocuments decodes beginnings of the corpus's documents, and documents with one byte changed, as encoding/json does. Large
// documents have some positions only, more of them with FREEHOLD_TEST_OUTSIDE.
func TestDamagedDocuments(t *testing.T) {
	if testing.Short() {
		t.Skip("large documents")
	}
	positions := 12
	if os.Getenv("FREEHOLD_TEST_OUTSIDE") != "" {
		positions = 50_000
	}
	inputs, err := documents(&bench.Options{Flags: map[string]string{}})
	if err != nil {
		t.Fatal(err)
	}
	a := arena.NewArena()
	defer a.Free()
	for _, in := range inputs {
		whole, err := readDocument(in)
		if err != nil {
			t.Fatal(err)
		}
		bytes := 100_000 * positions // That are decoded of the document in all, at most.
		step := max(1, len(whole)/positions, len(whole)*len(whole)/bytes)
		for at := 0; at < len(whole); at += step {
			sameDamaged(t, a, in.Name, whole[:at], at)
			changed := append([]byte(nil), whole...)
			changed[at] = "\"\\{}[]:,0e-. \x00\xff\n"[at%16]
			sameDamaged(t, a, in.Name, changed, at)
		}
	}
}

// sameDamaged wants of arenajson what encoding/json makes of a document that is damaged at an index.
func sameDamaged(t *testing.T, a *arena.Arena, name string, doc []byte, at int) {
	t.Helper()
	a.Reset(arena.Keep)
	valid := stdjson.Valid(doc)
	tree, err := arenajson.Parse(a, doc)
	if (err == nil) != valid {
		t.Errorf("%s, %d bytes, damaged at %d: %v, and encoding/json says that it is valid: %t", name, len(doc), at, err, valid)
	}
	if !valid || err != nil {
		return
	}
	var got, want any
	if err, wantErr := arenajson.UnmarshalInto(a, doc, &got), stdjson.Unmarshal(doc, &want); (err == nil) != (wantErr == nil) {
		t.Errorf("%s, damaged at %d: %v, want %v", name, at, err, wantErr)
	} else if err == nil && (!reflect.DeepEqual(got, want) || !reflect.DeepEqual(tree.Any(), want)) {
		t.Errorf("%s, damaged at %d: the values differ", name, at)
	}
}
