// SPDX-License-Identifier: Apache-2.0

package memprof_test

import (
	"log"
	"net/http"
	"os"

	"github.com/freehold-go/freehold/adapters/memprof"
)

// A service offers the profile beside Go's own. `go tool pprof -http=:
// 'http://localhost:6060/debug/pprof/offheap?merge=1'` shows all memory in one flame graph.
func ExampleHandler() {
	http.Handle("GET /debug/pprof/offheap", memprof.Handler())
	go func() { log.Println(http.ListenAndServe("localhost:6060", nil)) }()
}

func ExampleWriteTo() {
	f, err := os.Create("offheap.pb.gz")
	if err != nil {
		log.Fatal(err)
	}
	if err := memprof.WriteTo(f, 0); err != nil {
		log.Fatal(err)
	}
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}
}
