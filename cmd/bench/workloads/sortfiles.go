// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/usage"
	"github.com/freehold-go/freehold/sortbuf"
)

func sortFileWorkloads() []bench.Workload {
	return []bench.Workload{findWorkload(), linesSortWorkload()}
}

// Find is a table of sorted records, of which some are looked up.
type Find struct {
	// Load makes the table of records in order, in a folder.
	Load func(dir string, records func(yield func(key, value []byte) bool)) error
	// Get returns the value of a key.
	Get  func(key []byte) ([]byte, error)
	Free func()
}

const findsPerRound = 200_000

// SortFind is the Prepare of a contestant of the workload sort/find.
func SortFind(newFind func() Find) func(r *bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		dir, err := os.MkdirTemp("", "freehold-bench-")
		if err != nil {
			r.Fail(err)
			return func() uint64 { return 0 }
		}
		r.Cleanup(func() { os.RemoveAll(dir) })
		find := newFind()
		next := keySource("random", r.N)
		keys := make([][]byte, r.N)
		for i := range keys {
			keys[i] = bytes.Clone(next())
		}
		looked := make([][]byte, min(findsPerRound, r.N))
		order := rand.New(rand.NewPCG(3, 4))
		for i := range looked {
			looked[i] = bytes.Clone(keys[order.IntN(len(keys))])
		}
		slices.SortFunc(keys, bytes.Compare)
		keys = slices.CompactFunc(keys, bytes.Equal)
		err = find.Load(dir, func(yield func(key, value []byte) bool) {
			for _, key := range keys {
				if !yield(key, key[:8]) {
					return
				}
			}
		})
		if err != nil {
			r.Fail(err)
		}
		r.Cleanup(find.Free)
		return func() (sum uint64) {
			for _, key := range looked {
				value, err := find.Get(key)
				if err != nil || !bytes.Equal(value, key[:8]) {
					r.Fail(fmt.Errorf("key %x: %x, %v", key, value, err))
					return 0
				}
				sum = orderSum(sum, value)
			}
			return sum
		}
	}
}

// sliceFind is a binary search in [][]byte.
func sliceFind() Find {
	var keys, values [][]byte
	return Find{
		Load: func(_ string, records func(func(key, value []byte) bool)) error {
			records(func(key, value []byte) bool {
				keys, values = append(keys, bytes.Clone(key)), append(values, bytes.Clone(value))
				return true
			})
			return nil
		},
		Get: func(key []byte) ([]byte, error) {
			i, ok := slices.BinarySearchFunc(keys, key, bytes.Compare)
			if !ok {
				return nil, fmt.Errorf("the key is missing")
			}
			return values[i], nil
		},
		Free: func() {},
	}
}

// runFind is a saved Run.
func runFind() Find {
	var run *sortbuf.Run
	return Find{
		Load: func(dir string, records func(func(key, value []byte) bool)) (err error) {
			path := filepath.Join(dir, "run")
			err = sortbuf.Save(context.Background(), path, func(yield func(sortbuf.Record, error) bool) {
				records(func(key, value []byte) bool { return yield(sortbuf.Record{Key: key, Value: value}, nil) })
			}, sortbuf.Options{})
			if err == nil {
				run, err = sortbuf.Open(path, sortbuf.Options{})
			}
			if err == nil {
				err = run.Verify(context.Background()) // It is warm, then.
			}
			return err
		},
		Get: func(key []byte) (value []byte, err error) {
			for value, err = range run.Find(key) {
				return value, err
			}
			return nil, fmt.Errorf("the key is missing")
		},
		Free: func() { run.Close() },
	}
}

func findWorkload() bench.Workload {
	return bench.Workload{
		Name: "sort/find", Doc: "Look up keys in a table of 10 million, in a file that is in memory.", Op: "key", Size: "records", Heap: "[][]byte, binary search",
		Full: []int{sortRecords}, Ops: func(n int) int { return min(findsPerRound, n) }, MaxPasses: 3, Contestants: append([]bench.Contestant{
			{Name: "[][]byte, binary search", Prepare: SortFind(sliceFind)},
		}, own(bench.Contestant{Name: ownRun, Prepare: SortFind(runFind)})...),
	}
}

const gnuSort = "sort(1) of GNU"

// linesSortWorkload sorts a file of lines within little memory, with two goroutines or threads.
func linesSortWorkload() bench.Workload {
	const name = "sort/lines"
	const kib, memory = 4 << 20, 128 << 20 // 4 GiB of lines.
	sorting := func(sort func(r *bench.Run, memory int64, in, out, dir string) error) func(r *bench.Run) func() uint64 {
		return func(r *bench.Run) func() uint64 {
			dir, err := os.MkdirTemp("", "freehold-bench-")
			if err != nil {
				r.Fail(err)
				return func() uint64 { return 0 }
			}
			r.Cleanup(func() { os.RemoveAll(dir) })
			in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
			if err := writeLines(in, int64(r.N)<<10); err != nil {
				r.Fail(err)
			}
			return func() uint64 {
				if err := sort(r, memory, in, out, dir); err != nil {
					r.Fail(err)
					return 0
				}
				sum, err := fileSum(out)
				if err != nil {
					r.Fail(err)
				}
				return sum
			}
		}
	}
	ratio := func(what string, limit float64, value string) bench.Bar {
		return bench.AtMost(name+", "+what+" by GNU sort", limit, bench.ExtraRatio(name, ownSorter, gnuSort, value))
	}
	return bench.Workload{
		Name: name, Doc: fmt.Sprintf("Sort a file of lines of some 37 bytes into another one within %d MiB, with two goroutines or threads.", memory>>20), Op: "KiB", Size: "KiB", Heap: gnuSort,
		Full: []int{kib}, Ops: func(n int) int { return n }, MaxPasses: 1, Measure: measureSort, Contestants: append([]bench.Contestant{{
			Name: gnuSort, Note: "its CPU time is in the table below; the column above is of the process that starts it", Prepare: sorting(runSort), Unavailable: func() string {
				if out, err := exec.Command("sort", "--version").Output(); err != nil || !bytes.Contains(out, []byte("GNU")) {
					return "there is no sort(1) of GNU"
				}
				return ""
			},
		}}, own(bench.Contestant{Name: ownSorter, Prepare: sorting(sortLines)})...),
		Bars: []bench.Bar{
			ratio("CPU time", 0.5, "cpu_ns"), ratio("elapsed time", 1, "wall_ns"),
			bench.AtMost(name+", bytes that are spilled by the input's", 1.05, bench.ExtraValue(name, ownSorter, "spilled")),
			bench.AtMost(name+", peak of resident memory by the budget and 32 MiB", 1, peakBy(name, ownSorter, float64(memory+32<<20))),
		},
	}
}

// writeLines writes n bytes of lines.
func writeLines(path string, n int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	next := keySource("random", 0)
	for written := int64(0); written < n; {
		key := next()
		m, err := fmt.Fprintf(w, "%.*x\n", len(key)/2+1, key)
		if err != nil {
			return err
		}
		written += int64(m)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

func fileSum(path string) (uint64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	h := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	n, err := io.Copy(h, f)
	return uint64(n)<<32 | uint64(h.Sum32()), err
}

// runSort runs sort(1).
func runSort(r *bench.Run, memory int64, in, out, dir string) error {
	begin := time.Now()
	c := exec.Command("sort", "-S", fmt.Sprint(memory>>10), "--parallel=2", "-T", dir, "-o", out, in)
	c.Env = append(os.Environ(), "LC_ALL=C")
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("sort: %w: %s", err, text)
	}
	r.Report("cpu_ns", float64(c.ProcessState.UserTime()+c.ProcessState.SystemTime()))
	r.Report("wall_ns", float64(time.Since(begin)))
	return nil
}

// sortLines sorts with a Sorter.
func sortLines(r *bench.Run, memory int64, in, out, dir string) error {
	begin, cpu := time.Now(), usage.CPU()
	s, err := sortbuf.New(sortbuf.Options{Memory: memory, Parallel: 2, Dir: dir})
	if err != nil {
		return err
	}
	defer s.Close()
	f, err := os.Open(in)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if err := s.Add(line[:len(line)-1], nil); err != nil {
			return err
		}
	}
	o, err := os.Create(out)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(o, 1<<20)
	for record, err := range s.Sorted(context.Background()) {
		if err != nil {
			return err
		}
		_, _ = w.Write(record.Key) // Flush returns the error.
		_ = w.WriteByte('\n')
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := o.Close(); err != nil {
		return err
	}
	r.Report("cpu_ns", float64(usage.CPU()-cpu))
	r.Report("wall_ns", float64(time.Since(begin)))
	r.Report("spilled", float64(s.Stats().Spilled)/float64(max(r.N, 1)<<10))
	return nil
}
