// SPDX-License-Identifier: Apache-2.0

package rss

import "fmt"

// account fills in the lines. They add up to the resident set of l, whatever f says. f is nil without the runtime's figures.
func (r *Report) account(l *layout, f *figures) {
	r.RSS, r.Swap, r.Names, r.Smaps = l.rss, l.swap, l.named, true
	add := func(key, name string, bytes int64, note string) {
		if bytes != 0 {
			r.Lines = append(r.Lines, Line{Key: key, Name: name, Bytes: bytes, Note: note})
		}
	}
	estimate := int64(-1)
	unexplained := int64(0)
	if f == nil {
		add(LineHeap, "Go heap with stacks", l.heap, "")
	} else {
		estimate = f.runtimeSys()
		unexplained = r.heapLines(f, l)
	}
	runtime, unknown := l.divide(estimate)
	if f != nil && unknown < sureRuntime && l.brk+l.arenas+l.stacks == 0 && len(l.libraries) == 0 {
		// The runtime counts a few of its tables nowhere, such as the index of the heap's arenas.
		runtime, unknown = runtime+unknown, 0
	}
	add(LineRuntime, "runtime", l.runtime+runtime, "")
	add(LineOffheap, "off-heap (freehold)", l.offheap, "")
	r.Anonymous = Anonymous{Brk: l.brk, Arenas: l.arenas, ArenaCount: l.nArenas, ThreadStacks: l.stacks, Threads: l.nStacks, Mapped: unknown + l.other}
	add(LineAnonymous, "anonymous, not Go's", unknown+l.other+l.brk+l.arenas+l.stacks, "")
	add(LineFiles, "mapped files", l.mapped(), "")
	add(LineShared, "shared memory", l.shared, "")
	add(LineBinary, "binary and libraries", l.binary, "")
	add(LineUnexplained, "unexplained", unexplained, "")
	r.Libraries = l.libraries
	for _, name := range l.largestFiles() {
		if len(r.Files) < mostParts && l.files[name] > 0 {
			r.Files = append(r.Files, Part{name, l.files[name]})
		}
	}
}

// heapLines splits what is resident in the Go heap's mappings by the runtime's figures, and returns what they do not explain.
func (r *Report) heapLines(f *figures, l *layout) (unexplained int64) {
	r.Lines = append(r.Lines,
		Line{Key: LineLive, Name: "live heap", Bytes: r.Live.Bytes, Note: r.Live.note()},
		Line{Key: LineSince, Name: "allocated since the last collection", Bytes: f.alloc - r.Live.Bytes},
		Line{Key: LineWaste, Name: "span waste", Bytes: f.inuse - f.alloc},
		Line{Key: LineFree, Name: "free, not returned", Bytes: f.idle - f.released},
		Line{Key: LineStacks, Name: "goroutine stacks", Bytes: f.stacks},
	)
	if r.Goroutines != nil {
		r.Lines[len(r.Lines)-1].Note = fmt.Sprintf("%d goroutines", r.Goroutines.Count)
	}
	difference := l.heap - f.expected()
	if swapped := min(l.heapSwap, -difference); swapped > 0 {
		r.Lines = append(r.Lines, Line{Key: LineSwapped, Name: "swapped out", Bytes: -swapped, Note: "the lines above count it"})
		difference += swapped
	}
	if difference < 0 {
		r.Lines = append(r.Lines, Line{Key: LineUntouched, Name: "counted, never touched", Bytes: difference, Note: "the lines above count it, and it takes no memory"})
		return 0
	}
	if again := min(difference, f.released); again > 0 {
		line := Line{Key: LineAgain, Name: "returned, but resident again", Bytes: again}
		switch {
		case l.lazyFree > again/2:
			line.Note = lazily
		case l.heapHuge > 0:
			line.Note = mib(l.heapHuge) + " of the heap are in huge pages"
		}
		r.Lines = append(r.Lines, line)
		difference -= again
	}
	return difference
}

// lazily is the note of memory that Go returned with MADV_FREE (GODEBUG=madvdontneed=0).
const lazily = "returned with MADV_FREE: the kernel takes it when memory is short"

// note says how the live heap is known.
func (l *Live) note() string {
	if l.Low == l.High {
		return "by " + l.Source
	}
	return fmt.Sprintf("%s to %s, by %s", mib(l.Low), mib(l.High), l.Source)
}

// accountOfRuntime fills in the lines of a program whose mappings cannot be read: the runtime's figures, and the rest of the resident
// set if that is known, 0 if it is not.
func (r *Report) accountOfRuntime(f *figures, rss int64) {
	r.heapLines(f, &layout{heap: f.expected()})
	r.Lines = append(r.Lines, Line{Key: LineRuntime, Name: "runtime", Bytes: f.runtimeSys(), Note: "at most"})
	sum := int64(0)
	for _, l := range r.Lines {
		sum += l.Bytes
	}
	if r.RSS = sum; rss == 0 {
		r.note("the mappings of the process cannot be read, so the sum is of what the runtime knows; run freehold where the process runs for the rest")
		return
	}
	r.RSS = rss
	r.note("the mappings of the process cannot be read: the resident set is what the process's status or /metrics says, and memory outside the heap is not split; run freehold where the process runs for that")
	if rss > sum {
		r.Lines = append(r.Lines, Line{Key: LineOutside, Name: "outside the Go heap: C, files, code", Bytes: rss - sum})
	} else if rss < sum {
		r.Lines = append(r.Lines, Line{Key: LineUntouched, Name: "counted, never touched or swapped out", Bytes: rss - sum})
	}
}
