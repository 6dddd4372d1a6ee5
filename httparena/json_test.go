// SPDX-License-Identifier: Apache-2.0

package httparena_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/arenajson"
	"github.com/freehold-go/freehold/httparena"
	"github.com/freehold-go/freehold/offheap"
)

type point struct {
	Name string
	X, Y float64
}

func ExampleDecodeJSON() {
	handler := httparena.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
		points, err := httparena.DecodeJSON[[]point](r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for _, p := range *points {
			fmt.Fprintln(w, p.Name, p.X+p.Y)
		}
	}), httparena.Options{Limit: 16 << 20})

	for _, body := range []string{`[{"name":"a","x":1,"y":2},{"name":"b","x":0.5}]`, `[{"name":`} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("POST", "/", strings.NewReader(body)))
		fmt.Print(w.Body)
	}
	// Output:
	// a 3
	// b 0.5
	// unexpected end of JSON input
}

// decode is what DecodeJSON makes of a body in a handler with options.
func decode(t *testing.T, body string, most int64, o httparena.Options, jo ...arenajson.Options) (got point, err error) {
	t.Helper()
	h := httparena.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if most > 0 {
			r.Body = http.MaxBytesReader(w, r.Body, most)
		}
		var p *point
		if p, err = httparena.DecodeJSON[point](r, jo...); p != nil {
			got = *p
			got.Name = strings.Clone(p.Name)
		}
	}), o)
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/", strings.NewReader(body)))
	return got, err
}

func TestDecodeJSON(t *testing.T) {
	for range 3 { // The buffer of a request serves the next one.
		if p, err := decode(t, ` {"Name":"a\n","x":1.5} `, 0, httparena.Options{}); err != nil || p != (point{"a\n", 1.5, 0}) {
			t.Errorf("%+v, %v", p, err)
		}
		var tooLarge *http.MaxBytesError
		if _, err := decode(t, `{"Name":"abcdef"}`, 5, httparena.Options{}); !errors.As(err, &tooLarge) || tooLarge.Limit != 5 {
			t.Errorf("a body that is too large: %v", err)
		}
		if _, err := decode(t, `{"Name":"`+strings.Repeat("x", 1<<16)+`"}`, 0, httparena.Options{Limit: 1 << 10}); !errors.Is(err, offheap.ErrLimit) {
			t.Errorf("beyond the arena's limit: %v", err)
		}
		var syntax *json.SyntaxError
		if _, err := decode(t, `{"Name":1}x`, 0, httparena.Options{}); !errors.As(err, &syntax) || syntax.Offset != 11 {
			t.Errorf("two documents: %v", err)
		}
		var wrong *json.UnmarshalTypeError
		if p, err := decode(t, `{"Name":1,"X":2}`, 0, httparena.Options{}); !errors.As(err, &wrong) || p.X != 2 {
			t.Errorf("a wrong type: %+v, %v", p, err)
		}
		if _, err := decode(t, `{"Nome":1}`, 0, httparena.Options{}, arenajson.Options{AliasInput: true, DisallowUnknownFields: true}); err == nil {
			t.Error("an unknown field is no error")
		}
	}
}

// TestDecodeJSONNoArena is a request that no middleware has seen.
func TestDecodeJSONNoArena(t *testing.T) {
	p, err := httparena.DecodeJSON[point](httptest.NewRequest("POST", "/", strings.NewReader(`{"Y":2}`)), arenajson.Options{AliasInput: true})
	if err != nil || p.Y != 2 || arena.FromContext(t.Context()) != nil {
		t.Errorf("%+v, %v", p, err)
	}
}
