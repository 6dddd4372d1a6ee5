// SPDX-License-Identifier: Apache-2.0

// Command readthrough answers requests from a cache before Redis, and shows what the collector does
// to their latency.
//
//	go run ./examples/readthrough                           # a cache off the Go heap
//	go run ./examples/readthrough -plain                    # a map with a list, on the Go heap
//	go run ./examples/readthrough -redis localhost:6379     # a real Redis; the keys "page:…" are set
//
// Without -redis a server in this process stands for Redis.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/metrics"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/examples/internal/cost"
	"github.com/freehold-go/freehold/examples/readthrough/front"
	"github.com/freehold-go/freehold/gctune"
)

func main() {
	plain := flag.Bool("plain", false, "use the Go heap")
	redis := flag.String("redis", "", "use the Redis at `ADDRESS`")
	memory := flag.Int64("memory", 128<<20, "budget of the cache in bytes")
	var load front.Load
	flag.IntVar(&load.Keys, "keys", 500_000, "number of keys")
	flag.IntVar(&load.Requests, "requests", 1_000_000, "number of requests")
	flag.IntVar(&load.Goroutines, "goroutines", 16, "number of goroutines that send requests")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *plain, *redis, *memory, load); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, plain bool, address string, memory int64, load front.Load) error {
	if address == "" {
		server, err := front.NewEmbedded()
		if err != nil {
			return err
		}
		defer server.Close()
		address = server.Address()
	}
	redis := front.NewRedis(address)
	defer redis.Close()
	if err := fill(ctx, redis, load.Keys); err != nil {
		return err
	}
	var f front.Front = front.NewPlain(redis, memory)
	if !plain {
		c, err := front.NewCached(redis, memory)
		if err != nil {
			return err
		}
		f = c
		// The Go heap is small now, and GOGC is a share of it: without a tuner the collector would run
		// every few milliseconds.
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		if _, err := gctune.Start(ctx, gctune.Options{}); err != nil {
			return err
		}
	}
	defer f.Close()
	if _, _, err := load.Run(ctx, f); err != nil { // The cache is cold.
		return err
	}

	var sum uint64
	var latency front.Latency
	var err error
	loads := f.Loads()
	load.Seed++
	c := cost.Of(func() { sum, latency, err = load.Run(ctx, f) })
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d requests, sum %016x\n", load.Requests, sum)
	fmt.Fprintf(out, "hits     %.1f %%\n", 100*(1-float64(f.Loads()-loads)/float64(load.Requests)))
	fmt.Fprintf(out, "requests %v\n", c)
	total, _ := freehold.ReadTotals()
	fmt.Fprintf(out, "memory   %d MiB of Go, %d MiB off the heap\n", goMemory()>>20, (total.InUse+total.Retained)>>20)
	n := 0
	for i, bound := range front.Bounds {
		n += latency[i]
		fmt.Fprintf(out, "up to %-6v %9.4f %%\n", bound, 100*float64(n)/float64(load.Requests))
	}
	return nil
}

// fill gives a real Redis the values, and leaves the embedded one alone, which has them.
func fill(ctx context.Context, redis *front.Redis, keys int) error {
	_, err := redis.Get(ctx, nil, front.AppendKey(nil, uint64(keys-1)))
	if err == front.ErrNil {
		err = front.Fill(ctx, redis, keys)
	}
	return err
}

// goMemory is what the Go runtime holds of the machine's memory.
func goMemory() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}
