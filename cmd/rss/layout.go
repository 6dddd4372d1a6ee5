// SPDX-License-Identifier: Apache-2.0

package rss

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
)

// Names that the kernel shows for anonymous memory if it was built with CONFIG_ANON_VMA_NAME. Go names its memory since Go 1.25
// (runtime/mem.go), freehold in internal/vmem (nameRange), glibc since 2.39 if asked.
const (
	nameOfGo       = "[anon: Go: "
	nameOfGoHeap   = "[anon: Go: heap]"
	nameOfReserved = "[anon: Go: heap reservation]"
	nameOfFreehold = "[anon:freehold "
	nameOfArena    = "[anon: glibc: malloc"
	nameOfStack    = "[anon: glibc: pthread stack"
)

// Sizes by which mappings without names are told apart.
const (
	arenaSize    = 64 << 20  // of the Go heap's arenas (runtime.heapArenaBytes), and of glibc's (HEAP_MAX_SIZE)
	regionTail   = 32 << 30  // the least that freehold's region keeps reserved: it begins with 64 GiB
	summaryPart  = 256 << 20 // a reserved part of the runtime's page summaries
	leastStack   = 64 << 10  // of a thread, behind its guard page
	mostStack    = 64 << 20
	mostGuard    = 64 << 10
	mostBss      = 4 << 20 // of a library
	sureRuntime  = 4 << 20 // a mapping without a name, up to which it counts as the runtime's if no figures of the runtime are there
	runtimeShare = 0.03    // or this share of the Go heap: a span of 8 KiB has 160 bytes of metadata, and its bitmaps
)

// A layout is resident memory by kind, in bytes.
type layout struct {
	rss, swap int64
	named     bool // the kernel shows names of anonymous memory
	heap      int64
	heapHuge  int64
	heapSwap  int64
	lazyFree  int64   // in the heap
	runtime   int64   // surely the runtime's
	unknown   []int64 // anonymous mappings: the runtime's, C's or the program's
	offheap   int64
	brk       int64 // C's heap
	arenas    int64 // of glibc
	nArenas   int
	stacks    int64 // of threads that C made
	nStacks   int
	other     int64 // anonymous memory with a name that is not Go's
	binary    int64
	files     map[string]int64
	shared    int64 // memory that processes share without a file
	libraries []string
}

// layoutOf sorts the mappings into kinds. exe is the program's file.
func layoutOf(list []mapping, exe string) *layout {
	l := &layout{files: map[string]int64{}}
	code := map[string]bool{exe: true}
	for i := range list {
		m := &list[i]
		l.rss += m.rss
		l.swap += m.swap
		l.named = l.named || strings.HasPrefix(m.name, nameOfGo)
		if strings.HasPrefix(m.name, "/") && strings.Contains(m.perms, "x") {
			code[m.name] = true
		}
	}
	known := make([]kind, len(list))
	byStructure(list, known)
	for i := range list {
		l.add(list, i, known[i], exe, code)
	}
	for name := range code {
		if name != exe && strings.Contains(path.Base(name), ".so") {
			l.libraries = append(l.libraries, path.Base(name))
		}
	}
	slices.Sort(l.libraries)
	return l
}

// A kind is what an anonymous mapping without a name is, as far as its place shows.
type kind int

const (
	kindUnknown kind = iota
	kindHeap
	kindRuntime
	kindOffheap
	kindArena
	kindStack
)

func (l *layout) add(list []mapping, i int, k kind, exe string, code map[string]bool) {
	m := &list[i]
	if l.named && (k == kindHeap || k == kindRuntime || k == kindOffheap) {
		k = kindUnknown // those have names
	}
	switch name := m.name; {
	case strings.HasPrefix(name, nameOfGoHeap), strings.HasPrefix(name, nameOfReserved), k == kindHeap:
		l.heap += m.rss
		l.heapHuge += m.huge
		l.heapSwap += m.swap
		l.lazyFree += m.lazyFree
	case strings.HasPrefix(name, nameOfGo), name == "[stack]", name == "[vdso]", strings.HasPrefix(name, "[vvar"), k == kindRuntime:
		l.runtime += m.rss
	case strings.HasPrefix(name, nameOfFreehold), k == kindOffheap:
		l.offheap += m.rss
	case name == "[heap]":
		l.brk += m.rss
	case strings.HasPrefix(name, nameOfStack), k == kindStack:
		l.stacks += m.rss
		if strings.HasPrefix(m.perms, "rw") {
			l.nStacks++
		}
	case strings.HasPrefix(name, nameOfArena), k == kindArena:
		l.arenas += m.rss
		if strings.HasPrefix(m.perms, "rw") {
			l.nArenas++
		}
	case strings.HasPrefix(name, "/") && !sharedMemory(name):
		if !code[name] {
			l.files[name] += m.rss
			return
		}
		l.binary += m.rss
	case name == "" && strings.HasSuffix(m.perms, "s"), sharedMemory(name):
		l.shared += m.rss
	case name != "":
		l.other += m.rss
	case bss(list, i, exe, code):
		l.binary += m.rss
	case m.rss > 0 && l.named:
		l.other += m.rss
	case m.rss > 0:
		l.unknown = append(l.unknown, m.rss)
	}
}

// sharedMemory reports whether a name is of memory that processes share, which looks like a file.
func sharedMemory(name string) bool {
	for _, prefix := range []string{"/dev/zero", "/memfd:", "/SYSV", "/dev/shm/", "[anon_shmem:"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// bss reports whether a mapping has the zeroed data of the program or a library, which lie right behind the file's mappings.
func bss(list []mapping, i int, exe string, code map[string]bool) bool {
	m := &list[i]
	if i == 0 || list[i-1].end != m.start || !code[list[i-1].name] || !strings.HasPrefix(m.perms, "rw") {
		return false
	}
	return list[i-1].name == exe || m.size() <= mostBss
}

// byStructure finds what anonymous mappings without names are, by their addresses, sizes and permissions.
func byStructure(list []mapping, known []kind) {
	// The Go heap lies in the lower part of the address space: Go asks for addresses there, and the kernel puts what asks for none
	// below the stack.
	lower := uint64(1) << 46
	for i := range list {
		if list[i].name == "[stack]" {
			lower = list[i].start / 4 * 3
		}
	}
	for from := 0; from < len(list); {
		to := from + 1
		for to < len(list) && list[from].anonymous() && list[to].anonymous() && list[to].start == list[to-1].end {
			to++
		}
		if list[from].anonymous() {
			group, kinds := list[from:to], known[from:to]
			if group[0].start%arenaSize == 0 && group[len(group)-1].end%arenaSize == 0 && group[0].start < lower {
				fill(kinds, kindHeap)
			} else {
				inGroup(group, kinds)
			}
		}
		from = to
	}
}

func fill(kinds []kind, k kind) {
	for i := range kinds {
		kinds[i] = k
	}
}

// inGroup sorts the mappings of a group of anonymous mappings without gaps, which may be of several owners: the kernel puts one
// right below the other.
func inGroup(group []mapping, kinds []kind) {
	reserved := func(i int) bool { return i >= 0 && i < len(group) && strings.HasPrefix(group[i].perms, "---") }
	for i := range group {
		m := &group[i]
		switch {
		case reserved(i) && m.size() >= regionTail: // freehold's region: what is in use lies in front
			for j := i - 1; j >= 0 && !reserved(j); j-- {
				kinds[j] = kindOffheap
				if group[j].start%arenaSize == 0 {
					break
				}
			}
		case reserved(i) && m.size() <= mostGuard && i+1 < len(group) && !reserved(i+1) && group[i+1].size() >= leastStack && group[i+1].size() <= mostStack:
			if kinds[i+1] == kindUnknown && group[i+1].size()%(1<<20) == 0 { // RLIMIT_STACK
				kinds[i+1] = kindStack
			}
		case !reserved(i) && m.start%arenaSize == 0 && m.size() < arenaSize && reserved(i+1) && group[i+1].end == m.start+arenaSize,
			!reserved(i) && m.start%arenaSize == 0 && m.size() == arenaSize:
			kinds[i] = kindArena
		}
	}
	for i := range group {
		if reserved(i) || kinds[i] != kindUnknown || group[i].rss > sureRuntime { // the kernel may have put memory of C there
			continue
		}
		near := func(j int) bool { return reserved(j) && group[j].size() >= summaryPart && group[j].size() < regionTail }
		if near(i-1) || near(i+1) {
			kinds[i] = kindRuntime
		}
	}
}

// mapped is the resident memory of mapped files.
func (l *layout) mapped() (n int64) {
	for _, bytes := range l.files {
		n += bytes
	}
	return n
}

// largestFiles are the names of mapped files, the largest first.
func (l *layout) largestFiles() []string {
	return slices.SortedFunc(maps.Keys(l.files), func(a, b string) int {
		return cmp.Or(cmp.Compare(l.files[b], l.files[a]), cmp.Compare(a, b))
	})
}

// divide splits the anonymous memory that may be the runtime's. estimate is what the runtime says it took, -1 if that is not known.
func (l *layout) divide(estimate int64) (runtime, program int64) {
	all := int64(0)
	for _, n := range l.unknown {
		all += n
	}
	if estimate >= 0 {
		runtime = min(all, max(estimate-l.runtime, 0))
		return runtime, all - runtime
	}
	bound := max(sureRuntime, int64(runtimeShare*float64(l.heap)))
	for _, n := range l.unknown {
		if n <= bound {
			runtime += n
		}
	}
	runtime = min(runtime, 2*bound)
	return runtime, all - runtime
}
