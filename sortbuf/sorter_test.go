// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/tempfile"
	"github.com/freehold-go/freehold/offheap"
)

// TestDefaults: the zero Options have a budget and a folder. A folder in memory is replaced by one on
// a disk.
func TestDefaults(t *testing.T) {
	o, err := Options{}.withDefaults()
	if err != nil || o.Memory < leastMemory || o.Parallel < 1 || o.chunk != mostChunk || o.block != mostBlock {
		t.Errorf("%+v, %v", o, err)
	}
	if tempfile.IsMemory("/dev/shm") && !tempfile.IsMemory(largeTemp) {
		t.Setenv("TMPDIR", "/dev/shm")
		if dir := o.dir(); dir != largeTemp {
			t.Errorf("the folder is %s, although that is memory", dir)
		}
	}
	t.Setenv("TMPDIR", t.TempDir())
	if dir := o.dir(); !tempfile.IsMemory(os.TempDir()) && dir != os.TempDir() {
		t.Errorf("the folder is %s, not %s", dir, os.TempDir())
	}
	o.Dir = "elsewhere"
	if dir := o.dir(); dir != "elsewhere" {
		t.Errorf("the folder is %s", dir)
	}
}

// TestShrinks: with Limit, and with Combine of few keys, nothing reaches the disk, and the threshold
// drops records before they take memory.
func TestShrinks(t *testing.T) {
	sum := func(dst, a, b []byte) []byte {
		return le.AppendUint64(dst, le.Uint64(a)+le.Uint64(b))
	}
	for name, o := range map[string]Options{"limit": {Limit: 10}, "combine": {Combine: sum}, "both": {Limit: 10, Combine: sum}} {
		o.Memory, o.Dir = 1<<20, filepath.Join(t.TempDir(), "missing") // A spill would fail.
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		const n = 200_000
		for i := range n {
			if err := s.Add(fmt.Appendf(nil, "%06d", i*7919%1000), le.AppendUint64(nil, 1)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		got := collect(t, s)
		st := s.Stats()
		if st.Spilled != 0 || st.Records != n {
			t.Errorf("%s: %+v", name, st)
		}
		want, value := 1000, uint64(n/1000)
		if o.Limit > 0 {
			want = 10
		}
		if o.Combine == nil {
			value = 1
		} else if o.Limit > 0 && s.c.dropped == 0 || len(got) != want {
			t.Errorf("%s: %d records of %d, %d dropped", name, len(got), want, s.c.dropped)
		}
		for i, p := range got {
			key := fmt.Sprintf("%06d", i)
			if o.Combine == nil {
				key = "000000"
			}
			if p.key != key || le.Uint64([]byte(p.value)) != value {
				t.Errorf("%s: record %d is %q, want %q with %d", name, i, p, key, value)
				break
			}
		}
		s.Close()
	}
}

// TestManyRuns: runs beyond the number that may be open are merged in passes, and records with equal
// keys stay in order.
func TestManyRuns(t *testing.T) {
	for _, open := range []int{2, 3, 5, 9} {
		s, err := New(Options{Memory: 1 << 20, Dir: t.TempDir(), open: open, Parallel: 1})
		if err != nil {
			t.Fatal(err)
		}
		const n = 60_000
		most := 0
		for i := range n {
			if err := s.Add(fmt.Appendf(nil, "%d", i%10), binary.BigEndian.AppendUint64(make([]byte, 100), uint64(i))); err != nil {
				t.Fatal(err)
			}
			most = max(most, len(s.c.runs))
		}
		last := pair{}
		got := collect(t, s)
		for _, p := range got {
			if p.key < last.key || p.key == last.key && p.value <= last.value {
				t.Fatalf("open %d: out of order", open)
			}
			last = p
		}
		if len(got) != n || most > open || s.Stats().Runs > open {
			t.Errorf("open %d: %d records of %d, %d and %d runs", open, len(got), n, most, s.Stats().Runs)
		}
		s.Close()
	}
}

// TestAsksTheLargest: a sorter that is refused asks the largest other one of its Purpose, which
// spills in its next call.
func TestAsksTheLargest(t *testing.T) {
	p := offheap.NewPurpose("sortbuf, asking")
	p.SetLimit(9<<20 + 512<<10)
	open := func() *Sorter {
		s, err := New(Options{Purpose: p, Memory: 16 << 20, Dir: t.TempDir(), Parallel: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	small, large, late := open(), open(), open()
	for i := 0; large.Stats().Memory < 5<<20; i++ {
		if err := large.Add(fmt.Appendf(nil, "%d", i), make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	record := make([]byte, 1<<20) // The reserve of late has no such block.
	if err := late.Add(nil, record); !errors.Is(err, offheap.ErrLimit) {
		t.Errorf("Add beyond the limit: %v", err)
	}
	if small.c.asked.Load() || !large.c.asked.Load() {
		t.Errorf("asked: small %t, large %t", small.c.asked.Load(), large.c.asked.Load())
	}
	if err := large.Add([]byte("next"), nil); err != nil {
		t.Fatal(err)
	}
	if st := large.Stats(); st.Spilled == 0 || st.Memory > mostReserve+mostChunk || large.c.asked.Load() {
		t.Errorf("the largest sorter, after its next call: %+v", st)
	}
	if err := late.Add(nil, record); err != nil {
		t.Errorf("Add after the largest sorter has spilled: %v", err)
	}
}

// TestBufferGivesBack: Free and Sorted leave no memory, and Reset keeps one chunk.
func TestBufferGivesBack(t *testing.T) {
	p := offheap.NewPurpose("sortbuf, buffers")
	inUse := func() (n int64) {
		for _, s := range offheap.ReadStats().Purposes {
			if s.Name == p.Name() {
				n = s.InUse
			}
		}
		return n
	}
	b := BufferFor(p)
	for i := range 20_000 {
		if _, err := b.Append(fmt.Appendf(nil, "%d", i*7919)); err != nil {
			t.Fatal(err)
		}
	}
	before := inUse()
	for range b.Sorted(nil) {
		break
	}
	func() {
		defer func() { _ = recover() }()
		for range b.Sorted(func(x, y []byte) int { panic("the caller's bug") }) {
		}
	}()
	if now := inUse(); now != before {
		t.Errorf("%d bytes after Sorted, %d before", now, before)
	}
	b.Reset()
	if now := inUse(); now == 0 || now > bufferChunk+1<<16 || b.Len() != 0 {
		t.Errorf("%d bytes after Reset, %d records", now, b.Len())
	}
	if _, err := b.Append([]byte("again")); err != nil {
		t.Fatal(err)
	}
	b.Free()
	b.Free()
	if now := inUse(); now != 0 {
		t.Errorf("%d bytes after Free", now)
	}
}

// TestRunDropped: a Run that is dropped gives its pages back.
func TestRunDropped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a run that is dropped")
	if err := Save(context.Background(), path, recordsOf([]pair{{"a", "b"}}), Options{}); err != nil {
		t.Fatal(err)
	}
	run, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	mapped := func() bool {
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Skip("the system does not list its mappings")
		}
		return bytes.Contains(maps, []byte("a run that is dropped"))
	}
	if !mapped() || run.Len() != 1 {
		t.Fatal("the file is not mapped")
	}
	run = nil
	if !collected(func() bool { return !mapped() }) {
		t.Error("the file is mapped still")
	}
}

// TestSavedMode: a saved file has the usual mode, and replaces an older one at once.
func TestSavedMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	for _, key := range []string{"old", "new"} {
		if err := Save(context.Background(), path, recordsOf([]pair{{key, ""}}), Options{}); err != nil {
			t.Fatal(err)
		}
	}
	run, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	for r, err := range run.All() {
		if err != nil || string(r.Key) != "new" {
			t.Errorf("the file has %q, %v", r.Key, err)
		}
	}
	if info, err := os.Stat(path); err != nil || !strings.HasPrefix(info.Mode().String(), "-rw-r--") && os.PathSeparator == '/' {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestOtherFileSystems: files that cannot be made without a name, as on systems other than Linux.
func TestOtherFileSystems(t *testing.T) {
	dir := t.TempDir()
	names := func() (list []string) {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			list = append(list, e.Name())
		}
		return list
	}
	f, err := tempfile.Unlinked(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("spilled"), 0); err != nil || len(names()) > 0 {
		t.Errorf("a spill file: %v, files %v", err, names())
	}
	path := filepath.Join(dir, "run")
	for range 2 { // The second one is not finished.
		target, err := tempfile.Named(path, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if len(names()) == 1 {
			if err := tempfile.Name(target, path); err != nil {
				t.Error(err)
			}
			target.Close()
			continue
		}
		target.Close()
		tempfile.Discard(target)
	}
	if got := names(); len(got) != 1 || got[0] != "run" {
		t.Errorf("files %v", got)
	}
}
