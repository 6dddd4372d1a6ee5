// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"cmp"
	"os"
	"testing"
	"time"

	"github.com/freehold-go/freehold/cmd/bench"
)

// all are the workloads of these tests and of their children, which are this binary again.
var all = All()

func TestMain(m *testing.M) {
	fragSettle, burstSettle, burstBytes, bufferRound, rareBursts = time.Millisecond, time.Millisecond, 1<<20, 20, 2
	os.Setenv("GORACE", cmp.Or(os.Getenv("GORACE"), "atexit_sleep_ms=0")) // or each child with the race detector sleeps for a second before it ends
	all.RunChild()
	os.Exit(m.Run())
}

// workload finds a workload by its name.
func workload(t *testing.T, name string) *bench.Workload {
	t.Helper()
	for _, w := range all.Workloads() {
		if w.Name == name {
			return w
		}
	}
	t.Fatalf("there is no workload %s", name)
	return nil
}

// contestant returns the contestant of that name, or nil.
func contestant(w *bench.Workload, name string) *bench.Contestant {
	for i := range w.Contestants {
		if w.Contestants[i].Name == name {
			return &w.Contestants[i]
		}
	}
	return nil
}

// tiny are the sizes at which every workload runs in the tests, by task.
var tiny = map[string]int{
	"list": 100, "pair": 32, "churn": 50, "handoff": 4 * handoffBatch, "fragmentation": 4 << 20, "scan": 1000,
	"objects": 1000, "tree": 1000, "map": 1000, "frame": 1000, "pool": 4 * handoffBatch, "cache": 1000, "sort": 5000, "json": 0, "decode": 256,
}

// TestWorkloads runs every contestant of every workload, so that none rots, and compares their results.
func TestWorkloads(t *testing.T) {
	defer func(n int) { pairsPerRound = n }(pairsPerRound)
	pairsPerRound = 1 << 12 // with the race detector more take minutes
	for _, w := range all.Workloads() {
		t.Run(w.Name, func(t *testing.T) {
			var first *bench.Sample // of a contestant that does the task
			for _, c := range w.Contestants {
				s, err := all.Run(bench.Spec{Workload: w.Name, N: tiny[w.Family()], Contestant: c.Name, Quick: true})
				if err != nil {
					t.Errorf("%s: %v", c.Name, err)
					continue
				}
				if len(s.Checksums) == 0 || s.Ops <= 0 {
					t.Errorf("%s measured nothing: %+v", c.Name, s)
				}
				if c.Baseline {
					continue
				}
				if first == nil {
					first = &s
				}
				for round := range min(len(s.Checksums), len(first.Checksums)) {
					if s.Checksums[round] != first.Checksums[round] {
						t.Errorf("%s: the checksum of round %d is %x, not %x", c.Name, round, s.Checksums[round], first.Checksums[round])
					}
				}
			}
		})
	}
}

// mostAllocs is how many Go heap objects an operation may leave: chunks are made now and then, and a frame is a whole round.
var mostAllocs = map[string]float64{"list": 0.01, "pair": 0.01, "handoff": 0.01, "objects": 0.01, "tree": 0.01, "frame": 20}

// TestFastPathsDoNotAllocate holds the workloads to what the harness measured: freehold's ways leave the Go heap alone.
func TestFastPathsDoNotAllocate(t *testing.T) {
	if testing.Short() {
		t.Skip("needs children that run for a while")
	}
	if !onFastPaths() {
		t.Skip("the fast paths do not serve here")
	}
	for name, n := range map[string]int{
		"list": 100_000, "pair": 32, "handoff": 200 * handoffBatch, "objects": 100_000, "tree": 100_000, "frame": 10_000,
	} {
		for _, c := range workload(t, name).Contestants {
			if !c.Own {
				continue
			}
			s, err := bench.StartChild(t.Context(), bench.Spec{Workload: name, N: n, Contestant: c.Name, MinTime: time.Millisecond, Quick: true}, nil)
			if err != nil {
				t.Errorf("%s, %s: %v", name, c.Name, err)
			} else if s.AllocsOp > mostAllocs[name] {
				t.Errorf("%s, %s: %g Go heap objects an operation", name, c.Name, s.AllocsOp)
			}
		}
	}
}
