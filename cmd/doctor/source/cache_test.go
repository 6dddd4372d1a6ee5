// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func newCache(t *testing.T) *cache {
	t.Helper()
	return &cache{dir: filepath.Join(t.TempDir(), "kept"), bound: 1 << 20, now: func() time.Time { return noon }}
}

// TestCacheBroken: a file that is truncated, changed, empty or of another kind counts as missing,
// and the next put replaces it.
func TestCacheBroken(t *testing.T) {
	for name, damage := range map[string]func(data []byte) []byte{
		"truncated": func(data []byte) []byte { return data[:len(data)-1] },
		"changed":   func(data []byte) []byte { data[len(data)/2+16] ^= 1; return data },
		"begun":     func(data []byte) []byte { return data[:7] },
		"empty":     func([]byte) []byte { return nil },
		"foreign":   func([]byte) []byte { return []byte(strings.Repeat("#!/bin/sh\n", 20)) },
	} {
		c := newCache(t)
		put, got := facts{Name: "store", Types: []Type{{Name: "int"}}}, facts{}
		c.put("key", put)
		if !c.get("key", &got) || got.Name != "store" {
			t.Fatalf("kept is %+v", got)
		}
		file := filepath.Join(c.dir, "key"+cacheEnding)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, damage(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if c.get("key", &facts{}) {
			t.Errorf("%s: the file is read", name)
		}
		if c.put("key", put); !c.get("key", &got) {
			t.Errorf("%s: the file is not replaced", name)
		}
	}
}

// TestCacheBound: the files that were not used for longest go first, others' files stay.
func TestCacheBound(t *testing.T) {
	c := newCache(t)
	value := strings.Repeat("x", 1000)
	c.put("probe", value)
	info, err := os.Stat(filepath.Join(c.dir, "probe"+cacheEnding))
	if err != nil {
		t.Fatal(err)
	}
	c.bound = 4*info.Size() + 10
	os.Remove(filepath.Join(c.dir, info.Name()))
	foreign := filepath.Join(c.dir, "letter.txt")
	if err := os.WriteFile(foreign, make([]byte, 1<<16), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		name := fmt.Sprintf("f%d", i)
		c.put(name, value)
		when := noon.Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(filepath.Join(c.dir, name+cacheEnding), when, when); err != nil {
			t.Fatal(err)
		}
	}
	var text string
	c.get("f0", &text) // used at noon, after all others
	c.put("f4", value)
	for name, want := range map[string]bool{"f0": true, "f1": false, "f2": true, "f3": true, "f4": true} {
		if got := c.get(name, &text); got != want {
			t.Errorf("%s is kept: %v, want %v", name, got, want)
		}
	}
	if c.put("large", strings.Repeat("x", int(c.bound))); c.get("large", &text) || !c.get("f4", &text) {
		t.Error("a value above the bound is kept, or evicted others")
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error(err)
	}
}

// TestCacheShared: readers of a file that others replace see a whole value or none, and nothing
// stays under the names of files that are being written.
func TestCacheShared(t *testing.T) {
	c := newCache(t)
	value := strings.Repeat("whole ", 10000)
	var all sync.WaitGroup
	for range 4 {
		own := *c
		all.Go(func() {
			for range 20 {
				own.put("key", value)
				var got string
				if own.get("key", &got) && got != value {
					t.Errorf("read %d bytes of %d", len(got), len(value))
				}
			}
		})
	}
	all.Wait()
	if names := namesIn(t, c.dir); !slices.Equal(names, []string{"key" + cacheEnding}) {
		t.Errorf("files %q", names)
	}
}

// TestCacheNowhere: without a folder, or where none can be made, nothing is kept, and nothing fails.
func TestCacheNowhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", filepath.Join(file, "below")} {
		c := newCache(t)
		c.dir = dir
		c.put("key", 1)
		if n := 0; c.get("key", &n) {
			t.Errorf("%q: kept", dir)
		}
	}
}

func TestCacheFolder(t *testing.T) {
	t.Setenv(cacheVariable, "/some/where")
	if got := CacheFolder(); got != "/some/where" {
		t.Errorf("folder %q", got)
	}
	t.Setenv(cacheVariable, "off")
	if got := CacheFolder(); got != "" {
		t.Errorf("off: folder %q", got)
	}
	t.Setenv(cacheVariable, "")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", "")
	if user, err := os.UserCacheDir(); err == nil && CacheFolder() != filepath.Join(user, "freehold", "source") {
		t.Errorf("folder %q, the user's is %q", CacheFolder(), user)
	}
}

func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// filesIn are the files of a folder. A file that was written again is another one.
func filesIn(t *testing.T, dir string) map[string]fs.FileInfo {
	t.Helper()
	files := map[string]fs.FileInfo{}
	for _, name := range namesIn(t, dir) {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = info
	}
	return files
}

// written counts the files that are new or were written again.
func written(before, after map[string]fs.FileInfo) (n int) {
	for name, info := range after {
		if old := before[name]; old == nil || !os.SameFile(old, info) {
			n++
		}
	}
	return n
}
