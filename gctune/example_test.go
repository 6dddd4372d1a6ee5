// SPDX-License-Identifier: Apache-2.0

package gctune_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net/http"

	"github.com/freehold-go/freehold/gctune"
)

// A service starts a tuner first and keeps it until it ends.
func ExampleStart() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tuner, err := gctune.Start(ctx, gctune.Options{
		Policy: gctune.Throughput,
		Logger: slog.Default(),
		OnThrash: func(s gctune.Stats) {
			log.Printf("memory is short: %v", s.Decision) // shed load, or end with a clear word
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tuner.Stats().Decision)
}

// A dry run says in a paragraph what a tuner would set here, and why.
func ExampleDecide() {
	decision, err := gctune.Decide(gctune.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(decision)
}

// Tools look for the metrics beside net/http/pprof.
func ExampleHandler() {
	http.Handle(gctune.HandlerPath, gctune.Handler())
	go func() { log.Println(http.ListenAndServe("localhost:6060", nil)) }()
}
