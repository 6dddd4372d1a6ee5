// SPDX-License-Identifier: Apache-2.0

package freehold

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/freehold-go/freehold/internal/machine"
	"github.com/freehold-go/freehold/internal/vmem"
)

// Machine has the machine's memory settings. Sizes are in bytes. A value that the system does not
// report is "", 0 or, if the comment says so, -1.
type Machine struct {
	OS, Arch   string // as GOOS and GOARCH
	Kernel     string // release, Linux only
	Go         string // version of the runtime
	CPUs       int
	GOMAXPROCS int

	OffHeap bool // freehold can take memory from this system; if not, every block comes from the Go heap

	PageSize       int64
	HugePageSize   int64  // 0 if there are none
	HugePages      string // "always", "madvise" (if a program asks for them, as freehold does) or "never"
	HugePageDefrag string // the kernel's effort to find one at a page fault

	Memory, MemoryAvailable int64 // of the whole machine

	Overcommit  int   // vm.overcommit_memory: 0 refuses absurd requests, 1 none, 2 requests beyond CommitLimit; -1 unknown
	CommitLimit int64 // binds in mode 2 only
	Committed   int64 // promised to all processes

	Maps, MaxMaps int // mappings of this process, and their bound (vm.max_map_count); -1 unknown

	AddressSpaceLimit int64 // RLIMIT_AS; math.MaxInt64 if there is none

	CgroupVersion int   // 1 or 2; 0 if no memory group is visible
	CgroupLimit   int64 // smallest limit of the group and the groups above it; math.MaxInt64 if there is none
	CgroupCurrent int64 // charged to the group now; -1 unknown

	MemoryLimit int64 // Go's soft limit as the user set it; math.MaxInt64 if there is none
	Options     Options
}

// ReadMachine reads the system's settings, which takes well under a millisecond.
func ReadMachine() Machine {
	root := os.DirFS("/")
	huge, mem, group := machine.ReadHugePages(root), machine.ReadMemInfo(root), machine.ReadCgroup(root)
	m := Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Kernel: machine.ReadKernel(root), Go: runtime.Version(),
		CPUs: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0),
		OffHeap:  vmem.Supported,
		PageSize: int64(vmem.PageSize()), HugePageSize: int64(vmem.HugePageSize()),
		HugePages: huge.Mode, HugePageDefrag: huge.Defrag,
		Memory: mem.Total, MemoryAvailable: mem.Available,
		Overcommit: machine.ReadOvercommit(root), CommitLimit: mem.CommitLimit, Committed: mem.Committed,
		AddressSpaceLimit: int64(min(vmem.AddressSpaceLimit(), math.MaxInt64)),
		CgroupVersion:     group.Version, CgroupLimit: group.Limit, CgroupCurrent: group.Current,
		MemoryLimit: MemoryLimit(), Options: Modes(),
	}
	m.Maps, m.MaxMaps = machine.ReadMaps(root)
	return m
}

// String is a table of a few lines, without a newline at its end. A value that the system does not
// report has no line.
func (m Machine) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	line("system", "%s", strings.TrimSpace(fmt.Sprintf("%s/%s %s", m.OS, m.Arch, m.Kernel)))
	line("go", "%s, GOMAXPROCS %d of %d CPUs", m.Go, m.GOMAXPROCS, m.CPUs)
	line("freehold", "%s", m.modeText())
	if m.Memory > 0 {
		line("memory", "%s, %s available", size(m.Memory), size(m.MemoryAvailable))
	}
	if m.CgroupVersion > 0 {
		line("cgroup", "v%d, limit %s, %s charged now", m.CgroupVersion, size(m.CgroupLimit), size(m.CgroupCurrent))
	}
	line("GOMEMLIMIT", "%s", size(m.MemoryLimit))
	line("RLIMIT_AS", "%s", size(m.AddressSpaceLimit))
	line("pages", "%s", size(m.PageSize))
	if m.HugePageSize > 0 {
		line("huge pages", "%s, mode %s, defrag %s", size(m.HugePageSize), orUnknown(m.HugePages), orUnknown(m.HugePageDefrag))
	}
	if m.Overcommit >= 0 {
		line("overcommit", "%s", m.overcommitText())
	}
	if m.Maps >= 0 {
		line("mappings", "%d of at most %d", m.Maps, m.MaxMaps)
	}
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

func (m Machine) modeText() string {
	switch {
	case !m.OffHeap:
		return "on the Go heap: this system has no off-heap memory"
	case m.Options != Options{}:
		return "modes " + m.Options.names()
	}
	return "off heap, no modes set"
}

func (m Machine) overcommitText() string {
	switch m.Overcommit {
	case 0:
		return "0 (only absurd requests are refused)"
	case 1:
		return "1 (nothing is refused)"
	}
	return fmt.Sprintf("%d (strict: %s of %s are committed)", m.Overcommit, size(m.Committed), size(m.CommitLimit))
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// size writes a number of bytes with the largest binary unit that keeps it at 1 or more.
func size(n int64) string {
	switch {
	case n < 0:
		return "unknown"
	case n == math.MaxInt64:
		return "none"
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	}
	const units = "KMGTPE"
	u := 0
	f := float64(n) / (1 << 10)
	for f >= 1<<10 {
		f /= 1 << 10
		u++
	}
	if f == math.Trunc(f) {
		return fmt.Sprintf("%.0f %ciB", f, units[u])
	}
	return fmt.Sprintf("%.1f %ciB", f, units[u])
}
