// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

// errInjected is the error of a call that was made to fail.
var errInjected = errors.New("injected")

// failing makes the n-th call to memory and file system fail; after it, all later ones if forever.
type failing struct {
	n, calls int
	forever  bool
	struck   string
}

func (f *failing) fault(op string) error {
	f.calls++
	if f.calls == f.n || f.forever && f.calls > f.n {
		f.struck = op
		return fmt.Errorf("%s: %w", op, errInjected)
	}
	return nil
}

// descriptors is the number of open files of the process, 0 if the system does not say.
func descriptors() int {
	names, _ := os.ReadDir("/proc/self/fd")
	return len(names)
}

// TestFaults: each call to memory and file system fails, once or from there on. Each result is an
// error or the true records; what an Add refuses may be added again; nothing is left.
func TestFaults(t *testing.T) {
	before := descriptors()
	step := 1
	if testing.Short() {
		step = 5
	}
	for _, forever := range []bool{false, true} {
		for n, struck := 1, true; struck; n += step {
			dir := memoryDir(t)
			f := &failing{n: n, forever: forever}
			faulty(t, f, Options{Memory: 1 << 20, chunk: 64 << 10, Parallel: 1, Dir: dir, open: 2, fault: f.fault})
			struck = f.struck != ""
			if names, err := os.ReadDir(dir); err != nil || len(names) > 1 || len(names) == 1 && names[0].Name() != "run" {
				t.Fatalf("call %d (%s): files %v, %v", n, f.struck, names, err)
			}
			os.RemoveAll(dir)
			if now := descriptors(); now > before {
				t.Fatalf("call %d (%s): %d descriptors, %d before", n, f.struck, now, before)
			}
			if !struck && n < 40 {
				t.Fatalf("the scenario has %d calls only", n)
			}
		}
	}
}

// memoryDir is a new folder in memory, if there is such a file system: a sync of a disk takes long.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "sortbuf-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// faulty adds records, of which the call f.n fails, reads and saves them.
func faulty(t *testing.T, f *failing, o Options) {
	ctx := context.Background()
	s, err := New(o)
	if err != nil {
		if !errors.Is(err, errInjected) {
			t.Fatalf("call %d (%s): New: %v", f.n, f.struck, err)
		}
		return
	}
	defer func() {
		s.Close()
		if used, _ := s.c.mem.stats(); used != 0 {
			t.Fatalf("call %d (%s): %d bytes are left", f.n, f.struck, used)
		}
		if used, _, files := s.c.disk.stats(); used != 0 || files != 0 {
			t.Fatalf("call %d (%s): %d bytes of disk and %d files are left", f.n, f.struck, used, files)
		}
	}()
	var want []pair
	for i := range 2500 {
		key := fmt.Appendf(nil, "%d", i*7919%2503)
		value := bytes.Repeat([]byte{byte(i)}, 500)
		err := s.Add(key, value)
		for tries := 0; err != nil && !f.forever && tries < 2; tries++ {
			if !errors.Is(err, errInjected) {
				t.Fatalf("call %d (%s): Add: %v", f.n, f.struck, err)
			}
			err = s.Add(key, value)
		}
		if err == nil {
			want = append(want, pair{string(key), string(value)})
		} else if !f.forever {
			t.Fatalf("call %d (%s): Add did not recover: %v", f.n, f.struck, err)
		}
	}
	slices.SortFunc(want, func(a, b pair) int { return bytes.Compare([]byte(a.key), []byte(b.key)) })
	read := func() (got []pair, err error) {
		for r, err := range s.Sorted(ctx) {
			if err != nil {
				return got, err
			}
			got = append(got, pair{string(r.Key), string(r.Value)})
		}
		return got, nil
	}
	got, err := read()
	if err != nil && !f.forever {
		if !errors.Is(err, errInjected) {
			t.Fatalf("call %d (%s): Sorted: %v", f.n, f.struck, err)
		}
		got, err = read()
	}
	if err == nil && !slices.Equal(got, want) || err != nil && !f.forever {
		t.Fatalf("call %d (%s): Sorted: %d records of %d, %v", f.n, f.struck, len(got), len(want), err)
	}
	path := filepath.Join(o.Dir, "run")
	if err := Save(ctx, path, s.Sorted(ctx), o); err != nil {
		if !errors.Is(err, errInjected) {
			t.Fatalf("call %d (%s): Save: %v", f.n, f.struck, err)
		}
		if f.struck != "sync folder" { // Then the file has its name already.
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("call %d (%s): Save failed and left a file: %v", f.n, f.struck, err)
			}
		}
		return
	}
	run, err := Open(path, o)
	if err != nil {
		if !errors.Is(err, errInjected) {
			t.Fatalf("call %d (%s): Open: %v", f.n, f.struck, err)
		}
		return
	}
	defer run.Close()
	got = nil
	for r, err := range run.All() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, pair{string(r.Key), string(r.Value)})
	}
	if !slices.Equal(got, want) {
		t.Fatalf("call %d (%s): All: %d records of %d", f.n, f.struck, len(got), len(want))
	}
}

// TestReadableWhenDiskIsFull: after the disk is full, all records that were added can be read, however
// many runs there are.
func TestReadableWhenDiskIsFull(t *testing.T) {
	s, err := New(Options{Memory: 1 << 20, chunk: 4 << 10, Dir: t.TempDir(), MaxDisk: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var want []string
	refused := 0
	for i := range 40_000 {
		key := fmt.Sprintf("%d", i*7919%40_009)
		err := s.Add([]byte(key), bytes.Repeat([]byte("v"), 300))
		if err == nil {
			want = append(want, key)
			continue
		}
		var spill *SpillError
		if !errors.As(err, &spill) || !errors.Is(err, ErrMaxDisk) || spill.Path == "" || spill.Written < 0 {
			t.Fatalf("Add: %v", err)
		}
		if refused++; refused > 20 {
			break
		}
	}
	if refused == 0 {
		t.Fatal("the disk was never full")
	}
	slices.Sort(want)
	got := collect(t, s)
	if len(got) != len(want) {
		t.Fatalf("%d records of %d", len(got), len(want))
	}
	for i := range got {
		if got[i].key != want[i] {
			t.Fatalf("record %d is %q, want %q", i, got[i].key, want[i])
		}
	}
}

// TestMemoryRefused: a Purpose without room refuses New; several sorters on one Purpose spill for
// each other and keep its limit.
func TestMemoryRefused(t *testing.T) {
	p := offheap.NewPurpose("sortbuf, refused")
	p.SetLimit(1 << 20)
	if s, err := New(Options{Purpose: p}); !errors.Is(err, offheap.ErrLimit) {
		t.Errorf("New with 1 MiB of 2: %v, %v", s, err)
	}
	p.SetLimit(12 << 20)
	var sorters []*Sorter
	for range 4 {
		s, err := New(Options{Purpose: p, Dir: t.TempDir(), Memory: 64 << 20, Parallel: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		sorters = append(sorters, s)
	}
	const n = 60_000
	for i := range n {
		for j, s := range sorters {
			if i%(j+1) > 0 {
				continue
			}
			key := fmt.Appendf(nil, "%d", i*7919%60_013)
			err := s.Add(key, bytes.Repeat([]byte("v"), 100))
			for tries := 0; errors.Is(err, offheap.ErrLimit) && tries < 1000; tries++ { // The largest one was asked.
				for _, other := range sorters {
					if other.c.asked.Load() {
						_ = other.Add([]byte("extra"), nil)
					}
				}
				err = s.Add(key, bytes.Repeat([]byte("v"), 100))
			}
			if err != nil {
				t.Fatalf("sorter %d, record %d: %v", j, i, err)
			}
		}
	}
	for j, s := range sorters {
		n := 0
		last := ""
		for _, p := range collect(t, s) {
			if p.key < last {
				t.Fatalf("sorter %d is out of order", j)
			}
			if last = p.key; p.key != "extra" {
				n++
			}
		}
		if want := (60_000 + j) / (j + 1); n != want {
			t.Errorf("sorter %d: %d records, want %d", j, n, want)
		}
		if s.Stats().Spilled == 0 {
			t.Errorf("sorter %d did not spill", j)
		}
	}
}

// TestDropped: a Sorter and a Run that are dropped without Close free what they hold.
func TestDropped(t *testing.T) {
	p := offheap.NewPurpose("sortbuf, dropped")
	held := func() (n int64) {
		for _, s := range offheap.ReadStats().Purposes {
			if s.Name == p.Name() {
				n = s.InUse
			}
		}
		return n
	}
	s, err := New(Options{Purpose: p, Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Writer().Add([]byte("key"), nil); err != nil {
		t.Fatal(err)
	}
	if held() == 0 {
		t.Fatal("the Sorter holds nothing")
	}
	runtime.KeepAlive(s)
	s = nil
	if !collected(func() bool { return held() == 0 }) {
		t.Errorf("%d bytes are held", held())
	}
}
