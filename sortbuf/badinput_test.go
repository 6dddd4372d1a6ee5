// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

// TestBadComparator: a comparator with random answers loses no record, and ends.
func TestBadComparator(t *testing.T) {
	for _, memory := range []int64{1 << 20, 64 << 20} {
		var n atomic.Uint64
		random := func(a, b []byte) int { return int(n.Add(0x9E3779B97F4A7C15)>>33)%3 - 1 }
		s, err := New(Options{Memory: memory, chunk: 4 << 10, Compare: random, Dir: t.TempDir(), Parallel: 2})
		if err != nil {
			t.Fatal(err)
		}
		const count = 20_000
		for i := range count {
			if err := s.Add(fmt.Appendf(nil, "%d", i), make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
		}
		got := collect(t, s)
		s.Close()
		slices.SortFunc(got, func(a, b pair) int { return strings.Compare(a.key, b.key) })
		if got = slices.Compact(got); len(got) != count {
			t.Errorf("memory %d: %d different records of %d", memory, len(got), count)
		}
	}
}

// TestPanics: a comparator or Combine that panics, at its n-th call: the panic reaches the caller of
// Add or Sorted, and memory and disk are free at once.
func TestPanics(t *testing.T) {
	before := descriptors()
	for _, combine := range []bool{false, true} {
		for _, parallel := range []int{1, 2} {
			for n, panicked := int64(1), true; panicked; n = n*3/2 + 1 {
				panicked = panicsAt(t, n, combine, parallel, t.TempDir())
			}
		}
	}
	if now := descriptors(); now > before {
		t.Errorf("%d descriptors, %d before", now, before)
	}
}

func panicsAt(t *testing.T, n int64, combine bool, parallel int, dir string) (panicked bool) {
	var calls atomic.Int64
	call := func() {
		if calls.Add(1) == n {
			panic("the caller's bug")
		}
	}
	o := Options{Memory: 1 << 20, chunk: 4 << 10, block: 2000, Parallel: parallel, Dir: dir, open: 3}
	if combine {
		o.Combine = func(dst, a, b []byte) []byte { call(); return append(dst, b...) }
	} else {
		o.Compare = func(a, b []byte) int { call(); return bytes.Compare(a, b) }
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if v := recover(); v != nil {
				panicked = true
				if v != "the caller's bug" {
					panic(v)
				}
			}
		}()
		for i := range 12_000 {
			if err := s.Add(fmt.Appendf(nil, "%d", i*7919%3000), bytes.Repeat([]byte("v"), 300)); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			for _, err := range s.Sorted(context.Background()) {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}()
	if panicked {
		if used, _, files := s.c.disk.stats(); used != 0 || files != 0 {
			t.Errorf("call %d: %d bytes and %d files after the panic", n, used, files)
		}
		if used, _ := s.c.mem.stats(); used > int64(len(s.w.block)) {
			t.Errorf("call %d: %d bytes of memory after the panic", n, used)
		}
		if err := s.Add(make([]byte, 9<<10), nil); !errors.Is(err, ErrClosed) {
			t.Errorf("call %d: Add after the panic: %v", n, err)
		}
	}
	s.Close()
	if used, _ := s.c.mem.stats(); used != 0 {
		t.Errorf("call %d: %d bytes are left", n, used)
	}
	return panicked
}

// TestTooLarge: a record above a quarter of the budget is an error with both numbers, and the sorter
// goes on. A record of a quarter is fine, also several in the merge.
func TestTooLarge(t *testing.T) {
	s, err := New(Options{Memory: 1 << 20, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	most := bytes.Repeat([]byte("k"), 1<<18)
	if err := s.Add(append(most, 'k'), nil); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "262145") || !strings.Contains(err.Error(), "1048576") {
		t.Errorf("a record of 262145 bytes: %v", err)
	}
	if _, _, err := s.Reserve(math.MaxInt/2, math.MaxInt/2); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Reserve of too much: %v", err)
	}
	if _, _, err := s.Reserve(math.MaxInt, math.MaxInt); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Reserve of far too much: %v", err)
	}
	for _, lengths := range [][2]int{{-1, 5}, {5, -1}, {math.MinInt, 0}} {
		func() {
			defer func() {
				if v := fmt.Sprint(recover()); !strings.Contains(v, "negative length") {
					t.Errorf("Reserve(%d, %d): %s", lengths[0], lengths[1], v)
				}
			}()
			s.Reserve(lengths[0], lengths[1])
		}()
	}
	var want []string
	for i := range 12 {
		key := append(slices.Clone(most[2:]), byte('a'+(i*5)%12), 'k')
		want = append(want, string(key))
		if err := s.Add(key, nil); err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
	}
	slices.Sort(want)
	for i, p := range collect(t, s) {
		if p.key != want[i] {
			t.Fatalf("record %d of a quarter of the budget is out of order", i)
		}
	}
	if st := s.Stats(); st.MemoryPeak > 1<<20 || st.Spilled == 0 {
		t.Errorf("%+v: more memory than 1 MiB, or no spill", st)
	}
}

// TestBadOptions: each wrong field is named, with its value.
func TestBadOptions(t *testing.T) {
	for field, o := range map[string]Options{
		"Options.Memory is 1048575 bytes, fewer than 1048576": {Memory: 1<<20 - 1},
		"Options.Memory is -1":                                {Memory: -1},
		"Options.MaxDisk is -1":                               {MaxDisk: -1},
		"Options.Limit is -1":                                 {Limit: -1},
		"Options.Parallel is -1":                              {Parallel: -1},
		`Options.Codec.Name is ""`:                            {Codec: &Codec{Compress: flated.Compress, Decompress: flated.Decompress}},
		`Options.Codec "x" lacks a fu`:                        {Codec: &Codec{Name: "x"}},
	} {
		if s, err := New(o); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("New: %v, %v; want %q", s, err, field)
		}
	}
	if _, err := New(Options{Memory: 5, Limit: -2}); err == nil || !strings.Contains(err.Error(), "Memory") || !strings.Contains(err.Error(), "Limit") {
		t.Errorf("two wrong fields: %v", err)
	}
}

// TestBadFolder: a folder that is missing, not writable or full is an error of Add with the path and
// the cause. Earlier records stay readable, and after a repair Add works again.
func TestBadFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "missing")
	s, err := New(Options{Memory: 1 << 20, Dir: dir, Parallel: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := 0
	for err = nil; err == nil; n++ {
		err = s.Add(fmt.Appendf(nil, "%06d", n), make([]byte, 100))
	}
	var spill *SpillError
	if !errors.As(err, &spill) || spill.Path != dir || !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), dir) {
		t.Fatalf("Add with a missing folder: %v", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(fmt.Appendf(nil, "%06d", n-1), nil); err != nil {
		t.Fatalf("Add after the repair: %v", err)
	}
	if got := collect(t, s); len(got) != n {
		t.Errorf("%d records of %d", len(got), n)
	}
	if os.Getuid() > 0 {
		os.Chmod(dir, 0o500)
		if err := Save(context.Background(), filepath.Join(dir, "run"), recordsOf(nil), Options{}); !errors.Is(err, os.ErrPermission) {
			t.Errorf("Save in a folder that is not writable: %v", err)
		}
	}
}

// TestContext: a context that ends is an error of Sorted, Save, Merge and Verify, and the next call
// works.
func TestContext(t *testing.T) {
	for _, records := range []int{500, 30_000} { // In memory, and with runs.
		s, err := New(Options{Memory: 1 << 20, chunk: 4 << 10, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for i := range records {
			if err := s.Add(fmt.Appendf(nil, "%d", i), make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
		}
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		for _, err := range s.Sorted(ended) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Sorted: %v", err)
			}
		}
		path := filepath.Join(t.TempDir(), "run")
		if err := Save(ended, path, s.Sorted(context.Background()), Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("Save: %v", err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("Save left a file: %v", err)
		}
		if records > 1000 {
			within, cancel := context.WithCancel(context.Background())
			defer cancel()
			n := 0
			for _, err = range s.Sorted(within) {
				if n++; n == 10 {
					cancel()
				}
			}
			if !errors.Is(err, context.Canceled) || n > 10+records/10 {
				t.Errorf("Sorted ended %d records after the context, of %d: %v", n-10, records, err)
			}
		}
		if err := Save(context.Background(), path, s.Sorted(context.Background()), Options{}); err != nil {
			t.Fatal(err)
		}
		run, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Verify(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("Verify: %v", err)
		}
		for _, err := range Merge(ended, Options{}, run, run) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Merge: %v", err)
			}
		}
		run.Close()
	}
}

// TestBadOrder: Save of input that is out of order names the record and leaves no file, and the old
// file stays.
func TestBadOrder(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "run")
	if err := Save(ctx, path, recordsOf([]pair{{"old", ""}}), Options{}); err != nil {
		t.Fatal(err)
	}
	err := Save(ctx, path, recordsOf([]pair{{"a", ""}, {"c", ""}, {"b", ""}}), Options{})
	if !errors.Is(err, ErrOrder) || !strings.Contains(err.Error(), `record 2, key "b"`) {
		t.Errorf("Save out of order: %v", err)
	}
	failed := errors.New("the source failed")
	var broken iter.Seq2[Record, error] = func(yield func(Record, error) bool) { yield(Record{}, failed) }
	if err := Save(ctx, path, broken, Options{}); !errors.Is(err, failed) {
		t.Errorf("Save of a source that fails: %v", err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = Save(ctx, path, func(func(Record, error) bool) { panic("the caller's bug") }, Options{})
	}()
	run, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	for r, err := range run.All() {
		if err != nil || string(r.Key) != "old" {
			t.Errorf("the old file has %q, %v", r.Key, err)
		}
	}
	if names, _ := os.ReadDir(filepath.Dir(path)); len(names) != 1 {
		t.Errorf("files %v", names)
	}
}

// TestBadOpen: a file is opened with the order and the codec of its Save alone, and what is no file
// of sortbuf is damaged.
func TestBadOpen(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	options := map[string]Options{"bytes": {}, "compare": {Compare: bytes.Compare}, "codec": {Codec: flated}}
	for name, o := range options {
		path := filepath.Join(dir, name)
		if err := Save(ctx, path, recordsOf([]pair{{"a", ""}}), o); err != nil {
			t.Fatal(err)
		}
		for other, p := range options {
			run, err := Open(path, p)
			if (err == nil) != (name == other) || errors.Is(err, ErrDamaged) {
				t.Errorf("the file %s opened with the options %s: %v", name, other, err)
			}
			if err == nil {
				if name == "compare" {
					for _, err := range Merge(ctx, Options{}, run) {
						if err == nil {
							t.Error("Merge in byte order takes a run of a comparator")
						}
					}
				}
				run.Close()
			}
		}
	}
	for name, data := range map[string]string{"empty": "", "text": strings.Repeat("no run\n", 100)} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, Options{}); !errors.Is(err, ErrDamaged) {
			t.Errorf("Open of %s: %v", name, err)
		}
	}
	if _, err := Open(filepath.Join(dir, "missing"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open of a missing file: %v", err)
	}
	if _, err := Open(dir, Options{}); err == nil {
		t.Error("Open of a folder succeeds")
	}
}

// TestClosed: calls after Close, and a second Close.
func TestClosed(t *testing.T) {
	ctx := context.Background()
	s, err := New(Options{Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	w := s.Writer()
	if err := w.Add([]byte("a"), nil); err != nil {
		t.Fatal(err)
	}
	for range s.Sorted(ctx) {
		for _, err := range s.Sorted(ctx) {
			if err != ErrBusy {
				t.Errorf("a second iteration: %v", err)
			}
		}
	}
	s.Close()
	s.Close()
	if err := s.Add(nil, nil); err != ErrClosed {
		t.Errorf("Add: %v", err)
	}
	if _, _, err := w.Reserve(1, 1); err != ErrClosed {
		t.Errorf("Reserve: %v", err)
	}
	for _, err := range s.Sorted(ctx) {
		if err != ErrClosed {
			t.Errorf("Sorted: %v", err)
		}
	}
	path := filepath.Join(t.TempDir(), "run")
	if err := Save(ctx, path, recordsOf([]pair{{"a", ""}}), Options{}); err != nil {
		t.Fatal(err)
	}
	run, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	run.Close()
	run.Close()
	for _, err := range run.All() {
		if err != ErrClosed {
			t.Errorf("All: %v", err)
		}
	}
	for _, err := range run.Find([]byte("a")) {
		if err != ErrClosed {
			t.Errorf("Find: %v", err)
		}
	}
	if err := run.Verify(ctx); err != ErrClosed {
		t.Errorf("Verify: %v", err)
	}
}

// TestClosedWithin: Close within an iteration, which the documentation forbids, ends it.
func TestClosedWithin(t *testing.T) {
	for _, records := range []int{5000, 30_000} {
		s, err := New(Options{Memory: 1 << 20, chunk: 4 << 10, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		for i := range records {
			if err := s.Add(fmt.Appendf(nil, "%d", i), make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
		}
		n := 0
		for _, err := range s.Sorted(context.Background()) {
			if err != nil {
				break
			}
			if n++; n == 10 {
				s.Close()
			}
		}
		if n == records {
			t.Errorf("%d records after Close", n)
		}
		if used, _ := s.c.mem.stats(); used != 0 {
			t.Errorf("%d bytes are left", used)
		}
	}
}

// TestManyWriters: more writers than the budget has chunks for are refused by an error.
func TestManyWriters(t *testing.T) {
	s, err := New(Options{Memory: 1 << 20, chunk: 16 << 10, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	added := 0
	for range 200 {
		if err = s.Writer().Add([]byte("key"), nil); err != nil {
			break
		}
		added++
	}
	if !errors.Is(err, offheap.ErrLimit) || added < 10 {
		t.Errorf("%d writers, then %v", added, err)
	}
	if got := collect(t, s); len(got) != added {
		t.Errorf("%d records of %d", len(got), added)
	}
}

// TestBadCodec: a codec that fails or returns other bytes is ErrDamaged.
func TestBadCodec(t *testing.T) {
	data, _ := savedFile(t, 2000, Options{Codec: flated})
	for name, decompress := range map[string]func(dst, src []byte) ([]byte, error){
		"fails":     func(dst, src []byte) ([]byte, error) { return nil, errors.New("no") },
		"too short": func(dst, src []byte) ([]byte, error) { return dst, nil },
		"too long":  func(dst, src []byte) ([]byte, error) { return make([]byte, 1<<20), nil },
	} {
		run, err := openBytes(data, Options{Codec: &Codec{Name: "flate", Compress: flated.Compress, Decompress: decompress}})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range run.All() {
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("a codec that %s: %v", name, err)
			}
		}
	}
}

// TestBadPos: a made-up Pos panics or gives bytes of the Buffer; a copy of a Buffer panics.
func TestBadPos(t *testing.T) {
	var b Buffer
	defer b.Free()
	for range 10_000 {
		if _, err := b.Append([]byte("record")); err != nil {
			t.Fatal(err)
		}
	}
	tried := func(f func()) (v any) {
		defer func() { v = recover() }()
		f()
		return nil
	}
	for _, p := range []Pos{1 << 45, math.MaxUint64, 1<<18 - 1} {
		if v := tried(func() { b.At(p) }); v == nil || !strings.HasPrefix(fmt.Sprint(v), "sortbuf: Buffer.At(") {
			t.Errorf("At(%d): %v", p, v)
		}
	}
	for p := range Pos(3000) {
		tried(func() { b.At(p) })
	}
	var c Buffer
	copyOf(&c, &b)
	for name, f := range map[string]func(){"Append": func() { c.Append(nil) }, "At": func() { c.At(0) }, "Free": func() { c.Free() }, "Reset": func() { c.Reset() }, "All": func() { c.All()(nil) }, "Sorted": func() { c.Sorted(nil)(nil) }} {
		if v, ok := tried(f).(*offheap.MisuseError); !ok || !strings.Contains(v.Error(), "Buffer."+name) && name != "Append" {
			t.Errorf("%s of a copy: %v", name, v)
		}
	}
	if v := tried(func() { b.Reserve(-1) }); v == nil {
		t.Error("Reserve(-1) does not panic")
	}
}

// copyOf copies *from, as an assignment does that vet refuses.
func copyOf[T any](to, from *T) { reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from).Elem()) }
