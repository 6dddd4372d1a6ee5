// SPDX-License-Identifier: Apache-2.0

package gctune

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/freehold-go/freehold/internal/machine"
)

// A level is one bound on the memory of this process, alone or together with others. Bytes; none is
// math.MaxInt64.
type level struct {
	name  string // for people
	limit int64  // above it the kernel slows down or kills a process
	hard  int64  // above it the kernel kills a process
	used  int64  // counted against the limit now, without memory that the kernel can reclaim at once; -1 if unknown

	pressure string // file with the time that processes wait for memory, "" if there is none

	// machine says that the limit is the machine's: other programs may take all of it at any time.
	machine bool
}

const none = math.MaxInt64

// unlimited is a limit that counts as none, as does each larger one. Version 1 of control groups writes the largest
// multiple of a page below 1<<63 for no limit. Sums of several numbers up to this one fit an int64.
const unlimited = 1 << 60

// readLevels lists the bounds of source, except those without a limit.
func readLevels(root fs.FS, source Source) (levels []level, err error) {
	if source != Machine {
		version, dirs := machine.Groups(root)
		for i, dir := range dirs {
			l, err := readGroup(root, dir, version, i == 0, i == len(dirs)-1)
			if err != nil {
				return nil, err
			}
			levels = append(levels, l)
		}
	}
	if source != Cgroup {
		if m := machine.ReadMemInfo(root); m.Total > 0 {
			levels = append(levels, level{
				name: "the machine", limit: m.Total, hard: m.Total, used: max(0, m.Total-m.Available),
				pressure: "proc/pressure/memory", machine: true,
			})
		}
	}
	bound := levels[:0]
	for _, l := range levels {
		if l.limit < unlimited {
			bound = append(bound, l)
		}
	}
	return bound, nil
}

// readGroup reads one control group. own marks the process's own group, top the highest visible
// one.
func readGroup(root fs.FS, dir string, version int, own, top bool) (level, error) {
	if version == 1 {
		return readV1(root, dir, own, top)
	}
	l := level{name: "cgroup v2 /" + dir, limit: none, hard: none, pressure: path.Join(dir, "memory.pressure")}
	files := reader{root: root, dir: dir}
	high, peak := bounded(files.bytes("memory.high", none)), bounded(files.bytes("memory.max", none))
	l.limit, l.hard = min(high, peak), peak
	switch {
	case peak == none:
		l.hard = high
		l.name += " (memory.high)"
	case high < peak:
		l.name += " (memory.high)"
	default:
		l.name += " (memory.max)"
	}
	l.used = files.bytes("memory.current", -1)
	if l.used >= 0 {
		// Kernel documentation, cgroup-v2.rst: these two leave out tmpfs and shared memory, which
		// only swap can reclaim.
		stat := files.stat("inactive_file", "active_file", "slab_reclaimable")
		l.used = max(0, l.used-stat[0]-stat[1]-stat[2])
	}
	return l, files.err
}

// readV1 reads a group of version 1, where a large number stands for no limit, and groups above
// count only if the hierarchy is on.
func readV1(root fs.FS, dir string, own, top bool) (level, error) {
	l := level{name: "cgroup v1 /" + dir + " (memory.limit_in_bytes)", limit: none, hard: none, used: -1}
	files := reader{root: root, dir: dir}
	if !own && files.bytes("memory.use_hierarchy", 1) == 0 {
		return l, files.err
	}
	l.limit = bounded(files.bytes("memory.limit_in_bytes", none))
	stat := files.stat("hierarchical_memory_limit", "total_inactive_file", "total_active_file")
	// The kernel reports the smallest limit from here to the root. This is the only figure of
	// groups above the visible ones.
	if n := stat[0]; top && n > 0 && n < min(l.limit, unlimited) {
		l.limit = n
		l.name = "cgroup v1 /" + dir + " (hierarchical_memory_limit)"
	}
	l.hard = l.limit
	if used := files.bytes("memory.usage_in_bytes", -1); used >= 0 {
		l.used = max(0, used-stat[1]-stat[2])
	}
	return l, files.err
}

// bounded is the limit n, or none if it is that large.
func bounded(n int64) int64 {
	if n >= unlimited {
		return none
	}
	return n
}

// reader reads small files of one directory and keeps the first error.
type reader struct {
	root fs.FS
	dir  string
	err  error
}

// text returns a file's contents. If there is no such file, or the kernel has no figure for it, ok
// is false.
func (r *reader) text(name string) (s string, ok bool) {
	b, err := fs.ReadFile(r.root, path.Join(r.dir, name))
	if err == nil {
		return strings.TrimSpace(string(b)), true
	}
	if !errors.Is(err, fs.ErrNotExist) && r.err == nil {
		r.err = fmt.Errorf("gctune: cannot read a limit: %w", err)
	}
	return "", false
}

// bytes reads a number of bytes; max stands for none. A file that is absent gives absent.
func (r *reader) bytes(name string, absent int64) int64 {
	s, ok := r.text(name)
	if !ok {
		return absent
	}
	if s == "max" {
		return none
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		if r.err == nil {
			r.err = fmt.Errorf("gctune: /%s holds %q; want a number of bytes or max", path.Join(r.dir, name), s)
		}
		return absent
	}
	return int64(min(n, none))
}

// stat reads fields of memory.stat; those that it lacks are 0.
func (r *reader) stat(names ...string) []int64 {
	values := make([]int64, len(names))
	s, _ := r.text("memory.stat")
	for line := range strings.Lines(s) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		for i := range names {
			if names[i] == name {
				// A field that is no number counts as 0, so that no memory counts as reclaimable by
				// mistake.
				n, _ := strconv.ParseUint(value, 10, 63)
				values[i] = int64(n)
			}
		}
	}
	return values
}

// ownMemory returns the bytes of this process that no file backs, -1 if the system has no figure.
func ownMemory(root fs.FS) int64 {
	b, err := fs.ReadFile(root, "proc/self/status")
	if err != nil {
		return -1
	}
	sum, found := int64(0), false
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(line, ":")
		if name != "RssAnon" && name != "RssShmem" {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return -1
		}
		sum, found = sum+n<<10, true
	}
	if !found {
		return -1
	}
	return sum
}

// Pressure is the part of the time in which work waited for memory, from the kernel's pressure
// stall information: averages over the last ten seconds, in percent.
type Pressure struct {
	Known bool    // false if the system has no such figures
	Some  float64 // at least one task waited
	Full  float64 // all tasks waited
}

// readPressure reads a file such as /proc/pressure/memory. If the system lacks the file, or has
// switched it off, the result is zero.
func readPressure(root fs.FS, name string) (p Pressure) {
	if name == "" {
		return p
	}
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return p
	}
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		value, ok := strings.CutPrefix(fields[1], "avg10=")
		percent, err := strconv.ParseFloat(value, 64)
		if !ok || err != nil {
			continue
		}
		switch fields[0] {
		case "some":
			p.Some, p.Known = percent, true
		case "full":
			p.Full = percent
		}
	}
	return p
}
