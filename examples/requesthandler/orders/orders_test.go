// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/httparena"
)

// handlers are the handler in plain Go, with an arena of each kind, and without the middleware.
func handlers() map[string]http.Handler {
	inArena := http.HandlerFunc(InArena)
	return map[string]http.Handler{
		"plain":         http.HandlerFunc(Plain),
		"arena":         httparena.Middleware(httparena.Options{})(inArena),
		"arena, reused": httparena.Middleware(httparena.Options{Reuse: true})(inArena),
		"no middleware": inArena,
	}
}

func post(h http.Handler, body string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest("POST", "/orders", strings.NewReader(body)))
	return answer
}

// TestSame sends requests to all handlers. Their answers are the same.
func TestSame(t *testing.T) {
	for _, c := range []struct {
		body   string
		status int
		answer string
	}{
		{"", 200, ""},
		{"ann,tea,250\nbob,cup,1005\nann,cup,1000", 200, "ann\t2\t12.50\nbob\t1\t10.05\n"},
		{"b,x,1\na,x,1\n", 200, "a\t1\t0.01\nb\t1\t0.01\n"},
		{"ann,tea", 400, "want customer,item,cents: \"ann,tea\"\n"},
		{",tea,1", 400, "want customer,item,cents: \",tea,1\"\n"},
		{"ann,tea,-1", 400, "the price of \"ann,tea,-1\": strconv.ParseUint: parsing \"-1\": invalid syntax\n"},
	} {
		for name, h := range handlers() {
			if got := post(h, c.body); got.Code != c.status || got.Body.String() != c.answer {
				t.Errorf("%s, %q: %d %q, want %d %q", name, c.body, got.Code, got.Body, c.status, c.answer)
			}
		}
	}
	for number := range 3 {
		body := string(Body(number, 500))
		want := post(http.HandlerFunc(Plain), body).Body.String()
		if strings.Count(want, "\n") < 100 {
			t.Errorf("the answer is %q", want)
		}
		for name, h := range handlers() {
			if got := post(h, body).Body.String(); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
}

// TestTooLarge sends a body beyond the bound of the server, and one beyond the limit of the arena.
func TestTooLarge(t *testing.T) {
	body := string(Body(0, 5000))
	limited := httparena.Middleware(httparena.Options{Limit: 64 << 10})(http.HandlerFunc(InArena))
	for name, h := range map[string]http.Handler{
		"plain": http.MaxBytesHandler(http.HandlerFunc(Plain), 1000),
		"arena": http.MaxBytesHandler(handlers()["arena"], 1000),
		"limit": limited,
	} {
		if got := post(h, body); got.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d %.100q", name, got.Code, got.Body)
		}
	}
}

// TestClient compares the checksums of the client's answers.
func TestClient(t *testing.T) {
	var sums []uint32
	for name, h := range handlers() {
		c, err := NewClient(h)
		if err != nil {
			t.Fatal(err)
		}
		for number := range 3 {
			sum, err := c.Post(Body(number, 50))
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			sums = append(sums, sum)
		}
		if _, err := c.Post([]byte("no order")); err == nil {
			t.Errorf("%s: a wrong body is no error", name)
		}
	}
	for i, sum := range sums {
		if sum != sums[i%3] || sum == 0 {
			t.Errorf("checksums %x", sums)
		}
	}
}
