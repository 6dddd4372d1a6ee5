// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/arenajson"
	"github.com/freehold-go/freehold/gctune"
)

// roundTrips decode what the exported types of the library have encoded. They say what comes back, or the error.
var roundTrips = map[string]func() error{
	"arena.Map": func() error {
		a := arena.NewArena()
		defer a.Free()
		m, again := arena.NewMap[string, int](a, 0), arena.NewMap[string, int](a, 0)
		m.Set("x", 1)
		if err := roundTrip(m, again); err != nil {
			return err
		}
		if v, ok := again.Get("x"); !ok || v != 1 {
			return fmt.Errorf("x is %v", v)
		}
		if err := json.Unmarshal([]byte("{}"), new(arena.Map[string, int])); err == nil {
			return fmt.Errorf("a Map that no arena has made takes an object")
		}
		return nil
	},
	"arenajson.Value": func() error {
		for _, doc := range []string{`{"a":[1,null,"x"]}`, `[]`, `5`, `"x"`, `null`, `true`} {
			v, err := arenajson.Parse(nil, []byte(doc))
			if err != nil {
				return err
			}
			var again arenajson.Value
			if err := roundTrip(v, &again); err != nil {
				return err
			}
			if again.String() != doc {
				return fmt.Errorf("%s comes back as %s", doc, again)
			}
		}
		return nil
	},
	"gctune.Policy": func() error {
		for _, p := range []gctune.Policy{gctune.Balanced, gctune.Throughput, gctune.Small} {
			again := gctune.Policy(-1)
			if err := roundTrip(p, &again); err != nil || again != p {
				return fmt.Errorf("%v comes back as %v, %v", p, again, err)
			}
		}
		if err := roundTrip(gctune.Policy(9), new(gctune.Policy)); err == nil {
			return fmt.Errorf("a Policy without a name comes back")
		}
		return nil
	},
}

// roundTrip encodes a value, alone and in a struct, and decodes it into another variable.
func roundTrip[T any](v T, again any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	inField, err := json.Marshal(struct{ F T }{v})
	if err != nil {
		return err
	}
	if want := `{"F":` + string(text) + `}`; string(inField) != want {
		return fmt.Errorf("a field is %s, want %s", inField, want)
	}
	return json.NewDecoder(bytes.NewReader(text)).Decode(again)
}

// decodingMethods are the methods by which a type decodes what another one has encoded.
var decodingMethods = map[string]string{
	"MarshalJSON": "UnmarshalJSON", "MarshalJSONTo": "UnmarshalJSONFrom", "MarshalText": "UnmarshalText", "AppendText": "UnmarshalText",
	"MarshalBinary": "UnmarshalBinary", "AppendBinary": "UnmarshalBinary", "GobEncode": "GobDecode", "MarshalXML": "UnmarshalXML",
}

// TestMarshalersUnmarshal: each exported type of the library's module that encodes itself decodes itself, too, and has a test of both here:
// json.Unmarshal would make a zero value of it without an error.
func TestMarshalersUnmarshal(t *testing.T) {
	_, r := load(t)
	methods := map[string][]string{}
	r.goFiles(func(f *File) {
		room, _, _ := strings.Cut(f.Dir(), "/")
		if f.IsTest() || slices.Contains([]string{"internal", "adapters", "cmd", "sink", "benchmarks", "examples"}, room) {
			return
		}
		for _, d := range f.Syntax.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv != nil && exportedReceiver(d) {
				name := f.Syntax.Name.Name + "." + receiverName(d)
				methods[name] = append(methods[name], d.Name.Name)
			}
		}
	})
	encoding := map[string]bool{}
	for name, all := range methods {
		for encode, decode := range decodingMethods {
			if !slices.Contains(all, encode) {
				continue
			}
			if encoding[name] = true; !slices.Contains(all, decode) {
				t.Errorf("%s has %s and no %s: what it encodes does not come back", name, encode, decode)
			}
			if roundTrips[name] == nil {
				t.Errorf("%s has %s and no test in roundTrips", name, encode)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(roundTrips)) {
		if !encoding[name] {
			t.Errorf("%s encodes nothing; remove it from roundTrips", name)
		}
		if err := roundTrips[name](); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
