// SPDX-License-Identifier: Apache-2.0

package gctune

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

const mib = 1 << 20

func TestReadLevels(t *testing.T) {
	machine := level{"the machine", 24684044 << 10, 24684044 << 10, (24684044 - 23592960) << 10, "proc/pressure/memory", true}
	for _, c := range []struct {
		layout string
		source Source
		want   []level
	}{
		{"v1", Auto, []level{
			{"cgroup v1 /sys/fs/cgroup/memory/app (memory.limit_in_bytes)", 256 * mib, 256 * mib, 41749760 - 19996672 - 8192, "", false},
			machine,
		}},
		{"v1", Machine, []level{machine}},
		{"v1-container", Cgroup, []level{
			{"cgroup v1 /sys/fs/cgroup/memory (hierarchical_memory_limit)", 512 * mib, 512 * mib, 50 * mib, "", false},
		}},
		{"v2", Auto, []level{
			{"cgroup v2 /sys/fs/cgroup (memory.max)", 512 * mib, 512 * mib, 218 * mib, "sys/fs/cgroup/memory.pressure", false},
			machine,
		}},
		{"v2-nested", Cgroup, []level{
			{"cgroup v2 /sys/fs/cgroup/kubepods.slice/pod1.slice/app.scope (memory.high)", 640 * mib, 768 * mib, 204 * mib,
				"sys/fs/cgroup/kubepods.slice/pod1.slice/app.scope/memory.pressure", false},
			{"cgroup v2 /sys/fs/cgroup/kubepods.slice/pod1.slice (memory.max)", 1024 * mib, 1024 * mib, 727 * mib,
				"sys/fs/cgroup/kubepods.slice/pod1.slice/memory.pressure", false},
		}},
	} {
		got, err := readLevels(os.DirFS(filepath.Join("testdata", c.layout)), c.source)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n%+v, error %v; want\n%+v", c.layout, got, err, c.want)
		}
	}
}

// v2 is a group of version 2 with these files.
func v2(files ...string) fstest.MapFS {
	root := fstest.MapFS{
		"proc/self/cgroup":    {Data: []byte("0::/\n")},
		"proc/self/mountinfo": {Data: []byte("29 25 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")},
	}
	for i := 0; i < len(files); i += 2 {
		root["sys/fs/cgroup/"+files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return root
}

func TestReadLevelsSingleFiles(t *testing.T) {
	for _, c := range []struct {
		name        string
		root        fs.FS
		limit, hard int64
		text        string // of the error
	}{
		{"high alone", v2("memory.current", "1", "memory.max", "max", "memory.high", "4096"), 4096, 4096, ""},
		{"high above max", v2("memory.current", "1", "memory.max", "4096", "memory.high", "8192"), 4096, 4096, ""},
		{"no limit", v2("memory.current", "1", "memory.max", "max", "memory.high", "max"), 0, 0, ""},
		{"an old kernel without memory.high", v2("memory.current", "1", "memory.max", "4096"), 4096, 4096, ""},
		{"more than an int64", v2("memory.current", "1", "memory.max", "18446744073709551615"), 0, 0, ""},
		{"nonsense", v2("memory.current", "1", "memory.max", "lots"), 0, 0,
			`gctune: /sys/fs/cgroup/memory.max holds "lots"; want a number of bytes or max`},
		{"empty", v2("memory.current", "1", "memory.max", ""), 0, 0, `gctune: /sys/fs/cgroup/memory.max holds ""; want a number of bytes or max`},
		{"no files at all", fstest.MapFS{}, 0, 0, ""},
		{"refused", refusing{v2("memory.current", "1", "memory.max", "4096")}, 0, 0, "gctune: cannot read a limit: open sys/fs/cgroup/memory.max: permission denied"},
	} {
		levels, err := readLevels(c.root, Auto)
		if c.text != "" {
			if err == nil || err.Error() != c.text {
				t.Errorf("%s: error %v, want %s", c.name, err, c.text)
			}
			continue
		}
		var limit, hard int64
		if len(levels) > 0 {
			limit, hard = levels[0].limit, levels[0].hard
		}
		if err != nil || limit != c.limit || hard != c.hard {
			t.Errorf("%s: limit %d, hard %d, error %v; want %d and %d", c.name, limit, hard, err, c.limit, c.hard)
		}
	}
}

// refusing is a file system in which memory.max may not be read.
type refusing struct{ fs.FS }

func (r refusing) Open(name string) (fs.File, error) {
	if strings.HasSuffix(name, "memory.max") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return r.FS.Open(name)
}

// TestV1WithoutHierarchy: limits above a group do not bind it where use_hierarchy is 0, as in
// kernels before 5.11.
func TestV1WithoutHierarchy(t *testing.T) {
	const top = "sys/fs/cgroup/memory/"
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	root := fstest.MapFS{
		"proc/self/cgroup":                {Data: []byte("4:memory:/a/b\n")},
		"proc/self/mountinfo":             {Data: []byte("35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n")},
		top + "memory.usage_in_bytes":     file("900"),
		top + "a/memory.usage_in_bytes":   file("900"),
		top + "a/memory.limit_in_bytes":   file("1000"),
		top + "a/memory.use_hierarchy":    file("0"),
		top + "a/b/memory.usage_in_bytes": file("500"),
		top + "a/b/memory.limit_in_bytes": file("2000"),
		top + "a/b/memory.use_hierarchy":  file("0"),
	}
	for _, want := range []int64{2000, 1000} {
		levels, err := readLevels(root, Auto)
		least := int64(none)
		for _, l := range levels {
			least = min(least, l.limit)
		}
		if err != nil || least != want {
			t.Errorf("%+v, error %v; want the least limit to be %d", levels, err, want)
		}
		root[top+"a/memory.use_hierarchy"] = file("1")
	}
}

func TestReadPressure(t *testing.T) {
	root := fstest.MapFS{
		"a": {Data: []byte("some avg10=12.50 avg60=0.40 avg300=0.10 total=1822421\nfull avg10=3.25 avg60=0.10 avg300=0.02 total=911233\n")},
		"b": {Data: []byte("some avg10=often\n\nnonsense\n")},
		"c": {},
	}
	for name, want := range map[string]Pressure{"a": {true, 12.5, 3.25}, "b": {}, "c": {}, "d": {}, "": {}} {
		if got := readPressure(root, name); got != want {
			t.Errorf("%q: %+v, want %+v", name, got, want)
		}
	}
}

func TestOwnMemory(t *testing.T) {
	for text, want := range map[string]int64{
		"Name:\tx\nRssAnon:\t    1024 kB\nRssFile:\t     512 kB\nRssShmem:\t       8 kB\n": 1032 << 10,
		"Name:\tx\n":            -1,
		"RssAnon:\t many kB\n":  -1,
		"RssAnon:\t    0 kB\n":  0,
		"RssAnon:\t    16 kB\n": 16 << 10,
	} {
		if got := ownMemory(fstest.MapFS{"proc/self/status": {Data: []byte(text)}}); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := ownMemory(fstest.MapFS{}); got != -1 {
		t.Errorf("no file: %d, want -1", got)
	}
}

// FuzzReadLevels gives the readers files that no kernel writes.
func FuzzReadLevels(f *testing.F) {
	f.Add("0::/a\n", "29 25 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "4096\n", "inactive_file 12\n", "MemTotal: 12 kB\n")
	f.Add("4:memory:/a\n", "35 31 0:32 / /sys/fs/cgroup rw - cgroup cgroup rw,memory\n", "max\n", "hierarchical_memory_limit 12\n", "")
	f.Add("4:memory:/../a\n", "35 31 0:32 /\\134 /sys/fs/cgroup rw - cgroup cgroup rw,memory\n", "-1", "", "MemTotal: 99999999999999999 kB\n")
	f.Fuzz(func(t *testing.T, groups, mounts, number, stat, meminfo string) {
		root := fstest.MapFS{"proc/self/cgroup": {Data: []byte(groups)}, "proc/self/mountinfo": {Data: []byte(mounts)}, "proc/meminfo": {Data: []byte(meminfo)}}
		for _, dir := range []string{"sys/fs/cgroup/", "sys/fs/cgroup/a/"} {
			for _, name := range []string{"memory.max", "memory.high", "memory.current", "memory.limit_in_bytes", "memory.usage_in_bytes", "memory.use_hierarchy"} {
				root[dir+name] = &fstest.MapFile{Data: []byte(number)}
			}
			root[dir+"memory.stat"] = &fstest.MapFile{Data: []byte(stat)}
		}
		levels, err := readLevels(root, Auto)
		if err != nil && !strings.HasPrefix(err.Error(), "gctune: ") {
			t.Errorf("error %v", err)
		}
		for _, l := range levels {
			if l.limit < 0 || l.limit == none || l.hard < l.limit || l.used < -1 {
				t.Errorf("%+v", l)
			}
		}
	})
}
