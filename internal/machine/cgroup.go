// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"io/fs"
	"math"
	"path"
	"strings"
)

// Cgroup is the memory control group that this process runs in.
type Cgroup struct {
	Version int   // 1 or 2; 0 if there is none or it cannot be seen
	Limit   int64 // bytes: the smallest limit of the group and those above it; math.MaxInt64 if there is none
	Current int64 // bytes charged to the group now, page cache included; -1 if unknown
}

// unlimited is where version 1 puts "no limit": the largest multiple of a page below 1<<63,
// whatever the page's size.
const unlimited = 1 << 62

// ReadCgroup finds the memory group of this process.
func ReadCgroup(root fs.FS) Cgroup {
	c := Cgroup{Limit: math.MaxInt64, Current: -1}
	version, dirs := Groups(root)
	if version == 0 {
		return c
	}
	c.Version = version
	c.Current = number(text(root, path.Join(dirs[0], usageFile[version])), -1)
	for _, dir := range dirs {
		// "max" is no number and so is no limit.
		if n := number(text(root, path.Join(dir, limitFile[version])), unlimited); n < unlimited {
			c.Limit = min(c.Limit, n)
		}
	}
	return c
}

// By the version of control groups.
var (
	usageFile = [...]string{1: "memory.usage_in_bytes", 2: "memory.current"}
	limitFile = [...]string{1: "memory.limit_in_bytes", 2: "memory.max"}
)

// Groups returns the version of the hierarchy that accounts for this process's memory, and the
// directories of the group and those above it that can be seen, the own one first, as paths in
// root. The version is 0 if there is none.
//
// A machine may run both versions at once; the memory controller belongs to one of them, and
// version 1 is asked first because version 2 then has no memory files. In version 2 the controller
// may end above the process's own group; the lowest group that has it is then the first. A group
// that cannot be seen (in a container without a namespace of its own) is looked for at the top of
// what can.
func Groups(root fs.FS) (version int, dirs []string) {
	groups := text(root, "proc/self/cgroup")
	mounts := text(root, "proc/self/mountinfo")
	for version := 1; version <= 2; version++ {
		dir, top := groupDir(root, groups, mounts, version)
		if dir == "" {
			continue
		}
		for {
			// The root group of version 2 has no limit, and no file with the bytes in use.
			if number(text(root, path.Join(dir, usageFile[version])), -1) >= 0 || len(dirs) > 0 {
				dirs = append(dirs, dir)
			}
			if dir == top || dir == "." {
				break
			}
			dir = path.Dir(dir)
		}
		if len(dirs) > 0 {
			return version, dirs
		}
	}
	return 0, nil
}

// groupDir returns the directory of the process's memory group and the mount point above it, both
// without the leading slash.
func groupDir(root fs.FS, groups, mounts string, version int) (dir, top string) {
	group, found := groupPath(groups, version)
	if !found {
		return "", ""
	}
	above := -1
	for _, m := range cgroupMounts(mounts, version) {
		point := strings.TrimPrefix(m.point, "/")
		if top == "" {
			dir, top = point, point
		}
		// In a container the group's path can be the host's, of which only the part below the
		// mount's root can be seen here. Other mounts may show other parts of the hierarchy, such
		// as those of containers whose file systems lie below this one. The mount that shows the
		// group with the most above it is the right one.
		below, ok := strings.CutPrefix(group, strings.TrimSuffix(m.root, "/"))
		if !ok || below != "" && below[0] != '/' || strings.HasPrefix(below, "/..") {
			continue
		}
		at := path.Join(point, below)
		if _, err := fs.Stat(root, at); err == nil && len(below) > above {
			dir, top, above = at, point, len(below)
		}
	}
	return dir, top
}

// groupPath finds the group's path in /proc/self/cgroup.
func groupPath(groups string, version int) (string, bool) {
	for line := range strings.Lines(groups) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		if version == 2 && fields[0] == "0" && fields[1] == "" || version == 1 && hasWord(fields[1], "memory") {
			return fields[2], true
		}
	}
	return "", false
}

type mount struct {
	root, point string // which directory of the file system is mounted, and where
}

// cgroupMounts finds where the hierarchy is mounted.
func cgroupMounts(mounts string, version int) (list []mount) {
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(strings.TrimSpace(line), " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if len(fields) < 5 || len(kind) < 3 {
			continue
		}
		if version == 2 && kind[0] == "cgroup2" || version == 1 && kind[0] == "cgroup" && hasWord(kind[2], "memory") {
			list = append(list, mount{unescape.Replace(fields[3]), unescape.Replace(fields[4])})
		}
	}
	return list
}

// unescape undoes what the kernel does to white space in a path, and so to the backslash.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func hasWord(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if w == word {
			return true
		}
	}
	return false
}
