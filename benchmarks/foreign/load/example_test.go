package load_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

// A driver for a library: its operation compresses a page. An operation that fails panics.
func ExampleMain() {
	load.Main(load.Sample{
		Ops: 20_000,
		Before: func() load.Op {
			return func(i int) {
				z := gzip.NewWriter(io.Discard)
				fmt.Fprintf(z, "<p>page %d</p>", i)
				if err := z.Close(); err != nil {
					panic(err)
				}
			}
		},
		After: func() load.Op { // one writer, reset
			z := gzip.NewWriter(io.Discard)
			return func(i int) {
				z.Reset(io.Discard)
				fmt.Fprintf(z, "<p>page %d</p>", i)
				if err := z.Close(); err != nil {
					panic(err)
				}
			}
		},
	})
}

// A driver for a server. Start runs in the server's process, Dial in the client's.
func ExampleServe() {
	load.Serve(load.Service{
		Ops:         50_000,
		Connections: 16,
		Start: func(after bool) (load.Server, error) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return load.Server{}, err
			}
			go http.Serve(l, http.FileServer(http.Dir("testdata")))
			return load.Server{Address: "http://" + l.Addr().String()}, nil
		},
		Dial: func(address string, connection int) (load.Request, error) {
			client := &http.Client{Transport: &http.Transport{}} // a connection of its own
			return func(i int) error {
				answer, err := client.Get(fmt.Sprintf("%s/?page=%d", address, i))
				if err != nil {
					return err
				}
				defer answer.Body.Close()
				if answer.StatusCode != http.StatusOK {
					return fmt.Errorf("request %d: %s", i, answer.Status)
				}
				_, err = io.Copy(io.Discard, answer.Body)
				return err
			}, nil
		},
	})
}
