// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/alloctest"
)

type record struct {
	next Ref[record]
	key  uint64
	data [40]byte
}

// TestFileKeepsValues writes a list, closes the file and reads it again.
func TestFileKeepsValues(t *testing.T) {
	needFiles(t)
	path := filepath.Join(t.TempDir(), "list")
	f, err := CreateFile(path, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if !Root[record](f).IsNil() || f.Size() != 1<<20 || f.Used() != fileStart {
		t.Errorf("a new file: root %v, size %d, %d bytes used", Root[record](f), f.Size(), f.Used())
	}
	for i := range uint64(1000) {
		r, err := NewInFile[record](f)
		if err != nil {
			t.Fatal(err)
		}
		v := r.In(f)
		if *v != (record{}) {
			t.Fatalf("a new value is %+v", *v)
		}
		*v = record{next: Root[record](f), key: i}
		fill(v.data[:], int(i))
		SetRoot(f, r)
	}
	used := f.Used()
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		if f, err = OpenFile(path); err != nil {
			t.Fatal(err)
		}
		want := uint64(1000)
		for r := Root[record](f); !r.IsNil(); r = r.In(f).next {
			want--
			if v := r.In(f); v.key != want || !filled(v.data[:], int(want)) {
				t.Fatalf("round %d: value %d is %+v", round, want, *v)
			}
		}
		if want != 0 || f.Used() < used {
			t.Fatalf("round %d: %d values are missing, %d bytes used", round, want, f.Used())
		}
		if _, err := NewInFile[point](f); err != nil { // The existing values stay.
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFileSlices(t *testing.T) {
	f := tempFile(t, 1<<16)
	r, err := MakeSliceInFile[uint32](f, 1000)
	if err != nil {
		t.Fatal(err)
	}
	s := r.In(f)
	for i := range s {
		s[i] = uint32(i)
	}
	if again := r.In(f); len(again) != 1000 || cap(again) != 1000 || r.Len() != 1000 || again[999] != 999 || &again[0] != &s[0] {
		t.Error("the slice reads otherwise the second time")
	}
	none, err := MakeSliceInFile[uint32](f, 0)
	if err != nil || !none.IsNil() || none.In(f) != nil || (Ref[uint32]{}).In(f) != nil {
		t.Errorf("nothing is something: %v, %v", none, err)
	}
	for _, n := range []uint64{1001, 1 << 31, 1 << 32, 1<<62 + 1, 1 << 63, 1<<64 - 1} {
		alloctest.MustPanic(t, func() { SliceRef[uint32]{r.first, n}.In(f) }, fmt.Sprintf("does not lead to %d of uint32", n))
	}
	alloctest.MustPanic(t, func() { _, _ = MakeSliceInFile[uint32](f, -5) }, "negative length -5")
	for _, n := range []int{1 << 30, 1<<(8*ptrSize-2) + 1, 1<<(8*ptrSize-1) - 1} {
		_, err := MakeSliceInFile[point](f, n)
		if !errors.Is(err, ErrOutOfMemory) && !errors.Is(err, ErrLimit) {
			t.Errorf("%d values: %v", n, err)
		}
		alloctest.MustPanic(t, func() { SliceRef[uint32]{r.first, uint64(n)}.In(f) }, "does not lead to")
	}
	for range 3 { // Values of no size have places of their own.
		r, err := NewInFile[struct{}](f)
		if err != nil || r.IsNil() || r.In(f) == nil {
			t.Errorf("%v: %v", r, err)
		}
	}
}

func TestFileFull(t *testing.T) {
	f := tempFile(t, 64<<10)
	n := 0
	for ; ; n++ {
		r, err := NewInFile[[100]byte](f)
		if err != nil {
			if !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), f.name) || strings.Contains(err.Error(), "SetLimit") {
				t.Errorf("a full file: %v, want ErrLimit, its name, and advice that helps", err)
			}
			break
		}
		fill(r.In(f)[:], n)
	}
	if n != (64<<10-fileStart)/100 {
		t.Errorf("%d values of 100 bytes in 60 KiB", n)
	}
	if _, err := NewInFile[[8]byte](f); err != nil {
		t.Errorf("there is room for 8 bytes: %v", err)
	}
}

func TestFileFromManyGoroutines(t *testing.T) {
	f := tempFile(t, 1<<20)
	refs := make([][]Ref[record], 8)
	var workers sync.WaitGroup
	for g := range refs {
		workers.Go(func() {
			for range 1000 {
				r, err := NewInFile[record](f)
				if err != nil {
					t.Error(err)
					return
				}
				r.In(f).key = uint64(g)
				refs[g] = append(refs[g], r)
			}
		})
	}
	workers.Wait()
	for g, list := range refs {
		for _, r := range list {
			if r.In(f).key != uint64(g) {
				t.Fatalf("two goroutines got %v", r)
			}
		}
	}
}

func TestFileRefusesTypes(t *testing.T) {
	f := tempFile(t, 1<<16)
	for what, try := range map[string]func(){
		"bool": func() { _, _ = NewInFile[flags](f) }, "a bool": func() { _, _ = MakeSliceInFile[bool](f, 4) },
		"is self-contained": func() { _, _ = NewInFile[link](f) }, "link": func() { _, _ = MakeSliceInFile[link](f, 1) },
		"*int itself": func() { _, _ = NewInFile[*int](f) }, "record.Name: string": func() {
			type record struct{ Name string }
			_, _ = NewInFile[record](f)
		},
	} {
		alloctest.MustPanic(t, try, "offheap: ", what)
	}
}

// TestRootForgesNoPointer: bits of the file or of memory must not become a Go pointer by Root.
func TestRootForgesNoPointer(t *testing.T) {
	f := tempFile(t, 1<<16)
	p := New[point]()
	defer Delete(p)
	p.X = 0x1234567
	SetRoot(f, RefOf(p))
	alloctest.MustPanic(t, func() { Root[*int](f).Ptr() }, "*int")
	alloctest.MustPanic(t, func() { Root[*int](f).In(f) }, "*int")
	alloctest.MustPanic(t, func() { Root[flags](f).Ptr() }, "flags")
}

func TestFileClosed(t *testing.T) {
	f := tempFile(t, 1<<16)
	r, err := NewInFile[point](f)
	if err != nil {
		t.Fatal(err)
	}
	stale := r.In(f)
	stale.X = 5
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err == nil || !strings.Contains(err.Error(), "closed already") {
		t.Errorf("second Close: %v", err)
	}
	for what, use := range map[string]func(){
		"In": func() { r.In(f) }, "slices": func() { SliceRef[point]{r, 1}.In(f) }, "nil": func() { Ref[point]{}.In(f) }, "allocation": func() { _, _ = NewInFile[point](f) },
		"slice": func() { _, _ = MakeSliceInFile[point](f, 2) }, "Sync": func() { _ = f.Sync() }, "Used": func() { f.Used() },
		"Root": func() { Root[point](f) }, "SetRoot": func() { SetRoot(f, r) },
	} {
		if message := alloctest.MustPanic(t, use, "offheap: ", f.name, "closed"); t.Failed() {
			t.Fatalf("%s: %s", what, message)
		}
	}
	// The addresses stay out of use: a stale pointer faults, whatever is allocated and mapped
	// later.
	other := tempFile(t, 1<<16)
	blocks := [][]byte{Alloc(1 << 16), make([]byte, 1<<16)}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for what, access := range map[string]func(){"read": func() { fmt.Fprint(new(strings.Builder), stale.X) }, "write": func() { stale.Y = 1 }} {
		err, ok := caught(access).(interface{ Addr() uintptr })
		if !ok || err.Addr()-f.maps[0].addr >= f.maps[0].size {
			t.Errorf("a %s through a stale pointer: %v, want a fault in the file's range", what, err)
		}
	}
	Free(blocks[0])
	if other.Used() != fileStart {
		t.Error("a stale write reached another file")
	}
}

func TestFileDamaged(t *testing.T) {
	needFiles(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "good")
	f, err := CreateFile(path, 64<<10)
	if err != nil {
		t.Fatal(err)
	}
	SetRoot(f, Ref[point]{off: fileStart}) // With a layout.
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	number := func(at int, v uint64) func([]byte) []byte {
		return func(b []byte) []byte { binary.NativeEndian.PutUint64(b[at:], v); return b }
	}
	for what, c := range map[string]struct {
		damage func([]byte) []byte
		says   string
	}{
		"empty":             {func(b []byte) []byte { return nil }, "no header"},
		"shorter than that": {func(b []byte) []byte { return b[:39] }, "no header"},
		"only a header":     {func(b []byte) []byte { return b[:4096] }, "cut off"},
		"one byte short":    {func(b []byte) []byte { return b[:len(b)-1] }, "cut off"},
		"other magic":       {func(b []byte) []byte { b[0] ^= 1; return b }, "not made by CreateFile"},
		"unfinished":        {func(b []byte) []byte { clear(b[:8]); return b }, "did not finish"},
		"version":           {func(b []byte) []byte { b[8], b[11] = 9, 9; return b }, "version"},
		"byte order":        {func(b []byte) []byte { b[12], b[13], b[14], b[15] = b[15], b[14], b[13], b[12]; return b }, "byte order"},
		"size 0":            {number(16, 0), "header says 0"},
		"size huge":         {number(16, 1<<63), "header says 9223372036854775808"},
		"next 0":            {number(24, 0), "damaged"},
		"next in header":    {number(24, fileStart-1), "damaged"},
		"next beyond":       {number(24, 64<<10+1), "damaged"},
		"next huge":         {number(24, 1<<63), "damaged"},
	} {
		bad := filepath.Join(dir, "bad")
		if err := os.WriteFile(bad, c.damage(append([]byte(nil), good...)), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := OpenFile(bad)
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v, want an error that says %q", what, err, c.says)
		}
		if f != nil {
			t.Errorf("%s: a file beside the error", what)
		}
	}
	// A wrong root is found when it is used.
	bad := filepath.Join(dir, "root")
	if err := os.WriteFile(bad, number(32, 60<<10)(good), 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err = OpenFile(bad); err != nil {
		t.Fatal(err)
	}
	alloctest.MustPanic(t, func() { Root[point](f).In(f) }, "0xf000", "does not lead to")
	// A header that is overwritten while the file is mapped.
	f.head.next.Store(1 << 62)
	alloctest.MustPanic(t, func() { Ref[point]{off: 64 << 10}.In(f) }, "does not lead to")
	alloctest.MustPanic(t, func() { Ref[point]{off: 1 << 40}.In(f) }, "does not lead to")
	if _, err := NewInFile[point](f); !errors.Is(err, ErrLimit) {
		t.Errorf("allocation behind the end: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestFilePaths(t *testing.T) {
	needFiles(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateFile(path, 1<<16); !errors.Is(err, fs.ErrExist) {
		t.Errorf("CreateFile of a file that exists: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "precious" {
		t.Errorf("it now holds %q, %v", b, err)
	}
	if _, err := OpenFile(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("OpenFile of nothing: %v", err)
	}
	if _, err := OpenFile(dir); err == nil {
		t.Error("OpenFile of a folder succeeds")
	}
	if _, err := CreateFile(filepath.Join(dir, "no", "folder"), 1<<16); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("CreateFile where there is no folder: %v", err)
	}
	for _, size := range []int64{-1 << 63, -1, 0, 1, fileStart, 1<<63 - 1, 1 << 62} {
		small := filepath.Join(dir, fmt.Sprint("size", size))
		if _, err := CreateFile(small, size); err == nil || !strings.Contains(err.Error(), fmt.Sprint(size)) {
			t.Errorf("size %d: %v", size, err)
		}
		if _, err := os.Stat(small); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("size %d leaves a file behind: %v", size, err)
		}
	}
	f, err := CreateFile(filepath.Join(dir, "least"), fileStart+1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewInFile[byte](f); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// TestFileDamagedWhileOpen: another process that writes to a header that is in use gets an error
// and never the header's bytes as a value.
func TestFileDamagedWhileOpen(t *testing.T) {
	needFiles(t)
	f, err := CreateFile(filepath.Join(t.TempDir(), "damaged"), 1<<16)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, next := range []uint64{0, 8, fileStart - 1, 1<<16 + 1, 1 << 63, 1<<64 - 1} {
		f.head.next.Store(next)
		if r, err := NewInFile[record](f); err == nil {
			t.Errorf("with %#x in use: a Ref %#x", next, r.off)
		}
	}
	f.head.next.Store(1 << 16)
	if v := caught(func() { Ref[struct{}]{off: 1 << 16}.In(f) }); v == nil {
		t.Error("a Ref leads behind the mapping")
	}
}
