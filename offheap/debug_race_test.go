// SPDX-License-Identifier: Apache-2.0

//go:build race && linux

package offheap

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// racing is what the children of TestRace do: each name is a program, and says whether there is a
// race in it.
var racing = map[string]struct {
	race bool
	run  func()
}{
	"writes": {true, func() {
		b := Alloc(64)
		both(func() { b[3] = 1 }, func() { b[3] = 2 })
		Free(b)
	}},
	"typed": {true, func() {
		p := New[flags]()
		both(func() { p.N = 1 }, func() { p.N = 2 })
		Delete(p)
	}},
	"free while used": {true, func() {
		b := Alloc(64)
		both(func() { b[3] = 1 }, func() { freesHere(b) })
	}},
	"atomics": {false, func() {
		// What the atomic orders is no race, although both touch it.
		type shared struct {
			done atomic.Int64
			n    int64
		}
		s, other := New[shared](), new(int)
		both(func() { s.n, *other = 1, 1; s.done.Store(1) }, func() {
			for s.done.Load() == 0 {
			}
			s.n++
			*other++
		})
		Delete(s)
	}},
	"handed over": {false, func() {
		c := make(chan []byte)
		both(func() { b := Alloc(64); b[1] = 1; c <- b }, func() { b := <-c; b[1]++; Free(b) })
		for range 100 {
			Free(Alloc(64)) // The address may come back.
		}
	}},
	"used again": {false, func() {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 1000 {
					b := Alloc(48)
					b[0]++
					Free(b)
				}
			})
		}
		wg.Wait()
	}},
}

func both(f, g func()) {
	var wg sync.WaitGroup
	wg.Go(f)
	wg.Go(g)
	wg.Wait()
}

// TestRace: the race detector sees blocks, and atomics in them.
func TestRace(t *testing.T) {
	const variable = "FREEHOLD_TEST_RACE"
	if name := os.Getenv(variable); name != "" {
		racing[name].run()
		return
	}
	for name, c := range racing {
		t.Run(name, func(t *testing.T) {
			child := exec.Command(os.Args[0], "-test.run=^TestRace$")
			child.Env = append(os.Environ(), variable+"="+name, "FREEHOLD_TEST_SLABS=")
			out, err := child.CombinedOutput()
			if found := strings.Contains(string(out), "WARNING: DATA RACE"); found != c.race || err != nil != c.race {
				t.Errorf("a race is reported: %v, want %v (%v)\n%s", found, c.race, err, out)
			}
			if name == "free while used" && !strings.Contains(string(out), "freesHere") {
				t.Errorf("the report does not name the free:\n%s", out)
			}
		})
	}
}
