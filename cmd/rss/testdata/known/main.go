// SPDX-License-Identifier: Apache-2.0

// Command known is a program whose memory is known by construction: its first argument is what it makes, the second is "pprof" to serve
// net/http/pprof at a free port of the loopback interface. It prints one JSON object, and ends when its input does.
package main

import (
	"bufio"
	"encoding/json"
	_ "expvar"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/freehold-go/freehold/expvarstats"
	"github.com/freehold-go/freehold/gctune"
	"github.com/freehold-go/freehold/offheap"
)

// Made is what the program prints.
type Made struct {
	URL string `json:"url,omitempty"`
	// Lines are the sizes that the account must have, by the keys of lines; "file-cache" is the control group's.
	Lines map[string]int64 `json:"lines,omitempty"`
	// Skip is why the program cannot do that here.
	Skip string `json:"skip,omitempty"`
}

const mib = 1 << 20

// modes make something and return the sizes of lines.
var modes = map[string]func() (map[string]int64, error){
	"c-leak": leakInC, "files": mapFiles, "huge-pages": hugePages, "deep-stacks": deepStacks, "goroutines": manyGoroutines, "peak": freedPeak,
	"ballast": ballast, "limit": underLimit, "cache": fileCache, "offheap": offHeap, "database": database, "map": growingMap,
}

func main() {
	input := bufio.NewReader(os.Stdin)
	made := Made{}
	lines, err := modes[os.Args[1]]()
	if err != nil {
		made.Skip = err.Error()
	}
	made.Lines = lines
	if len(os.Args) > 2 && os.Args[2] == "pprof" {
		expvarstats.Publish("freehold")
		if os.Args[1] != "limit" { // it shows what the account is without
			http.Handle(gctune.HandlerPath, gctune.Handler())
		}
		// It stands for memprof.Handler, whose module this one does not require.
		http.Handle("GET /debug/pprof/offheap", pprof.Handler("allocs"))
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		made.URL = "http://" + ln.Addr().String()
		go func() { panic(http.Serve(ln, nil)) }()
	}
	if err := json.NewEncoder(os.Stdout).Encode(made); err != nil {
		panic(err)
	}
	for {
		if _, err := input.ReadString('\n'); err != nil {
			break
		}
		grow(64)
		fmt.Println("grown")
	}
	cleanUp()
	runtime.KeepAlive(kept)
}

// What the modes keep.
var (
	kept    [][]byte
	byKey   = map[int][]byte{}
	cleanUp = func() {}
)

// blocks allocates and touches n MiB in blocks of a size.
func blocks(n, size int) (list [][]byte) {
	for range n * mib / size {
		b := make([]byte, size)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		list = append(list, b)
	}
	return list
}

func hugePages() (map[string]int64, error) {
	const all, each = 256, 64 << 10
	list := blocks(all, each)
	for i, b := range list {
		if i%32 == 0 { // one of them holds its huge page
			kept = append(kept, b)
		}
	}
	debug.FreeOSMemory()
	if err := collapse(kept); err != nil {
		return nil, err
	}
	return map[string]int64{"returned-resident-again": all*mib - int64(len(kept)*each), "live-heap": int64(len(kept) * each), "go-heap": all * mib}, nil
}

//go:noinline
func deep(n int, ready chan<- bool, hold <-chan bool) byte {
	var frame [1000]byte
	frame[n%len(frame)] = byte(n)
	if n == 0 {
		ready <- true
		<-hold
		return frame[1]
	}
	return deep(n-1, ready, hold) + frame[n%len(frame)]
}

func deepStacks() (map[string]int64, error) {
	const goroutines, stack = 24, 8 * mib // the runtime doubles stacks
	ready, hold := make(chan bool), make(chan bool)
	for range goroutines {
		go deep(stack/1100-100, ready, hold)
	}
	for range goroutines {
		<-ready
	}
	runtime.GC() // of the smaller stacks before, those that a collection freed go at the next one
	debug.FreeOSMemory()
	sample := []metrics.Sample{{Name: "/gc/scan/stack:bytes"}}
	metrics.Read(sample)
	used := int64(sample[0].Value.Uint64()) // of the stacks: the collection read it
	return map[string]int64{"goroutine-stacks": goroutines * stack, "counted-never-touched": used - goroutines*stack, "go-heap": used}, nil
}

func park(hold <-chan bool) { <-hold }

func manyGoroutines() (map[string]int64, error) {
	const goroutines, stack = 100_000, 2 << 10
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection could change the size of later stacks
	hold := make(chan bool)
	for range goroutines {
		go park(hold)
	}
	for runtime.NumGoroutine() < goroutines {
		runtime.Gosched()
	}
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	live := int64(m.HeapAlloc) // what the runtime keeps for each goroutine
	return map[string]int64{"goroutine-stacks": goroutines * stack, "live-heap": live, "go-heap": goroutines*stack + live}, nil
}

func freedPeak() (map[string]int64, error) {
	const peak = 256
	list := blocks(peak, 64<<10)
	runtime.GC() // the goal is now twice the peak
	runtime.KeepAlive(list)
	// A goal that stays as large lets the runtime keep what it has: it returns what is more than 1.1 times what the goal needs.
	debug.SetGCPercent(2 * peak / 4 * 100)
	runtime.GC()
	return map[string]int64{"free-not-returned": peak * mib, "live-heap": 0, "go-heap": peak * mib}, nil
}

func ballast() (map[string]int64, error) {
	kept = append(kept, make([]byte, 512*mib))
	runtime.GC()
	return map[string]int64{"counted-never-touched": -512 * mib, "live-heap": 512 * mib, "go-heap": 0}, nil
}

func underLimit() (map[string]int64, error) {
	debug.SetMemoryLimit(224 * mib)
	kept = blocks(192, 16*mib)
	runtime.GC()
	return map[string]int64{"live-heap": 192 * mib, "go-heap": 192 * mib}, nil
}

func offHeap() (map[string]int64, error) {
	for i, size := range []int{128, 64} {
		p := offheap.NewPurpose([]string{"index", "network"}[i])
		for range size {
			b := p.Alloc(mib)
			for i := range b {
				b[i] = 1
			}
		}
	}
	return map[string]int64{"off-heap": 192 * mib}, nil
}

func growingMap() (map[string]int64, error) {
	grow(192)
	runtime.GC()
	return map[string]int64{"live-heap": 192 * mib, "go-heap": 192 * mib}, nil
}

// grow adds n MiB to the map.
func grow(n int) {
	for _, b := range blocks(n, 64<<10) {
		byKey[len(byKey)] = b
	}
}
