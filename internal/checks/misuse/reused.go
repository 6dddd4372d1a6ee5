package main

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/freehold-go/freehold/arena"
)

// churning says that memory is to be made and freed between giving up and use.
var churning bool

// readStale runs all programs that use a value too late, on Go memory, and prints what each has
// read.
func readStale() {
	churning = true
	for _, family := range [][]Case{stale(), races()} {
		for _, c := range family {
			if strings.HasPrefix(c.Name, "race-") && c.Name != "race-free" && c.Name != "race-reset" {
				continue // Nothing is given up there.
			}
			for _, v := range []Variant{Pointers, Plain} {
				if c.Run[v] == nil {
					continue
				}
				before := sum
				if err := c.Start(v, false); err != nil {
					panic(err)
				}
				fmt.Println(c.Name, v, sum-before)
			}
		}
	}
}

// churn makes and frees arenas and memory of the Go heap, so that freed memory soon holds other
// data if it can.
func churn() {
	if !churning {
		return
	}
	foreign := strings.Repeat("#", 64)
	for range 2 {
		for _, o := range []arena.Options{{}, {NoReuse: true}} {
			a := arena.NewWith(o)
			for range 30 {
				n, p := arena.New[node](a), arena.New[point](a)
				n.value, n.name, n.next = -1000, arena.String(a, foreign), arena.New[node](a)
				n.next.value = -2000
				*p = point{-3000, -3000, -3000}
				arena.Bytes(a, foreign)
			}
			large := arena.MakeSlice[byte](a, 1<<20, 1<<20)
			for i := range large {
				large[i] = '#'
			}
			a.Free()
		}
		runtime.GC()
	}
}
