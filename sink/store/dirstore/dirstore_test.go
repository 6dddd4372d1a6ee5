// SPDX-License-Identifier: Apache-2.0

package dirstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/freehold-go/freehold/sink/store"
	"github.com/freehold-go/freehold/sink/store/storetest"
)

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// files lists the files below a directory.
func files(t testing.TB, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, err = filepath.Rel(dir, name)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// left lists what no object explains: temporary files, and JSON files whose object is gone.
func left(t testing.TB, s *Store) (what []string) {
	all := files(t, s.path)
	for _, name := range all {
		dir, base := filepath.Split(name)
		if object, ok := strings.CutPrefix(base, reserved+"-"); ok {
			if _, err := os.Lstat(filepath.Join(s.path, dir, object)); err != nil {
				what = append(what, name)
			}
		}
		if strings.HasPrefix(name, reserved+"/") && base != lockFile {
			what = append(what, name)
		}
	}
	return what
}

func TestConformance(t *testing.T) {
	storetest.Suite{
		Open:  func(t *testing.T) store.Store { return open(t, t.TempDir()) },
		Left:  func(t *testing.T, s store.Store) []string { return left(t, s.(*Store)) },
		Many:  60, // each costs six fsyncs
		Large: 1<<20 + 1,
	}.Run(t)
}

var about = store.About{ContentType: "text/plain", ContentEncoding: "gzip", Topic: "t", Group: "g", FirstOffset: 7}

func put(t testing.TB, s *Store, key, content string) {
	t.Helper()
	if err := s.Put(t.Context(), key, store.Bytes([]byte(content)), about); err != nil {
		t.Fatal(err)
	}
}

// get returns the content of an object, or "" if there is none.
func get(t testing.TB, s *Store, key string) (string, store.Info) {
	t.Helper()
	r, info, err := s.Get(t.Context(), key)
	if errors.Is(err, store.ErrNotFound) {
		return "", info
	}
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	return string(content), info
}

// TestEachStepFails makes each change of the file system fail in turn, as a full disk does, for a
// new object and for one that is there: the old one stays with its About, and nothing else is left.
func TestEachStepFails(t *testing.T) {
	for _, old := range []string{"", "old"} {
		for n, done := 1, false; !done; n++ {
			s := open(t, t.TempDir())
			if old != "" {
				put(t, s, "a/b", old)
			}
			steps := 0
			s.step = func(name string) error {
				if steps++; steps == n {
					return fmt.Errorf("%s: %w", name, syscall.ENOSPC)
				}
				return nil
			}
			err := s.Put(t.Context(), "a/b", store.Bytes([]byte("new")), about)
			done = steps < n
			content, info := get(t, s, "a/b")
			switch {
			case done && err != nil:
				t.Errorf("without a failure: %v", err)
			case !done && (!errors.Is(err, syscall.ENOSPC) || store.IsPermanent(err) || !strings.Contains(err.Error(), "the disk is full")):
				t.Errorf("step %d: %v", n, err)
			case content != old && content != "new", content != "" && info.About != about:
				t.Errorf("step %d failed and left %q, %+v", n, content, info)
			}
			if what := left(t, s); len(what) > 0 {
				t.Errorf("step %d failed and left %q", n, what)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if n > 30 {
				t.Fatal("a Put has more than 30 steps")
			}
		}
	}
}

// TestFullDisk fills a real file system. Only root can mount one.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a small file system: %s", out)
	}
	defer exec.Command("umount", dir).Run()
	s := open(t, dir)
	defer s.Close()
	put(t, s, "small", "fits")
	err := s.Put(t.Context(), "big", store.Bytes(make([]byte, 2<<20)), about)
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("%v", err)
	}
	if what := left(t, s); len(what) > 0 {
		t.Errorf("left %q", what)
	}
	put(t, s, "after", strings.Repeat("x", 500_000))
}

func TestSweepsFilesOfDeadProcesses(t *testing.T) {
	dir := t.TempDir()
	if os.Getenv("DIRSTORE_CHILD") != "" {
		s := open(t, os.Getenv("DIRSTORE_CHILD"))
		s.step = func(name string) error {
			if name == "sync" {
				self, _ := os.FindProcess(os.Getpid())
				self.Kill()
				select {}
			}
			return nil
		}
		put(t, s, "k", "never complete")
		return
	}
	alive := open(t, dir)
	defer alive.Close()
	alive.step = func(name string) error {
		if name != "sync" {
			return nil
		}
		alive.step = func(string) error { return nil } // Another file is synced later, when there are more.
		child := exec.Command(os.Args[0], "-test.run=^TestSweepsFilesOfDeadProcesses$")
		child.Env = append(os.Environ(), "DIRSTORE_CHILD="+dir)
		if out, err := child.CombinedOutput(); err == nil {
			t.Errorf("the child was not killed: %s", out)
		}
		before := len(left(t, alive))
		other := open(t, dir)
		if n := len(left(t, alive)); before != 2 || n != 1 {
			t.Errorf("%d temporary files, %d after another process began; want 2, and that of the living process", before, n)
		}
		return other.Close()
	}
	put(t, alive, "k", "complete")
	if content, _ := get(t, alive, "k"); content != "complete" {
		t.Errorf("%q", content)
	}
}

// TestAboutThatDoesNotBelong changes the two files of an object behind the store's back.
func TestAboutThatDoesNotBelong(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.Close()
	object, beside := filepath.Join(s.path, "a", "b"), filepath.Join(s.path, "a", ".freehold-b")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	want := func(content string, hasAbout bool) {
		t.Helper()
		got, info := get(t, s, "a/b")
		if got != content || info.HasAbout != hasAbout || info.HasCRC != hasAbout || hasAbout && info.About != about {
			t.Errorf("%q, %+v, want %q, %v", got, info, content, hasAbout)
		}
	}
	put(t, s, "a/b", "content")
	want("content", true)
	must(os.Chtimes(object, time.Time{}, time.Unix(1, 0))) // as a copy has another time
	want("content", true)
	must(os.WriteFile(object, []byte("CONTENT"), 0o666))
	want("CONTENT", false)
	must(os.WriteFile(object, []byte("longer content"), 0o666))
	want("longer content", false)
	must(os.WriteFile(beside, []byte(`{"size":`), 0o666))
	want("longer content", false)
	must(os.Remove(beside))
	want("longer content", false)
	put(t, s, "a/b", "again")
	want("again", true)
	if err := s.Delete(t.Context(), "a/b"); err != nil {
		t.Error(err)
	}
	if names := files(t, s.path); len(names) != 2 { // the two locks
		t.Errorf("%q", names)
	}
}

func TestNothingOutsideTheRoot(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	s := open(t, t.TempDir())
	defer s.Close()
	if err := os.Symlink(outside, filepath.Join(s.path, "link")); err != nil {
		t.Skip(err)
	}
	if r, _, err := s.Get(t.Context(), "link/secret"); err == nil {
		r.Close()
		t.Error("Get followed a link out of the root")
	}
	if err := s.Put(t.Context(), "link/new", store.Bytes([]byte("x")), about); err == nil {
		t.Error("Put followed a link out of the root")
	}
	if err := s.Delete(t.Context(), "link/secret"); err == nil {
		t.Error("Delete followed a link out of the root")
	}
	if names := files(t, outside); len(names) != 1 {
		t.Errorf("%q", names)
	}
}

func TestReservedNamesAndFolders(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.Close()
	put(t, s, "a", "object")
	put(t, s, "d/x", "object")
	for _, key := range []string{".freehold/x", "x/.freehold-y", "a/b", "d", strings.Repeat("x", 300)} {
		err := s.Put(t.Context(), key, store.Bytes([]byte("x")), about)
		if !store.IsPermanent(err) {
			t.Errorf("Put(%.20q): %v, want a permanent error", key, err)
		}
	}
	if what := left(t, s); len(what) > 0 {
		t.Errorf("left %q", what)
	}
	if _, _, err := s.Get(t.Context(), "d"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get of a folder: %v", err)
	}
	if _, _, err := s.Get(t.Context(), "a/b"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get below an object: %v", err)
	}
}

func BenchmarkPut9MiB(b *testing.B) {
	s := open(b, b.TempDir())
	defer s.Close()
	body := store.Bytes(bytes.Repeat([]byte("0123456789abcdef"), 9<<16))
	b.ReportAllocs()
	b.SetBytes(body.Size())
	for b.Loop() {
		if err := s.Put(context.Background(), "k", body, about); err != nil {
			b.Fatal(err)
		}
	}
}
