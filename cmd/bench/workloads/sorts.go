// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/usage"
	"github.com/freehold-go/freehold/offheap"
	"github.com/freehold-go/freehold/sortbuf"
)

// Sorts of many records of different lengths. Each is measured once in a process of its own, from the
// first record on: memory is taken from the machine as in a program that sorts once.

const (
	sortedSlices = "[][]byte, slices.SortFunc"
	ownSorter    = "sortbuf.Sorter"
	ownRun       = "sortbuf.Run"
)

// A SortWay is a way to sort keys.
type SortWay struct {
	Add  func(key []byte) error
	Sort func() error // Sorts what was added.
	All  func(f func(key []byte)) error
	Free func()
}

// sliceWay is [][]byte and slices.SortFunc.
func sliceWay(*bench.Run) (SortWay, error) {
	var all [][]byte
	return SortWay{
		Add:  func(key []byte) error { all = append(all, bytes.Clone(key)); return nil },
		Sort: func() error { slices.SortFunc(all, bytes.Compare); return nil },
		All: func(f func(key []byte)) error {
			for _, key := range all {
				f(key)
			}
			return nil
		},
		Free: func() { all = nil },
	}, nil
}

// sorterWay is a Sorter.
func sorterWay(o sortbuf.Options) func(*bench.Run) (SortWay, error) {
	return func(r *bench.Run) (SortWay, error) {
		s, err := sortbuf.New(o)
		if err != nil {
			return SortWay{}, err
		}
		ctx := context.Background()
		return SortWay{
			Add: func(key []byte) error { return s.Add(key, nil) },
			Sort: func() (err error) { // The first step sorts. What is sorted stays so.
				for _, err = range s.Sorted(ctx) {
					break
				}
				return err
			},
			All: func(f func(key []byte)) error {
				for record, err := range s.Sorted(ctx) {
					if err != nil {
						return err
					}
					f(record.Key)
				}
				return nil
			},
			Free: func() { s.Close() },
		}, nil
	}
}

// keySource returns keys of a kind, one after the other. Each is valid until the next call.
func keySource(kind string, n int) func() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var buf [512]byte
	shared := bytes.Repeat([]byte("abcdefgh/"), 23)[:200]
	i := 0
	switch kind {
	case "random":
		return func() []byte {
			n := 8 + int(r.Uint64()%57)
			for i := 0; i < n; i += 8 {
				binary.LittleEndian.PutUint64(buf[i:], r.Uint64())
			}
			return buf[:n]
		}
	case "prefix":
		copy(buf[:], shared)
		return func() []byte {
			binary.LittleEndian.PutUint64(buf[200:], r.Uint64())
			return buf[:208]
		}
	case "equal":
		return func() []byte { return shared[:32] }
	case "two":
		return func() []byte {
			buf[31] = byte(r.Uint64() & 1)
			return buf[:32]
		}
	case "sorted":
		return func() []byte { i++; return fmt.Appendf(buf[:0], "key%020d", i) }
	case "reversed":
		return func() []byte { i++; return fmt.Appendf(buf[:0], "key%020d", n-i) }
	case "urls":
		return func() []byte {
			return fmt.Appendf(buf[:0], "https://www.example%d.com/path/%d/item?id=%d", r.IntN(500), r.IntN(1000), r.IntN(1<<30))
		}
	}
	panic("no kind of keys: " + kind)
}

// SortKeys is the Prepare of a contestant that sorts keys of a kind. all says whether it iterates over
// them afterwards. It reports the CPU and the elapsed time of the sort alone, and the bytes of the
// keys.
func SortKeys(kind string, all bool, newWay func(*bench.Run) (SortWay, error)) func(r *bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		return func() (sum uint64) {
			before := usage.RSS()
			way, err := newWay(r)
			if err != nil {
				r.Fail(err)
				return 0
			}
			defer way.Free()
			next := keySource(kind, r.N)
			r.Report("rss_before_bytes", before)
			payload := 0
			for range r.N {
				key := next()
				payload += len(key)
				if err := way.Add(key); err != nil {
					r.Fail(err)
					return 0
				}
			}
			cpu, wall := usage.CPU(), time.Now()
			if err := way.Sort(); err != nil {
				r.Fail(err)
				return 0
			}
			r.Report("sort_cpu_ns", float64(usage.CPU()-cpu))
			r.Report("sort_wall_ns", float64(time.Since(wall)))
			r.Report("payload_bytes", float64(payload))
			if !all {
				return 1
			}
			if err := way.All(func(key []byte) { sum = orderSum(sum, key) }); err != nil {
				r.Fail(err)
			}
			return sum
		}
	}
}

// orderSum adds a key to a checksum that depends on the order.
func orderSum(sum uint64, key []byte) uint64 {
	h := uint64(len(key))
	if len(key) >= 8 {
		h ^= binary.LittleEndian.Uint64(key[len(key)-8:])
	}
	return bits.RotateLeft64(sum, 5) ^ h*0x9E3779B97F4A7C15
}

// measureSort measures one round, the first one.
func measureSort(r *bench.Run, c *bench.Contestant) error {
	round := c.Prepare(r)
	m, err := r.Start()
	if err != nil {
		return err
	}
	sum := round()
	m.Stop(1, float64(max(r.N, 1)))
	r.Checksum(sum)
	r.LastLiveHeap()
	return r.Err()
}

// peakBy is the Value of a bar on a contestant's peak of resident memory by a number of bytes.
func peakBy(workload, contestant string, bytes float64) bench.Value {
	return func(rows bench.Rows) (float64, string, bool) {
		r := rows.Find(workload, 0, contestant)
		if r == nil {
			return 0, "", false
		}
		return r.PeakRSS / bytes, fmt.Sprintf("%s: %.0f MiB resident of %.0f", contestant, r.PeakRSS/(1<<20), bytes/(1<<20)), true
	}
}

// peakByKeys is the Value of a bar on the resident memory that a sort takes by the bytes of its keys.
func peakByKeys(workload, contestant string) bench.Value {
	return func(rows bench.Rows) (float64, string, bool) {
		r := rows.Find(workload, 0, contestant)
		if r == nil || r.Extra["payload_bytes"] == 0 {
			return 0, "", false
		}
		peak, keys := r.PeakRSS-r.Extra["rss_before_bytes"], r.Extra["payload_bytes"]
		return peak / keys, fmt.Sprintf("%s: %.0f MiB more than before, for %.0f MiB of keys", contestant, peak/(1<<20), keys/(1<<20)), true
	}
}

const sortRecords = 10_000_000

func sortWorkloads() []bench.Workload {
	sorts := func(name, doc string, n int, contestants []bench.Contestant, bars ...bench.Bar) bench.Workload {
		return bench.Workload{
			Name: name, Doc: doc, Op: "record", Size: "records", Heap: sortedSlices, Full: []int{n}, Ops: func(n int) int { return n }, MaxPasses: 3,
			Measure: measureSort, Contestants: contestants, Bars: bars,
		}
	}
	memory := sortbuf.Options{Memory: 1 << 30, Parallel: 1}
	compare := memory
	compare.Compare = bytes.Compare
	two := memory
	two.Parallel = 2
	const oneP, twoPs = "one goroutine", "two goroutines"
	list := []bench.Workload{
		sorts("sort/memory", "Add keys of 8 to 64 random bytes, sort them, and iterate over them, in memory.", sortRecords, append([]bench.Contestant{
			{Name: sortedSlices, Prepare: SortKeys("random", true, sliceWay)},
		}, own(bench.Contestant{Name: ownSorter, Prepare: SortKeys("random", true, sorterWay(memory))})...),
			bench.AtMost("sort/memory, peak of resident memory by the keys' bytes", 1.6, peakByKeys("sort/memory", ownSorter))),
		sorts("sort/compare", "The same with a comparator.", sortRecords, append([]bench.Contestant{
			{Name: sortedSlices, Prepare: SortKeys("random", true, sliceWay)},
		}, own(bench.Contestant{Name: ownSorter, Prepare: SortKeys("random", true, sorterWay(compare))})...),
			bench.AtMost("sort/compare, by slices.SortFunc", 0.65, bench.TimeRatio("sort/compare", 0, ownSorter, sortedSlices))),
		sorts("sort/parallel", "The same in byte order, sorted by one goroutine and by two; the bar is on the elapsed time of the sort.", sortRecords, own(
			bench.Contestant{Name: oneP, Prepare: SortKeys("random", true, sorterWay(memory))},
			bench.Contestant{Name: twoPs, Prepare: SortKeys("random", true, sorterWay(two))},
		), bench.AtMost("sort/parallel, elapsed time of the sort, two goroutines by one", 0.6, bench.ExtraRatio("sort/parallel", twoPs, oneP, "sort_wall_ns"))),
	}
	list[0].Quick = []int{200_000}
	for _, hard := range []struct{ kind, doc string }{
		{"prefix", "Keys with a prefix of 200 bytes in common"}, {"equal", "Equal keys"}, {"two", "Keys of two values"}, {"sorted", "Keys in order"},
		{"reversed", "Keys in reversed order"}, {"urls", "URLs"},
	} {
		name := "sort/" + hard.kind
		list = append(list, sorts(name, hard.doc+" are added and sorted.", 2_000_000, append([]bench.Contestant{
			{Name: sortedSlices, Prepare: SortKeys(hard.kind, false, sliceWay)},
		}, own(bench.Contestant{Name: ownSorter, Prepare: SortKeys(hard.kind, false, sorterWay(memory))})...),
			bench.AtMost(name+", by slices.SortFunc", 0.9, bench.TimeRatio(name, 0, ownSorter, sortedSlices))))
	}
	spill := sortbuf.Options{Memory: 128 << 20}
	return append(list,
		sorts("sort/spill", "Keys of 8 to 64 random bytes are added, sorted and iterated over within 128 MiB.", sortRecords, append([]bench.Contestant{
			{Name: sortedSlices, Note: "in memory", Prepare: SortKeys("random", true, sliceWay)},
		}, own(bench.Contestant{Name: ownSorter, Prepare: SortKeys("random", true, sorterWay(spill))})...)),
		purposeWorkload())
}

// purposeSorters share a limit.
const (
	purposeSorters = 50
	purposeLimit   = 256 << 20
)

func purposeWorkload() bench.Workload {
	const name = "sort/purpose"
	contestant := bench.Contestant{Name: ownSorter, Prepare: func(r *bench.Run) func() uint64 {
		return func() uint64 {
			p := offheap.NewPurpose("bench, fifty sorters")
			p.SetLimit(purposeLimit)
			var sorters []*sortbuf.Sorter
			for range purposeSorters {
				s, err := sortbuf.New(sortbuf.Options{Purpose: p, Memory: purposeLimit, Parallel: 1})
				if err != nil {
					r.Fail(err)
					return 0
				}
				defer s.Close()
				sorters = append(sorters, s)
			}
			next := keySource("random", r.N)
			for i := range r.N {
				if err := sorters[i%purposeSorters].Add(next(), nil); err != nil {
					r.Fail(err)
					return 0
				}
			}
			records := uint64(0)
			for _, s := range sorters {
				for _, err := range s.Sorted(context.Background()) {
					if err != nil {
						r.Fail(err)
						return 0
					}
					records++
				}
			}
			return records
		}
	}}
	return bench.Workload{
		Name: name, Doc: "Fifty sorters on one Purpose of 256 MiB get keys of 8 to 64 random bytes in turn, and are read.", Op: "record", Size: "records", Heap: ownSorter,
		Full: []int{2 * sortRecords}, Ops: func(n int) int { return n }, MaxPasses: 1, Measure: measureSort, Contestants: own(contestant),
		Bars: []bench.Bar{bench.AtMost("sort/purpose, peak of resident memory by 300 MiB", 1, peakBy(name, ownSorter, 300<<20))},
	}
}
