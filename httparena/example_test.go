// SPDX-License-Identifier: Apache-2.0

package httparena_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/httparena"
)

type hit struct {
	Title string
	Next  *hit
}

func search(w http.ResponseWriter, r *http.Request) {
	a := arena.FromContext(r.Context()) // Ends when search returns.
	var hits *hit
	for word := range strings.FieldsSeq(r.FormValue("q")) {
		h := arena.New[hit](a)
		h.Title, h.Next = arena.Concat(a, "about ", word), hits
		hits = h
	}
	for h := hits; h != nil; h = h.Next {
		fmt.Fprintln(w, h.Title)
	}
}

func Example() {
	handler := httparena.Handler(http.HandlerFunc(search), httparena.Options{
		Limit: 64 << 20, // The bound of one request's arena.
	})
	// The timeout is outside: its handler runs on when time is up, and keeps its arena until it
	// returns.
	server := httptest.NewServer(http.TimeoutHandler(handler, time.Minute, "late"))
	defer server.Close()

	answer, err := http.Get(server.URL + "/?q=arenas+pools")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	fmt.Print(string(text))
	// Output:
	// about pools
	// about arenas
}

// Routers such as chi take middleware as a function: router.Use(httparena.Middleware(options)).
func ExampleMiddleware() {
	withArena := httparena.Middleware(httparena.Options{Limit: 64 << 20})
	mux := http.NewServeMux()
	mux.Handle("GET /search", withArena(http.HandlerFunc(search)))

	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest("GET", "/search?q=chunks", nil))
	fmt.Print(answer.Body)
	// Output: about chunks
}

// A goroutine that the handler leaves behind may go on with the arena if the handler keeps it.
func ExampleKeep() {
	done := make(chan bool)
	handler := httparena.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := arena.FromContext(r.Context())
		line := arena.Concat(a, r.Method, " ", r.URL.Path)
		httparena.Keep(r.Context())
		go func() {
			fmt.Println(line)
			close(done)
		}()
	}), httparena.Options{})
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/late", nil))
	<-done
	// Output: GET /late
}
