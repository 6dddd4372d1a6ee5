// SPDX-License-Identifier: Apache-2.0

package rss

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A Group is the memory that a control group is charged with. Its parts add up to Current.
type Group struct {
	Version int    `json:"version"` // 1 or 2
	Path    string `json:"path"`
	// Limit is the smallest limit of the group and those above it that are visible, 0 if there is none.
	Limit   int64 `json:"limit"`
	Current int64 `json:"current"`
	// This is the anonymous memory of the process, Others that of other processes of the group.
	This   int64 `json:"this_process"`
	Others int64 `json:"others"`
	Shmem  int64 `json:"shmem"`
	Kernel int64 `json:"kernel"`
	// Cache is the file cache: Inactive is reclaimed first; Active counts in kubelet's working set.
	Cache    int64 `json:"file_cache"`
	Inactive int64 `json:"inactive_file"`
	Active   int64 `json:"active_file"`
	Rest     int64 `json:"rest"`
	Swap     int64 `json:"swap"`
	// Above says that the process's own group is not visible, and the figures are those of a group above it.
	Above bool `json:"above"`

	current string // the file with Current
}

// groupOf reads the control group of a process. root is the folder /sys/fs/cgroup. It returns nil if no group is visible.
func groupOf(p *target, root string, anonymous int64) *Group {
	data, err := p.read("cgroup")
	if err != nil {
		return nil
	}
	one, two := groupPaths(string(data))
	type place struct {
		dir     string
		path    string
		version int
	}
	var places []place
	// The process's own view comes last: from a sidecar it is the one that shows the process's group.
	for _, base := range []string{root, p.path("root/sys/fs/cgroup")} {
		if one != "" {
			places = append(places, place{filepath.Join(base, "memory"), one, 1})
		}
		places = append(places, place{base, two, 2}, place{filepath.Join(base, "unified"), two, 2})
	}
	var above *Group
	for _, at := range places {
		g, exact := readGroup(at.dir, at.path, at.version, anonymous)
		if g != nil && exact {
			return g
		}
		if above == nil {
			above = g
		}
	}
	return above
}

// groupPaths reads /proc/PID/cgroup: the path in the memory hierarchy of version 1, and that of version 2.
func groupPaths(text string) (one, two string) {
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		switch {
		case f[0] == "0" && f[1] == "":
			two = f[2]
		case strings.Contains(","+f[1]+",", ",memory,"):
			one = f[2]
		}
	}
	return one, two
}

// currentFile and limitFile are the names of files by version.
var (
	currentFile = []string{1: "memory.usage_in_bytes", 2: "memory.current"}
	limitFile   = []string{1: "memory.limit_in_bytes", 2: "memory.max"}
)

// readGroup reads the group at a path, or the nearest above it that is visible; exact says that it is the path's own.
func readGroup(base, path string, version int, anonymous int64) (g *Group, exact bool) {
	if path == "" {
		path = "/"
	}
	// A path out of the view, such as /../x, which a control group's namespace shows, has no folder here.
	exact = !strings.Contains(path, "..")
	for at := filepath.Clean("/" + path); ; at, exact = filepath.Dir(at), false {
		if current, ok := number(filepath.Join(base, at, currentFile[version])); ok {
			g = &Group{Version: version, Path: at, Current: current, This: anonymous, Above: !exact, current: filepath.Join(base, at, currentFile[version])}
			break
		}
		if at == "/" {
			return nil, false
		}
	}
	for at := g.Path; ; at = filepath.Dir(at) {
		// Version 1 writes a number near 1<<63 if there is no limit, version 2 "max".
		if n, ok := number(filepath.Join(base, at, limitFile[version])); ok && n < math.MaxInt64/2 && (g.Limit == 0 || n < g.Limit) {
			g.Limit = n
		}
		if at == "/" {
			break
		}
	}
	data, err := os.ReadFile(filepath.Join(base, g.Path, "memory.stat"))
	if err != nil {
		return nil, false
	}
	g.stat(string(data))
	if n, ok := number(filepath.Join(base, g.Path, "memory.kmem.usage_in_bytes")); ok && version == 1 {
		g.Kernel = n
	}
	if n, ok := number(filepath.Join(base, g.Path, "memory.swap.current")); ok && version == 2 {
		g.Swap = n
	}
	g.Rest = g.Current - g.This - g.Others - g.Shmem - g.Kernel - g.Cache
	return g, exact
}

// stat takes the figures of memory.stat.
func (g *Group) stat(text string) {
	v := map[string]int64{}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 2 {
			v[f[0]], _ = strconv.ParseInt(f[1], 10, 64)
		}
	}
	anonymous := v["anon"]
	g.Shmem, g.Inactive, g.Active = v["shmem"], v["inactive_file"], v["active_file"]
	cache := v["file"]
	g.Kernel = v["kernel"]
	if _, ok := v["kernel"]; !ok { // before Linux 5.18
		g.Kernel = v["slab"] + v["kernel_stack"] + v["pagetables"] + v["percpu"] + v["sock"]
	}
	if g.Version == 1 { // the figures with groups below are those of the current usage
		anonymous, cache, g.Shmem = v["total_rss"], v["total_cache"], v["total_shmem"]
		g.Inactive, g.Active, g.Swap = v["total_inactive_file"], v["total_active_file"], v["total_swap"]
		g.Kernel = 0
	}
	g.Cache = max(cache-g.Shmem, 0)
	g.This = min(g.This, anonymous)
	g.Others = anonymous - g.This
}

// number reads a file with a number.
func number(file string) (int64, bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	return n, err == nil
}
