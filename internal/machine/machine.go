// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"bytes"
	"io/fs"
	"strconv"
	"strings"
)

// HugePages are the settings for transparent huge pages: when they are used, and how hard the
// kernel tries at a page fault.
type HugePages struct {
	Mode   string // "always", "madvise", "never"; "" unknown
	Defrag string // "always", "defer", "defer+madvise", "madvise", "never"; "" unknown
}

// ReadHugePages returns the settings in force.
func ReadHugePages(root fs.FS) HugePages {
	const dir = "sys/kernel/mm/transparent_hugepage/"
	return HugePages{Mode: chosen(text(root, dir+"enabled")), Defrag: chosen(text(root, dir+"defrag"))}
}

// chosen returns the word in brackets of a line such as "always [madvise] never".
func chosen(s string) string {
	_, s, _ = strings.Cut(s, "[")
	s, _, found := strings.Cut(s, "]")
	if !found {
		return ""
	}
	return s
}

// ReadOvercommit returns vm.overcommit_memory: 0 (refuse requests that are obviously too large), 1
// (refuse none), 2 (refuse requests that exceed the commit limit), -1 if the system does not say.
func ReadOvercommit(root fs.FS) int {
	return int(number(text(root, "proc/sys/vm/overcommit_memory"), -1))
}

// MemInfo is the part of /proc/meminfo that concerns allocation, in bytes; 0 if unknown.
type MemInfo struct {
	Total, Available       int64
	CommitLimit, Committed int64 // the bound of promised memory in overcommit mode 2, and the memory promised now
}

// ReadMemInfo returns the memory of the whole machine.
func ReadMemInfo(root fs.FS) (m MemInfo) {
	fields := map[string]*int64{
		"MemTotal": &m.Total, "MemAvailable": &m.Available, "CommitLimit": &m.CommitLimit, "Committed_AS": &m.Committed,
	}
	for line := range strings.Lines(text(root, "proc/meminfo")) {
		name, value, _ := strings.Cut(line, ":")
		if to := fields[name]; to != nil {
			*to = number(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 0) << 10
		}
	}
	return m
}

// ReadMaps returns how many mappings this process has and how many it may have (vm.max_map_count);
// -1 if unknown.
func ReadMaps(root fs.FS) (now, limit int) {
	now = -1
	if b, err := fs.ReadFile(root, "proc/self/maps"); err == nil {
		now = bytes.Count(b, []byte{'\n'})
	}
	return now, int(number(text(root, "proc/sys/vm/max_map_count"), -1))
}

// ReadKernel returns the kernel's release, such as "6.1.0-18-amd64", or "".
func ReadKernel(root fs.FS) string { return text(root, "proc/sys/kernel/osrelease") }

// text returns the contents of a small file without surrounding space, or "" if it cannot be read.
func text(root fs.FS, name string) string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// number parses s, or returns unknown if it is no number.
func number(s string, unknown int64) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return unknown
	}
	return n
}
