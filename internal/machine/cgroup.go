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

// unlimited is where version 1 puts "no limit": the largest multiple of a page below 1<<63, whatever the page's size.
const unlimited = 1 << 62

// ReadCgroup finds the memory group of this process. A machine may run both versions at once; the memory controller belongs to one
// of them, and version 1 is asked first because version 2 then has no memory files.
func ReadCgroup(root fs.FS) Cgroup {
	groups := text(root, "proc/self/cgroup")
	mounts := text(root, "proc/self/mountinfo")
	if dir, top := groupDir(groups, mounts, 1); dir != "" {
		if c := readGroup(root, dir, top, "memory.limit_in_bytes", "memory.usage_in_bytes"); c.Current >= 0 {
			c.Version = 1
			return c
		}
	}
	if dir, top := groupDir(groups, mounts, 2); dir != "" {
		// The root group has no memory.max; memory.current tells that the controller is there.
		if c := readGroup(root, dir, top, "memory.max", "memory.current"); c.Current >= 0 {
			c.Version = 2
			return c
		}
	}
	return Cgroup{Limit: math.MaxInt64, Current: -1}
}

// groupDir returns the directory of the process's memory group and the mount point above it, both without the leading slash.
func groupDir(groups, mounts string, version int) (dir, top string) {
	group, found := groupPath(groups, version)
	if !found {
		return "", ""
	}
	mountRoot, mountPoint := cgroupMount(mounts, version)
	if mountPoint == "" {
		return "", ""
	}
	top = strings.TrimPrefix(mountPoint, "/")
	// In a container the group's path can be the host's, of which only the part below the mount's root can be seen here.
	below, ok := strings.CutPrefix(group, strings.TrimSuffix(mountRoot, "/"))
	if !ok || strings.HasPrefix(below, "/..") {
		return top, top
	}
	return path.Join(top, below), top
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

// cgroupMount finds where the hierarchy is mounted, and which of its directories is the root of that mount.
func cgroupMount(mounts string, version int) (root, point string) {
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(strings.TrimSpace(line), " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if len(fields) < 5 || len(kind) < 3 {
			continue
		}
		if version == 2 && kind[0] == "cgroup2" || version == 1 && kind[0] == "cgroup" && hasWord(kind[2], "memory") {
			return fields[3], fields[4]
		}
	}
	return "", ""
}

func hasWord(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if w == word {
			return true
		}
	}
	return false
}

// readGroup reads the group at dir and the limits of all groups from there up to top. A group that cannot be seen (a container
// without a namespace of its own) is read at top.
func readGroup(root fs.FS, dir, top, limitFile, currentFile string) Cgroup {
	c := Cgroup{Limit: math.MaxInt64, Current: number(text(root, path.Join(dir, currentFile)), -1)}
	if c.Current < 0 {
		dir = top
		c.Current = number(text(root, path.Join(dir, currentFile)), -1)
	}
	for {
		// "max" is no number and so is no limit.
		if n := number(text(root, path.Join(dir, limitFile)), unlimited); n < unlimited {
			c.Limit = min(c.Limit, n)
		}
		if dir == top || dir == "." {
			return c
		}
		dir = path.Dir(dir)
	}
}
