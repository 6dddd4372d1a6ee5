// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/alloctest"
)

// The types of another version of a program, with what differs.
type (
	entryV1 struct {
		Next Ref[entryV1]
		N    int64
		Tail tailV1
	}
	tailV1 struct{ List [3]uint16 }

	renamed struct { // The same layout by other names.
		Before Ref[renamed]
		Count  int64
		End    struct{ All [3]uint16 }
	}
	otherKind struct {
		Next Ref[otherKind]
		N    float64
		Tail tailV1
	}
	otherOrder struct {
		N    int64
		Next Ref[otherOrder]
		Tail tailV1
	}
	otherLength struct {
		Next Ref[otherLength]
		N    int64
		Tail struct{ List [4]uint16 }
	}
	otherTarget struct { // Itself the same, but its Refs lead to something else.
		Next Ref[point]
		N    int64
		Tail tailV1
	}
	oneMore struct {
		Next Ref[oneMore]
		N    int64
		Tail tailV1
		More byte // In the former padding.
	}
	large struct {
		A [20]struct {
			A [20]struct{ X, Y, Z Ref[point] }
			B [30]struct{ C complex64 }
		}
		Wide wide
	}
)

type wide struct {
	F00, F01, F02, F03, F04, F05, F06, F07, F08, F09 struct{ A, B, C, D, E, F, G, H, I, J, K, L int32 }
	G00, G01, G02, G03, G04, G05, G06, G07, G08, G09 struct{ A, B, C, D, E, F, G, H, I, J, K, L int32 }
	H00, H01, H02, H03, H04, H05, H06, H07, H08, H09 struct{ A, B, C, D, E, F, G, H, I, J, K, L int32 }
	Last                                             int32
}

type wideOther struct {
	F00, F01, F02, F03, F04, F05, F06, F07, F08, F09 struct{ A, B, C, D, E, F, G, H, I, J, K, L int32 }
	G00, G01, G02, G03, G04, G05, G06, G07, G08, G09 struct{ A, B, C, D, E, F, G, H, I, J, K, L int32 }
	H00, H01, H02, H03, H04, H05, H06, H07, H08, H09 struct{ A, B, C, D, E, F, G, H, I, J, K, L int32 }
	Last                                             uint32
}

func wantLayoutError[T any](t *testing.T, f *File, says ...string) {
	t.Helper()
	r, err := TryRoot[T](f)
	if !errors.Is(err, ErrLayout) || !r.IsNil() {
		t.Errorf("root as a %s: %v, %v, want ErrLayout", reflect.TypeFor[T](), r, err)
		return
	}
	for _, s := range append(says, f.name, reflect.TypeFor[T]().String()) {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("root as a %s: %q does not say %q", reflect.TypeFor[T](), err, s)
		}
	}
	if v, ok := caught(func() { Root[T](f) }).(error); !ok || !errors.Is(v, ErrLayout) {
		t.Errorf("Root of a %s panics with %v", reflect.TypeFor[T](), v)
	}
}

// TestFileLayout opens a file with the types of other versions of a program.
func TestFileLayout(t *testing.T) {
	f := tempFile(t, 1<<16)
	if r, err := TryRoot[otherKind](f); err != nil || !r.IsNil() {
		t.Errorf("a file without a root: %v, %v", r, err)
	}
	r, err := NewInFile[entryV1](f)
	if err != nil {
		t.Fatal(err)
	}
	SetRoot(f, r)
	f = reopen(t, f)
	if got := Root[entryV1](f); got != r {
		t.Errorf("root %v, want %v", got, r)
	}
	if got, err := TryRoot[renamed](f); err != nil || got.off != r.off {
		t.Errorf("by other names: %v, %v", got, err)
	}
	wantLayoutError[otherKind](t, f, `otherKind.N is "float64 at 8" here and "int64 at 8" in the file`)
	wantLayoutError[otherOrder](t, f, `otherOrder.N is "int64 at 0" here and "Ref to type 0 at 0" in the file`)
	wantLayoutError[otherTarget](t, f, `otherTarget.Next is "Ref to type 1 at 0" here and "Ref to type 0 at 0" in the file`)
	wantLayoutError[oneMore](t, f, "oneMore.More", "has no field")
	wantLayoutError[point](t, f, "16 bytes", "24 bytes")
	if r.In(f).Tail.List = [3]uint16{1, 2, 3}; reflect.TypeFor[otherLength]().Size() == reflect.TypeFor[entryV1]().Size() {
		wantLayoutError[otherLength](t, f, "otherLength.Tail.List", "4 times", "3 times")
	}

	other, err := NewInFile[point](f) // A root of another type replaces the layout, too.
	if err != nil {
		t.Fatal(err)
	}
	SetRoot(f, other)
	f = reopen(t, f)
	if got := Root[point](f); got != other {
		t.Errorf("the new root is %v, want %v", got, other)
	}
	wantLayoutError[entryV1](t, f)
}

// TestFileLayoutLong is of types whose text exceeds the header: the digest tells them apart.
func TestFileLayoutLong(t *testing.T) {
	f := tempFile(t, 1<<20)
	r, err := NewInFile[large](f)
	if err != nil {
		t.Fatal(err)
	}
	SetRoot(f, r)
	f = reopen(t, f)
	if got := Root[large](f); got != r {
		t.Errorf("root %v, want %v", got, r)
	}
	w, err := NewInFile[wide](f)
	if err != nil {
		t.Fatal(err)
	}
	SetRoot(f, w)
	f = reopen(t, f)
	if len(describe[wide]().layout().text()) <= len(f.head.layoutText) {
		t.Fatal("the text of the layout is too short for this test")
	}
	Root[wide](f)
	wantLayoutError[wideOther](t, f, "has no field")
}

// TestFileLayoutDamaged: whatever the header says of the layout, the answer is an error.
func TestFileLayoutDamaged(t *testing.T) {
	f := tempFile(t, 1<<16)
	r, err := NewInFile[entryV1](f)
	if err != nil {
		t.Fatal(err)
	}
	for what, harm := range map[string]func(h *fileHeader){
		"length 0":     func(h *fileHeader) { h.layoutLen.Store(0) },
		"huge length":  func(h *fileHeader) { h.layoutLen.Store(1<<32 - 1) },
		"other digest": func(h *fileHeader) {},
		"other text":   func(h *fileHeader) { h.layoutText[3] = 0xff },
		"no text":      func(h *fileHeader) { clear(h.layoutText[:]) },
		"digest 0":     func(h *fileHeader) { h.layout.Store(0) },
	} {
		SetRoot(f, r)
		f.head.layout.Add(1)
		harm(f.head)
		if _, err := TryRoot[entryV1](f); !errors.Is(err, ErrLayout) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// reopen closes the file and opens it again.
func reopen(t *testing.T, f *File) *File {
	t.Helper()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := OpenFile(f.name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if again.open.Load() {
			_ = again.Close()
		}
	})
	return again
}

// TestFileReadOnly opens a file that the program may not write.
func TestFileReadOnly(t *testing.T) {
	f := tempFile(t, 1<<16)
	r, err := NewInFile[entryV1](f)
	if err != nil {
		t.Fatal(err)
	}
	r.In(f).N = 42
	SetRoot(f, r)
	if err := errors.Join(f.Close(), os.Chmod(f.name, 0o444)); err != nil {
		t.Fatal(err)
	}
	if again, err := OpenFile(f.name); err == nil { // For root, everything may be written.
		_ = again.Close()
	} else if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "OpenFileReadOnly") || !strings.Contains(err.Error(), f.name) {
		t.Errorf("OpenFile of a file that must not be written: %v", err)
	}
	f, err = OpenFileReadOnly(f.name)
	if err != nil {
		t.Fatal(err)
	}
	if got := Root[entryV1](f).In(f).N; got != 42 {
		t.Errorf("the value is %d, want 42", got)
	}
	used := f.Used()
	if _, err := NewInFile[point](f); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("NewInFile: %v", err)
	}
	if _, err := MakeSliceInFile[byte](f, 10); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("MakeSliceInFile: %v", err)
	}
	wantMisuse(t, "SetRoot", "change of a File that is open for reading only", func() { SetRoot(f, r) })
	p := r.In(f)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	if caught(func() { p.N = 1 }) == nil || p.N != 42 || f.Used() != used {
		t.Error("a file that is open for reading was changed")
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Error(err)
	}
}

// fileCalls are all calls of a File.
func fileCalls(f *File) map[string]func() {
	return map[string]func(){
		"NewInFile":       func() { _, _ = NewInFile[point](f) },
		"MakeSliceInFile": func() { _, _ = MakeSliceInFile[point](f, 3) },
		"In":              func() { Ref[point]{off: fileStart}.In(f) },
		"SliceRef.In":     func() { SliceRef[point]{Ref[point]{off: fileStart}, 1}.In(f) },
		"NewStringInFile": func() { _, _ = NewStringInFile(f, "text") },
		"Resize":          func() { _ = f.Resize(1 << 17) },
		"SetRoot":         func() { SetRoot(f, Ref[point]{}) },
		"Root":            func() { Root[point](f) },
		"TryRoot":         func() { _, _ = TryRoot[point](f) },
		"Used":            func() { f.Used() },
		"Size":            func() { f.Size() },
		"Sync":            func() { _ = f.Sync() },
	}
}

// TestCopiedFile calls everything of a copy, before and after the original's Close.
func TestCopiedFile(t *testing.T) {
	f := tempFile(t, 1<<16)
	c := copyOf(f)
	calls := fileCalls(c)
	calls["Close"] = func() { _ = c.Close() }
	for range 2 {
		for what, call := range calls {
			m := wantMisuse(t, what, "use of a copied File", call)
			if !strings.Contains(m.Error(), f.name) {
				t.Errorf("%s: %v", what, m)
			}
		}
		if f.open.Load() {
			if _, err := NewInFile[point](f); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	zero := new(File)
	calls = fileCalls(zero)
	calls["Close"] = func() { _ = zero.Close() }
	for what, call := range calls {
		wantMisuse(t, what, "use of a File that CreateFile or OpenFile did not make", call)
	}
	calls = fileCalls(f)
	delete(calls, "Size") // It is the same after Close.
	for _, call := range calls {
		alloctest.MustPanic(t, call, "offheap: ", "closed", f.name)
	}
}

// TestFileNotRegular opens paths that are no regular files. None may block.
func TestFileNotRegular(t *testing.T) {
	needFiles(t)
	dir := t.TempDir()
	for _, open := range []func(string) (*File, error){OpenFile, OpenFileReadOnly} {
		for path, says := range map[string]string{dir: "it is a directory, not a regular file", os.DevNull: "it is a device, not a regular file", filepath.Join(dir, "none"): "none"} {
			f, err := open(path)
			if err == nil || f != nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v, want an error that says %q", path, err, says)
			}
		}
	}
}
