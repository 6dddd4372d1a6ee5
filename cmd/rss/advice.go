// SPDX-License-Identifier: Apache-2.0

package rss

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// What is worth a word: a line below both bounds is normal, whatever it is.
const (
	leastAdvice   = 16 << 20
	adviceShare   = 0.10 // of the resident set
	wasteShare    = 0.25 // of the heap in use, from which on span waste is unusual
	freeShare     = 0.25 // of the resident set, from which on free memory is unusual: Go keeps a tenth above its goal
	sinceShare    = 1.10 // of the live heap: with GOGC=100 as much again is allocated until the next collection
	tightLimit    = 1.5  // a limit below so many times the live heap costs CPU
	mostAdvice    = 3
	usualStack    = 8 << 10 // of a goroutine
	manyGoroutine = 10_000
)

// advise fills in the advice: candidates that are large enough, the largest first. A limit that binds comes before all others.
func (r *Report) advise() {
	r.Advice = []Advice{}
	if r.LimitBinds && r.Live != nil && r.Limit > 0 && float64(r.Limit) < tightLimit*float64(r.Live.Bytes) {
		r.Advice = append(r.Advice, Advice{"limit", r.Limit, fmt.Sprintf("GOMEMLIMIT is %s and decides when collections begin, with %s of live data below it: collections follow one another and take the CPU. Raise the limit to %s or more, or keep less data. freehold sweep measures both.",
			mib(r.Limit), mib(r.Live.Bytes), mib(2*r.Live.Bytes+r.bytes(LineStacks)+r.bytes(LineRuntime)))})
	}
	least := max(int64(adviceShare*float64(r.RSS)), leastAdvice)
	var list []Advice
	for _, l := range r.Lines {
		if text := r.remedy(l); text != "" && max(l.Bytes, -l.Bytes) >= least {
			list = append(list, Advice{l.Key, max(l.Bytes, -l.Bytes), text})
		}
	}
	if g := r.Group; g != nil && !g.Above && g.Cache >= least && g.Limit > 0 && g.Cache > g.Limit/8 {
		list = append(list, Advice{"file-cache", g.Cache, fmt.Sprintf("%s of the control group are the cache of files that its processes read and wrote. The kernel takes it back before it kills: it is no leak. kubelet's working set counts the active part (%s); to lower that, read and write large files with POSIX_FADV_DONTNEED or O_DIRECT.",
			mib(g.Cache), mib(g.Active))})
	}
	slices.SortStableFunc(list, func(a, b Advice) int { return cmp.Compare(b.Bytes, a.Bytes) })
	r.Advice = append(r.Advice, list...)
	r.Advice = r.Advice[:min(len(r.Advice), mostAdvice)]
}

// remedy says what to do about a line, "" if it is normal.
func (r *Report) remedy(l Line) string {
	switch l.Key {
	case LineLive:
		return r.aboutLive(l)
	case LineSince:
		if live := r.bytes(LineLive); float64(l.Bytes) > sinceShare*float64(live) && (r.GOGC < 0 || r.GOGC > 100) {
			return fmt.Sprintf("%s were allocated since the last collection, most of it garbage by now: GOGC is %s. That is a choice: less memory for more CPU with a lower GOGC, or a bound with GOMEMLIMIT. freehold sweep measures what each costs.", mib(l.Bytes), r.gogcText())
		}
	case LineWaste:
		if used := r.bytes(LineLive) + r.bytes(LineSince); float64(l.Bytes) > wasteShare*float64(used+l.Bytes) {
			return fmt.Sprintf("%s are holes in spans that still hold live objects: a peak left few objects in each span, or object sizes lie just above a size class. Only the end of those objects frees the spans; allocate what lives long before the peak, or in one piece.", mib(l.Bytes))
		}
	case LineFree:
		if float64(l.Bytes) > freeShare*float64(r.RSS) {
			return fmt.Sprintf("%s are free and not yet returned: the heap was larger, and Go keeps what its goal may need again (GOGC=%s) and returns the rest in the background within minutes. debug.FreeOSMemory returns it at once; a GOMEMLIMIT makes Go return it when memory is short.", mib(l.Bytes), r.gogcText())
		}
	case LineStacks:
		return r.aboutStacks(l)
	case LineUntouched:
		return fmt.Sprintf("%s are allocated and were never touched, such as a ballast or a buffer that is larger than its use. They take no memory, but raise the heap's goal, and profiles count them. Without a ballast the collector runs as seldom with GOMEMLIMIT and a higher GOGC: freehold sweep measures it, gctune sets both.", mib(-l.Bytes))
	case LineAgain:
		if l.Note == lazily {
			return ""
		}
		return fmt.Sprintf("%s that Go gave back are resident again: the kernel made huge pages of mappings with holes (khugepaged, transparent_hugepage=always, or MADV_COLLAPSE). Set /sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none to 0, or transparent_hugepage to madvise; debug.FreeOSMemory gives it back once.", mib(l.Bytes))
	case LineSwapped:
		return fmt.Sprintf("%s of the heap are swapped out. Each collection reads live memory back in, which takes seconds: give the machine or the group more memory, or switch swap off for the program (memory.swap.max).", mib(-l.Bytes))
	case LineRuntime:
		if total := r.bytes(LineHeap) + r.bytes(LineLive) + r.bytes(LineSince); float64(l.Bytes) > 0.15*float64(total) {
			return fmt.Sprintf("%s are the runtime's own tables: it keeps those of the largest heap so far, and the profiler's (a site for each stack). They never shrink; a lower peak keeps them small.", mib(l.Bytes))
		}
	case LineOffheap:
		return r.aboutOffheap(l)
	case LineAnonymous:
		return r.aboutAnonymous(l)
	case LineFiles:
		return fmt.Sprintf("%s are pages of mapped files: %s. They are the kernel's cache, shared by all processes that map the file, and taken back when memory is short unless they are dirty. They count in RSS; for limits look at the control group. Map less, or advise the kernel (MADV_RANDOM, MADV_DONTNEED) behind large scans.", mib(l.Bytes), partsText(r.Files))
	case LineShared:
		return fmt.Sprintf("%s are memory that processes share (shm, memfd, /dev/shm, anonymous MAP_SHARED). It counts against the control group and stays until all processes unmap and delete it.", mib(l.Bytes))
	case LineHeap:
		return fmt.Sprintf("%s are the Go heap with goroutine stacks. To split it, serve net/http/pprof (import _ \"net/http/pprof\", and http.ListenAndServe(\"localhost:6060\", nil)), and run: freehold rss %d http://localhost:6060", mib(l.Bytes), r.PID)
	case LineOutside:
		return fmt.Sprintf("%s are outside the Go heap: C's memory, mapped files, code. Run freehold rss where the process runs, and it splits them.", mib(l.Bytes))
	case LineUnexplained:
		return fmt.Sprintf("%s are resident in the Go heap beyond what the runtime counts. The program probably allocates quickly: run freehold rss again.", mib(l.Bytes))
	}
	return ""
}

func (r *Report) aboutLive(l Line) string {
	if touched := l.Bytes + r.bytes(LineUntouched); 2*touched < r.RSS {
		return ""
	}
	text := fmt.Sprintf("%s are live: data that the program keeps, and the part that no setting makes smaller.", mib(l.Bytes))
	if len(r.Sites) == 0 {
		return text + " The heap profile shows where it was allocated: go tool pprof -sample_index=inuse_space URL/debug/pprof/heap"
	}
	text += " The largest sites: " + partsText(r.Sites) + "."
	return text + " If it grows, take two reports with -save some minutes apart: freehold rss FIRST SECOND says which of these sites grow."
}

func (r *Report) aboutStacks(l Line) string {
	g := r.Goroutines
	if g == nil || g.Count == 0 {
		return fmt.Sprintf("%s are stacks of goroutines.", mib(l.Bytes))
	}
	each := l.Bytes / int64(g.Count)
	text := fmt.Sprintf("%s are the stacks of %d goroutines, %s each", mib(l.Bytes), g.Count, mib(each))
	if len(g.Begin) > 0 {
		text += fmt.Sprintf("; %d began in %s", g.Begin[0].Count, g.Begin[0].Name)
	}
	if len(g.Parked) > 0 {
		text += fmt.Sprintf(", and %d are parked in %s", g.Parked[0].Count, g.Parked[0].Name)
	}
	if each > 2*usualStack && g.Count < manyGoroutine {
		return text + ". Few goroutines with deep stacks: recursion, or large arrays as local variables. A stack shrinks by half at each collection that finds less than a quarter in use."
	}
	return text + ". Fewer goroutines take less: end those that wait for nothing (-leaks names them, with Go 1.27 or later), and see who starts them with -creators."
}

func (r *Report) aboutOffheap(l Line) string {
	text := fmt.Sprintf("%s are freehold's off-heap memory, which the collector neither reads nor counts", mib(l.Bytes))
	if len(r.Purposes) > 0 {
		return text + ": " + partsText(r.Purposes) + ". Free what is no longer needed; offheap.Purge returns what is free."
	}
	return text + ". Publish expvarstats to see which purpose holds it; the mode leaks lists blocks that are never freed."
}

func (r *Report) aboutAnonymous(l Line) string {
	a := r.Anonymous
	parts := []Part{{"C's brk heap", a.Brk}, {fmt.Sprintf("glibc's arenas (%d)", a.ArenaCount), a.Arenas}, {fmt.Sprintf("stacks of %d threads", a.Threads), a.ThreadStacks}, {"mmap by C or the program", a.Mapped}}
	slices.SortStableFunc(parts, func(a, b Part) int { return cmp.Compare(b.Bytes, a.Bytes) })
	parts = slices.DeleteFunc(parts, func(p Part) bool { return p.Bytes < 1<<20 })
	text := fmt.Sprintf("%s are anonymous memory that Go does not name: %s.", mib(l.Bytes), partsText(parts))
	if len(r.Libraries) == 0 {
		return text + " No C library is loaded: the program or a package maps it (unix.Mmap with MAP_ANON)."
	}
	text += " Libraries loaded: " + strings.Join(r.Libraries[:min(len(r.Libraries), 6)], ", ") + "."
	if 2*a.Arenas > l.Bytes && a.ArenaCount > 4 {
		text += " Try MALLOC_ARENA_MAX=2 first: each thread that calls C may have an arena."
	}
	return text + " No Go profile shows it: free what C allocates (C.free, Close), and find the caller with heaptrack, jemalloc's profile or bpftrace on malloc."
}

func (r *Report) gogcText() string {
	if r.GOGC < 0 {
		return "off"
	}
	return fmt.Sprintf("%.0f", r.GOGC)
}

// partsText writes the three largest parts, without those that are small beside the first, and without the folders of packages.
func partsText(parts []Part) string {
	var texts []string
	for _, p := range parts[:min(len(parts), 3)] {
		if p.Bytes < parts[0].Bytes/10 {
			continue
		}
		words := strings.Fields(p.Name)
		for i, w := range words {
			words[i] = w[strings.LastIndexByte(w, '/')+1:]
		}
		texts = append(texts, mib(p.Bytes)+" "+strings.Join(words, " "))
	}
	return strings.Join(texts, "; ")
}
