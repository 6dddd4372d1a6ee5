// SPDX-License-Identifier: Apache-2.0

package memprof

import (
	"bytes"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
)

// Handler serves the profile as net/http/pprof serves Go's. The usual path is /debug/pprof/offheap:
//
//	http.Handle("GET /debug/pprof/offheap", memprof.Handler())
//
// Without the method http.Handle panics if net/http/pprof is imported, which has "GET /debug/pprof/".
//
// With ?debug=1 the answer is text. With ?merge=1 it is the profile of [WriteMerged]. With ?gc=1 a
// collection runs first, so that Go's part is current. The answer to a parameter that is not a
// number is status 400, as is that to merge with debug.
func Handler() http.Handler { return http.HandlerFunc(serve) }

func serve(w http.ResponseWriter, r *http.Request) {
	var numbers [3]int
	for i, name := range [...]string{"debug", "merge", "gc"} {
		v := r.FormValue(name)
		if v == "" {
			continue
		}
		n, err := strconv.Atoi(v)
		if err != nil {
			http.Error(w, fmt.Sprintf("memprof: %s=%q is no number", name, v), http.StatusBadRequest)
			return
		}
		numbers[i] = n
	}
	debug, merge, gc := numbers[0], numbers[1] != 0, numbers[2] != 0
	if merge && debug != 0 {
		http.Error(w, "memprof: there is no text of the merged profile; leave debug out", http.StatusBadRequest)
		return
	}
	if gc {
		runtime.GC()
	}
	var body bytes.Buffer // So that an error can still be reported.
	write := func() error { return WriteTo(&body, debug) }
	if merge {
		write = func() error { return WriteMerged(&body) }
	}
	if err := write(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if debug != 0 {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	} else {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Disposition", `attachment; filename="offheap"`)
	}
	_, _ = w.Write(body.Bytes()) // An error here means that the client has gone.
}
