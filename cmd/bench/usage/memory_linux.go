// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// statusBytes returns a field of /proc/self/status that is given in kB, in bytes, or 0.
func statusBytes(field string) float64 {
	return kilobyteField("/proc/self/status", field)
}

// kilobyteField returns a "Name:  123 kB" field of a file under /proc, in bytes, or 0.
func kilobyteField(file, field string) float64 {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(data) {
		rest, ok := bytes.CutPrefix(line, []byte(field+":"))
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(string(rest)), " kB"), 64)
		if err != nil {
			return 0
		}
		return n * 1024
	}
	return 0
}

// PeakRSS is the largest resident set of this process. VmHWM belongs to the address space and
// starts anew at exec. ru_maxrss would include the size of the parent, from the time between fork
// and exec.
func PeakRSS() float64 { return statusBytes("VmHWM") }

// RSS is the resident set now, in bytes. It allocates nothing, because samplers call it during measurements.
func RSS() float64 {
	f, err := syscall.Open("/proc/self/statm", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer syscall.Close(f)
	var text [128]byte
	n, err := syscall.Read(f, text[:])
	if err != nil {
		return 0
	}
	pages, field := 0, 0
	for _, c := range text[:n] {
		switch {
		case c == ' ':
			field++
		case field == 1 && c >= '0' && c <= '9':
			pages = pages*10 + int(c-'0')
		}
	}
	return float64(pages * osPage)
}

var osPage = os.Getpagesize()

// A Machine reads how much memory of the machine, or of this process's cgroup, is in use. It shows
// memory that the resident set lacks: if a part of a huge page was purged, that part is not
// resident, but not free either.
type Machine struct {
	Source string         // the file that is read
	Read   func() float64 // in bytes
}

// OpenMachine finds the closest accounting: the cgroup, version 2 then 1, then the machine.
func OpenMachine() Machine {
	for _, g := range memoryCgroups() {
		current := filepath.Join(g.dir, g.current)
		if readNumber(current) <= 0 {
			continue
		}
		stat := filepath.Join(g.dir, "memory.stat")
		return Machine{current, func() float64 {
			// The page cache of files that processes of the group read or write is not this
			// process's memory. It may change between two reads by more than all other memory: the
			// figure may be too high, but not negative.
			cache := statField(stat, g.cache)
			used := readNumber(current)
			return used - min(cache, statField(stat, g.cache))
		}}
	}
	return Machine{"/proc/meminfo", func() float64 {
		const f = "/proc/meminfo"
		return kilobyteField(f, "MemTotal") - kilobyteField(f, "MemFree") - kilobyteField(f, "Cached") - kilobyteField(f, "Buffers")
	}}
}

type memoryCgroup struct{ dir, current, cache string }

// memoryCgroups lists where the accounting of this process's cgroup may be. Inside a container the path that the
// kernel prints may not exist, and the group is the root of the mount.
func memoryCgroups() []memoryCgroup {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	var groups []memoryCgroup
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[0] == "0" && parts[1] == "":
			for _, dir := range []string{filepath.Join("/sys/fs/cgroup", parts[2]), "/sys/fs/cgroup"} {
				groups = append(groups, memoryCgroup{dir, "memory.current", "file"})
			}
		case strings.Contains(","+parts[1]+",", ",memory,"):
			for _, dir := range []string{filepath.Join("/sys/fs/cgroup/memory", parts[2]), "/sys/fs/cgroup/memory"} {
				groups = append(groups, memoryCgroup{dir, "memory.usage_in_bytes", "cache"})
			}
		}
	}
	return groups
}

func readNumber(file string) float64 {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(string(data)), 64)
	if err != nil {
		return 0
	}
	return n
}

// statField returns a "name 123" field of memory.stat, or 0.
func statField(file, field string) float64 {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, field+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err == nil {
				return n
			}
		}
	}
	return 0
}
