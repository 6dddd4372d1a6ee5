// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"testing"

	"github.com/freehold-go/freehold/arena"
)

// ways are the ways to decode a document, all of which must mean the same.
var ways = []struct {
	name string
	opts Options
	heap bool
}{
	{"arena", Options{}, false},
	{"alias", Options{AliasInput: true}, false},
	{"nil arena", Options{}, true},
	{"nil arena, alias", Options{AliasInput: true}, true},
}

// needs127 skips what compares with a part of encoding/json that Go 1.26 does in another way, and that standard does not stand for.
func needs127(t testing.TB) {
	if !standardIs127 {
		t.Skip("it compares with encoding/json of Go 1.27")
	}
}

// same checks that a document means the same to encoding/json and, by all ways, here. fill makes the variable that is
// decoded into.
func same(t testing.TB, doc []byte, fill func() any) {
	t.Helper()
	want := fill()
	wantErr := standard(doc, want)
	for _, w := range ways {
		var a *arena.Arena
		if !w.heap {
			a = arena.NewArena()
		}
		input := append([]byte(nil), doc...)
		got := fill()
		err := UnmarshalInto(a, input, got, w.opts)
		if d := errorsDiffer(err, wantErr); d != "" {
			t.Errorf("%s: %T from %q: %s", w.name, got, doc, d)
		}
		if !equal(got, want) {
			t.Errorf("%s: %T from %q:\n got %s\nwant %s", w.name, got, doc, dump(got), dump(want))
		}
		if string(input) != string(doc) {
			t.Errorf("%s: %T from %q: the input is %q now", w.name, got, doc, input)
		}
		a.Free()
	}
}

// addresses are what differs between maps whose keys are pointers.
var addresses = regexp.MustCompile("0x[0-9a-f]+")

// equal reports whether two variables have the same values.
func equal(got, want any) bool {
	return reflect.DeepEqual(got, want) || addresses.ReplaceAllString(dump(got), "") == addresses.ReplaceAllString(dump(want), "")
}

func dump(v any) string {
	if b, err := json.Marshal(v); err == nil {
		return fmt.Sprintf("%+v %s", v, b)
	}
	return fmt.Sprintf("%+v", v)
}

// errorsDiffer says how two errors differ.
func errorsDiffer(got, want error) string {
	if got == nil || want == nil {
		if got == want {
			return ""
		}
		return fmt.Sprintf("error %v, want %v", got, want)
	}
	if reflect.TypeOf(got) != reflect.TypeOf(want) || got.Error() != want.Error() {
		return fmt.Sprintf("error\n     %T %v\nwant %T %v", got, got, want, want)
	}
	if g, ok := got.(*json.UnmarshalTypeError); ok {
		if w := want.(*json.UnmarshalTypeError); g.Value != w.Value || g.Type != w.Type || g.Offset != w.Offset || g.Struct != w.Struct || g.Field != w.Field {
			return fmt.Sprintf("error %#v, want %#v", g, w)
		}
	}
	if g, ok := got.(*json.SyntaxError); ok && g.Offset != want.(*json.SyntaxError).Offset {
		return fmt.Sprintf("error at %d, want %d", g.Offset, want.(*json.SyntaxError).Offset)
	}
	return ""
}
