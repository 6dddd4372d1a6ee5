// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/freehold-go/freehold/alloctest"
)

// TestFileGrows fills a file again and again, and keeps a pointer and a Ref to each value.
func TestFileGrows(t *testing.T) {
	f := tempFile(t, 20_000) // No multiple of a page.
	type kept struct {
		r Ref[record]
		p *record
	}
	var all []kept
	for round := range 5 {
		for {
			r, err := NewInFile[record](f)
			if errors.Is(err, ErrLimit) && strings.Contains(err.Error(), "Resize") {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			p := r.In(f)
			if *p != (record{}) {
				t.Fatalf("a new value is %+v", *p)
			}
			p.key, p.next = uint64(len(all)), Root[record](f)
			SetRoot(f, r)
			all = append(all, kept{r, p})
		}
		if err := f.Resize(f.Size()*3/2 + 100); err != nil {
			t.Fatal(err)
		}
		for i, v := range all {
			if v.p.key != uint64(i) || v.r.In(f) != v.p {
				t.Fatalf("after %d Resizes, value %d moved or changed", round+1, i)
			}
		}
	}
	size, used := f.Size(), f.Used()
	if info, err := os.Stat(f.name); err != nil || info.Size() != size {
		t.Errorf("the file has %d bytes, Size says %d; %v", info.Size(), size, err)
	}
	if err := f.Sync(); err != nil {
		t.Error(err)
	}
	var listed int64
	for _, r := range Regions() {
		if r.Kind == "file" && r.Name == f.name {
			listed += r.Reserved
			used -= r.Used
		}
	}
	if listed != size || used != 0 {
		t.Errorf("Regions lists %d bytes of %d, and %d bytes in use too few", listed, size, used)
	}
	f = reopen(t, f)
	n := len(all)
	for r := Root[record](f); !r.IsNil(); r = r.In(f).next {
		if n--; r.In(f).key != uint64(n) {
			t.Fatalf("value %d is %d after the file was opened again", n, r.In(f).key)
		}
	}
	if n != 0 || f.Size() != size {
		t.Errorf("%d values are missing; %d bytes, want %d", n, f.Size(), size)
	}
}

// TestFileGrowsForLarge: a value that no part has room for gets one of its own.
func TestFileGrowsForLarge(t *testing.T) {
	f := tempFile(t, 8192)
	if _, err := MakeSliceInFile[byte](f, 1<<20); !errors.Is(err, ErrLimit) {
		t.Errorf("a megabyte in a file of 8 KiB: %v", err)
	}
	if err := f.Resize(f.Size() + 1<<20); err != nil {
		t.Fatal(err)
	}
	r, err := MakeSliceInFile[byte](f, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	b := r.In(f)
	fill(b, 3)
	if f.Used() != f.Size() || !filled(r.In(f), 3) {
		t.Errorf("%d of %d bytes are in use", f.Used(), f.Size())
	}
	// A slice that lies across the parts was never made.
	alloctest.MustPanic(t, func() { SliceRef[byte]{Ref[byte]{off: 8191}, 2}.In(f) }, "does not lead to 2 of uint8")
	f = reopen(t, f)
	if !filled(r.In(f), 3) {
		t.Error("the bytes changed")
	}
}

func TestFileShrinks(t *testing.T) {
	f := tempFile(t, 1<<20)
	r, err := NewInFile[record](f)
	if err != nil {
		t.Fatal(err)
	}
	p := r.In(f)
	p.key = 7
	SetRoot(f, r)
	if err := f.Resize(f.Used() - 1); err == nil || !strings.Contains(err.Error(), "in use") || f.Size() != 1<<20 {
		t.Errorf("Resize to less than is in use: %v, %d bytes", err, f.Size())
	}
	err = f.Resize(f.Used())
	if runtime.GOOS == "windows" {
		if err == nil || f.Size() != 1<<20 {
			t.Errorf("Resize of a mapped file on Windows: %v, %d bytes", err, f.Size())
		}
		return
	}
	if info, statErr := os.Stat(f.name); err != nil || statErr != nil || info.Size() != f.Used() || f.Size() != f.Used() {
		t.Fatalf("Resize to what is in use: %v, %v, %d bytes", err, statErr, f.Size())
	}
	if _, err := NewInFile[record](f); !errors.Is(err, ErrLimit) {
		t.Errorf("a file without room: %v", err)
	}
	if p.key != 7 || r.In(f) != p {
		t.Error("the value moved or changed")
	}
	if err := f.Resize(1 << 18); err != nil {
		t.Fatal(err)
	}
	s, err := MakeSliceInFile[byte](f, 1<<17)
	if err != nil || !allZero(s.In(f)) {
		t.Errorf("after it grew again: %v, or bytes that are not zero", err)
	}
	f = reopen(t, f)
	if Root[record](f).In(f).key != 7 || f.Size() != 1<<18 {
		t.Errorf("opened again: %d bytes", f.Size())
	}
}

func TestFileResizeRefused(t *testing.T) {
	f := tempFile(t, 1<<16)
	for _, size := range []int64{-1 << 63, -1, 0, fileStart, 1<<63 - 1, 1 << 62} {
		if err := f.Resize(size); err == nil || !strings.Contains(err.Error(), f.name) || f.Size() != 1<<16 {
			t.Errorf("Resize(%d): %v, %d bytes", size, err, f.Size())
		}
	}
	if err := f.Resize(1 << 16); err != nil {
		t.Errorf("Resize to the same size: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	wantMisuse(t, "closed", "use of a File that is closed", func() { _ = f.Resize(1 << 17) })
	f, err := OpenFileReadOnly(f.name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Resize(1 << 17); !errors.Is(err, fs.ErrPermission) || f.Size() != 1<<16 {
		t.Errorf("Resize of a file that is open for reading: %v", err)
	}
}

// TestFileResizeUnfinished opens a file that is longer than its header says, as one is whose Resize
// did not end.
func TestFileResizeUnfinished(t *testing.T) {
	f := tempFile(t, 1<<16)
	r, err := NewInFile[record](f)
	if err != nil {
		t.Fatal(err)
	}
	r.In(f).key = 9
	if err := errors.Join(f.Close(), os.Truncate(f.name, 1<<16+100_000)); err != nil {
		t.Fatal(err)
	}
	for _, open := range []func(string) (*File, error){OpenFileReadOnly, OpenFile} {
		if f, err = open(f.name); err != nil {
			t.Fatal(err)
		}
		if f.Size() != 1<<16 || r.In(f).key != 9 {
			t.Errorf("%d bytes, key %d", f.Size(), r.In(f).key)
		}
		if !f.readOnly {
			if err := f.Resize(1 << 17); err != nil {
				t.Error(err)
			}
			s, err := MakeSliceInFile[byte](f, 1<<16)
			if err != nil || !allZero(s.In(f)) {
				t.Errorf("the new bytes: %v", err)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFileResizeFromManyGoroutines allocates, follows Refs and lists regions while the file grows
// and shrinks.
func TestFileResizeFromManyGoroutines(t *testing.T) {
	f := tempFile(t, 8192)
	const each = 300
	refs := make([][]Ref[record], 4)
	var workers sync.WaitGroup
	for g := range refs {
		workers.Go(func() {
			for len(refs[g]) < each {
				r, err := NewInFile[record](f)
				if errors.Is(err, ErrLimit) {
					if err := f.Resize(f.Size() + 4096); err != nil {
						if strings.Contains(err.Error(), "in use") {
							continue // Another goroutine was faster, and the file is larger now.
						}
						t.Error(err)
						return
					}
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				r.In(f).key = uint64(g*each + len(refs[g]))
				refs[g] = append(refs[g], r)
				if runtime.GOOS != "windows" && len(refs[g])%50 == 0 {
					if err := f.Resize(f.Used()); err != nil && !strings.Contains(err.Error(), "in use") {
						t.Error(err)
					}
					Regions()
				}
			}
		})
	}
	workers.Wait()
	for g, list := range refs {
		for i, r := range list {
			if r.In(f).key != uint64(g*each+i) {
				t.Fatalf("value %d of goroutine %d is %d", i, g, r.In(f).key)
			}
		}
	}
}

// TestFileOfBytes keeps raw bytes in a file.
func TestFileOfBytes(t *testing.T) {
	f := tempFile(t, 1<<16)
	type root struct{ data SliceRef[byte] }
	r, err := NewInFile[root](f)
	if err != nil {
		t.Fatal(err)
	}
	if r.In(f).data, err = MakeSliceInFile[byte](f, 10_000); err != nil {
		t.Fatal(err)
	}
	b := r.In(f).data.In(f)
	fill(b, 4)
	SetRoot(f, r)
	f = reopen(t, f)
	if got := Root[root](f).In(f).data.In(f); len(got) != 10_000 || !filled(got, 4) {
		t.Errorf("%d bytes, or others", len(got))
	}
}

// TestFileMapsAreFew: a file that grows and shrinks, or grows by little, takes few maps. The system
// ends a process that has no more of them.
func TestFileMapsAreFew(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot shrink")
	}
	f := tempFile(t, 1<<16)
	for range 20 {
		for _, size := range []int64{1 << 20, 1 << 18, 1 << 16} {
			if err := f.Resize(size); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := len(f.maps); n > 2 {
		t.Errorf("%d maps of a file that grew 20 times to the same size", n)
	}
	if err := f.Resize(1 << 20); err != nil {
		t.Fatal(err)
	}
	r, err := MakeSliceInFile[byte](f, 1<<19)
	if err != nil {
		t.Fatal(err)
	}
	fill(r.In(f), 5)
	if runtime.GOOS == "linux" {
		for range 100 {
			if err := f.Resize(f.Size() + 100); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(f.maps); n > 3 {
			t.Errorf("%d maps of a file that grew by 100 bytes 100 times", n)
		}
	}
	if f = reopen(t, f); !filled(r.In(f), 5) {
		t.Error("the bytes changed")
	}
}

// TestTwoFilesOfOne: a File that another File has resized allocates nothing behind the end, where an
// access would end the process, and resizes nothing, because it may not know all values.
func TestTwoFilesOfOne(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot shrink")
	}
	a := tempFile(t, 1<<20)
	b, err := OpenFile(a.name)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Resize(1 << 13); err != nil {
		t.Fatal(err)
	}
	if r, err := MakeSliceInFile[byte](b, 1<<18); !errors.Is(err, ErrLimit) {
		t.Errorf("%v, %v, want ErrLimit", r, err)
	}
	if err := b.Resize(1 << 19); err == nil || !strings.Contains(err.Error(), "open it again") || b.Size() != 1<<20 {
		t.Errorf("Resize of %d bytes: %v", b.Size(), err)
	}
	if err := a.Resize(1 << 21); err != nil {
		t.Fatal(err)
	}
	r, err := MakeSliceInFile[byte](a, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	alloctest.MustPanic(t, func() { r.In(b) }, "does not lead to")
	if err := b.Resize(3 << 20); err == nil || a.Size() != 1<<21 {
		t.Errorf("Resize of a File that is not the last to do so: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	fill(r.In(a), 3)
}

// TestRootWhileSet reads a root while it changes from one layout to the other and back.
func TestRootWhileSet(t *testing.T) {
	f := tempFile(t, 1<<16)
	type other struct{ a, b, c uint32 }
	r, err := NewInFile[record](f)
	if err != nil {
		t.Fatal(err)
	}
	o, err := NewInFile[other](f)
	if err != nil {
		t.Fatal(err)
	}
	SetRoot(f, r)
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			SetRoot(f, o)
			SetRoot(f, r)
		}
	})
	for range 100_000 {
		if got, err := TryRoot[other](f); err == nil && !got.IsNil() && got != o {
			t.Errorf("the root is %v, want %v", got, o)
			break
		}
	}
	stop.Store(true)
	wg.Wait()
}
