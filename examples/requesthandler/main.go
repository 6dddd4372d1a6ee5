// SPDX-License-Identifier: Apache-2.0

// Command requesthandler is an HTTP service that adds up orders, with an arena for each request.
//
//	go run ./examples/requesthandler                  # calls the handler and shows the collector's work
//	go run ./examples/requesthandler -plain           # the same without arenas
//	go run ./examples/requesthandler -addr :8080      # serves
//	curl --data-binary $'ann,tea,250\nbob,cup,1000' localhost:8080/orders
package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/freehold-go/freehold/examples/internal/cost"
	"github.com/freehold-go/freehold/examples/requesthandler/orders"
	"github.com/freehold-go/freehold/httparena"
)

func main() {
	plain := flag.Bool("plain", false, "use the Go heap")
	requests := flag.Int("requests", 10_000, "number of requests")
	addr := flag.String("addr", "", "serve on `ADDRESS`")
	flag.Parse()
	var err error
	if *addr != "" {
		err = serve(*addr, service(*plain))
	} else {
		err = run(os.Stdout, service(*plain), *requests)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// service is the handler of the whole service.
func service(plain bool) http.Handler {
	mux := http.NewServeMux()
	if plain {
		mux.HandleFunc("POST /orders", orders.Plain)
	} else {
		// The handler keeps no value of a request, and passes none to code that could. So the next
		// request may have the memory at once. Without Reuse the collector would get it, and a kept
		// value would not change: the right choice for handlers whose callees are not all known.
		withArena := httparena.Middleware(httparena.Options{
			Reuse: true,
			Limit: 64 << 20, // Of one request. Beyond it reading the body fails, and allocating panics.
		})
		mux.Handle("POST /orders", withArena(http.HandlerFunc(orders.InArena)))
	}
	return http.MaxBytesHandler(mux, 16<<20)
}

func serve(addr string, h http.Handler) error {
	server := &http.Server{Addr: addr, Handler: h, ReadHeaderTimeout: 10 * time.Second}
	return server.ListenAndServe()
}

// run calls the handler without a network.
func run(out io.Writer, h http.Handler, requests int) error {
	client, err := orders.NewClient(h)
	if err != nil {
		return err
	}
	var bodies [][]byte
	for i := range 20 {
		bodies = append(bodies, orders.Body(i, 200))
	}
	var sum uint32
	spent := cost.Of(func() {
		for i := 0; i < requests && err == nil; i++ {
			var one uint32
			one, err = client.Post(bodies[i%len(bodies)])
			sum += one
		}
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d requests of 200 orders; checksum of the answers %x\n", requests, sum)
	fmt.Fprintf(out, "serve    %v\n", spent)
	return nil
}
