// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"math"
	"os"
	"runtime"
	"testing"
	"testing/fstest"
)

func files(m map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range m {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func TestReadKernelSettings(t *testing.T) {
	root := files(map[string]string{
		"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
		"sys/kernel/mm/transparent_hugepage/defrag":  "always defer [defer+madvise] madvise never\n",
		"proc/sys/vm/overcommit_memory":              "2\n",
		"proc/sys/vm/max_map_count":                  "65530\n",
		"proc/sys/kernel/osrelease":                  "6.1.0-18-amd64\n",
		"proc/self/maps":                             "a\nb\nc\n",
		"proc/meminfo":                               "MemTotal:       1000 kB\nMemAvailable:  500 kB\nCommitLimit: 7 kB\nCommitted_AS: 3 kB\nHugePages_Total: 9\n",
	})
	if got, want := ReadHugePages(root), (HugePages{"madvise", "defer+madvise"}); got != want {
		t.Errorf("huge pages %+v, want %+v", got, want)
	}
	if got := ReadOvercommit(root); got != 2 {
		t.Errorf("overcommit %d, want 2", got)
	}
	if now, limit := ReadMaps(root); now != 3 || limit != 65530 {
		t.Errorf("maps %d of %d, want 3 of 65530", now, limit)
	}
	if got := ReadKernel(root); got != "6.1.0-18-amd64" {
		t.Errorf("kernel %q", got)
	}
	if got, want := ReadMemInfo(root), (MemInfo{1000 << 10, 500 << 10, 7 << 10, 3 << 10}); got != want {
		t.Errorf("meminfo %+v, want %+v", got, want)
	}
}

func TestNothingIsGuessed(t *testing.T) {
	for name, root := range map[string]fstest.MapFS{
		"no files": {},
		"nonsense": files(map[string]string{
			"sys/kernel/mm/transparent_hugepage/enabled": "yes",
			"proc/sys/vm/overcommit_memory":              "two",
			"proc/sys/vm/max_map_count":                  "",
			"proc/meminfo":                               "MemTotal\n\nMemAvailable: many kB\n",
			"proc/self/cgroup":                           "0:\n:::\n",
			"proc/self/mountinfo":                        "- -\n1 2\n",
		}),
	} {
		if got := ReadHugePages(root); got != (HugePages{}) {
			t.Errorf("%s: huge pages %+v", name, got)
		}
		if got := ReadOvercommit(root); got != -1 {
			t.Errorf("%s: overcommit %d", name, got)
		}
		if now, limit := ReadMaps(root); now != -1 || limit != -1 {
			t.Errorf("%s: maps %d of %d", name, now, limit)
		}
		if got := ReadMemInfo(root); got != (MemInfo{}) {
			t.Errorf("%s: meminfo %+v", name, got)
		}
		if got := ReadCgroup(root); got != (Cgroup{0, math.MaxInt64, -1}) {
			t.Errorf("%s: cgroup %+v", name, got)
		}
	}
}

const (
	mountV1 = "30 25 0:26 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory\n"
	mountV2 = "29 25 0:25 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
)

func TestReadCgroup(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  Cgroup
	}{
		{"v2 in a namespace", map[string]string{
			"proc/self/cgroup":             "0::/\n",
			"proc/self/mountinfo":          mountV2,
			"sys/fs/cgroup/memory.max":     "536870912\n",
			"sys/fs/cgroup/memory.current": "1048576\n",
		}, Cgroup{2, 536870912, 1048576}},
		{"v2, the limit is the parent's", map[string]string{
			"proc/self/cgroup":                 "0::/a/b\n",
			"proc/self/mountinfo":              mountV2,
			"sys/fs/cgroup/a/memory.max":       "4096\n",
			"sys/fs/cgroup/a/b/memory.max":     "max\n",
			"sys/fs/cgroup/a/b/memory.current": "77\n",
		}, Cgroup{2, 4096, 77}},
		{"v2 root group without a controller", map[string]string{
			"proc/self/cgroup":    "0::/\n",
			"proc/self/mountinfo": mountV2,
		}, Cgroup{0, math.MaxInt64, -1}},
		{"v1 beside v2", map[string]string{
			"proc/self/cgroup":                             "4:memory:/a\n1:cpu,cpuacct:/a\n0::/\n",
			"proc/self/mountinfo":                          mountV2 + mountV1,
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   "9223372036854771712\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "8192\n",
			"sys/fs/cgroup/memory/a/memory.usage_in_bytes": "5\n",
		}, Cgroup{1, 8192, 5}},
		{"v1 without a limit, 64 KiB pages", map[string]string{
			"proc/self/cgroup":                           "4:memory:/\n",
			"proc/self/mountinfo":                        mountV1,
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854710272\n",
			"sys/fs/cgroup/memory/memory.usage_in_bytes": "5\n",
		}, Cgroup{1, math.MaxInt64, 5}},
		{"v1 in a container that sees the host's path", map[string]string{
			"proc/self/cgroup":                           "4:memory:/docker/0123\n",
			"proc/self/mountinfo":                        "30 25 0:26 /docker/0123 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "4096\n",
			"sys/fs/cgroup/memory/memory.usage_in_bytes": "5\n",
		}, Cgroup{1, 4096, 5}},
		{"v2, the group lies outside the namespace", map[string]string{
			"proc/self/cgroup":             "0::/../../x\n",
			"proc/self/mountinfo":          mountV2,
			"sys/fs/cgroup/memory.max":     "4096\n",
			"sys/fs/cgroup/memory.current": "5\n",
		}, Cgroup{2, 4096, 5}},
		{"v2, the controller ends above the group", map[string]string{
			"proc/self/cgroup":                        "0::/user/session\n",
			"proc/self/mountinfo":                     mountV2,
			"sys/fs/cgroup/user/session/cgroup.procs": "1\n",
			"sys/fs/cgroup/user/memory.max":           "4096\n",
			"sys/fs/cgroup/user/memory.current":       "9\n",
		}, Cgroup{2, 4096, 9}},
		{"v1 with the hierarchy of another container below this one's files", map[string]string{
			"proc/self/cgroup": "5:memory:/pod/work\n",
			"proc/self/mountinfo": "41 30 0:37 /pod/work /run/rootfs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
				"42 30 0:38 /other /mnt/cgroup rw - cgroup cgroup rw,memory\n" +
				"43 30 0:37 /pod /sys/fs/my\\040cgroup rw - cgroup cgroup rw,memory\n",
			"run/rootfs/cgroup/memory/memory.limit_in_bytes": "8192\n",
			"run/rootfs/cgroup/memory/memory.usage_in_bytes": "5\n",
			"mnt/cgroup/memory.limit_in_bytes":               "1024\n",
			"mnt/cgroup/memory.usage_in_bytes":               "5\n",
			"sys/fs/my cgroup/memory.limit_in_bytes":         "4096\n",
			"sys/fs/my cgroup/memory.usage_in_bytes":         "6\n",
			"sys/fs/my cgroup/work/memory.limit_in_bytes":    "8192\n",
			"sys/fs/my cgroup/work/memory.usage_in_bytes":    "5\n",
		}, Cgroup{1, 4096, 5}},
	} {
		if got := ReadCgroup(files(c.files)); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestThisMachine(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has these files")
	}
	root := os.DirFS("/")
	if m := ReadMemInfo(root); m.Total <= 0 || m.Available <= 0 || m.Available > m.Total {
		t.Errorf("meminfo %+v", m)
	}
	if now, limit := ReadMaps(root); now <= 0 || limit <= now {
		t.Errorf("maps %d of %d", now, limit)
	}
	if ReadKernel(root) == "" {
		t.Error("no kernel release")
	}
}
