// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// Note adds a problem.
func (e *Evidence) Note(what, how string) {
	if p := (Problem{what, how}); !slices.Contains(e.noted, p) {
		e.noted = append(e.noted, p)
	}
}

// Problems are the problems that were noted, and those that the pieces show beside each other:
// profiles of different builds, and profiles of different times.
func (e *Evidence) Problems() []Problem {
	list := slices.Clone(e.noted)
	for _, check := range []func(*Evidence) (Problem, bool){otherBuild, otherTime, spareDelta, fallingCounters} {
		if p, found := check(e); found {
			list = append(list, p)
		}
	}
	return list
}

// twice reports whether the same bytes were read before, and notes it.
func (e *Evidence) twice(name string, data []byte) bool {
	if e.seen == nil {
		e.seen = map[[sha256.Size]byte]string{}
	}
	key := sha256.Sum256(data)
	first, again := e.seen[key]
	switch {
	case !again:
		e.seen[key] = name
	case first == name:
		e.Note(name+" was given twice, and counts once", "give each file once")
	default:
		e.Note(fmt.Sprintf("%s has the same contents as %s, and is left out", name, first), "give the file of the other end of the window, or leave this one out")
	}
	return again
}

// binaryOf is the file and the build ID of the program that a profile was taken of, each "" if the
// profile lacks it. The program is the first mapping.
func binaryOf(p *profile.Profile) (file, id string) {
	if p == nil || len(p.Mapping) == 0 {
		return "", ""
	}
	return path.Base(strings.ReplaceAll(p.Mapping[0].File, `\`, "/")), p.Mapping[0].BuildID
}

// apart says how the programs of two profiles differ, "" if they may be the same.
func apart(p, q *profile.Profile) string {
	file1, id1 := binaryOf(p)
	file2, id2 := binaryOf(q)
	switch {
	case id1 != "" && id2 != "":
		if id1 == id2 {
			return ""
		}
		if file1 == file2 {
			return fmt.Sprintf("two builds of %s (build IDs %.12s and %.12s)", file1, id1, id2)
		}
		return fmt.Sprintf("different programs (%s and %s)", file1, file2)
	case isFile(file1) && isFile(file2) && file1 != file2:
		return fmt.Sprintf("different programs (%s and %s)", file1, file2)
	}
	return ""
}

// isFile reports whether a mapping's file is a program's, and not a name like "[vdso]" or "//anon".
func isFile(base string) bool {
	return base != "" && base != "." && base != "/" && base != "anon" && base[0] != '['
}

const sameBuild = "take all profiles of one run of one program"

func otherBuild(e *Evidence) (Problem, bool) {
	for _, pair := range []struct {
		names string
		p, q  *profile.Profile
	}{{"the CPU profile and the heap profile", e.CPU, e.Heap[1]}, {"the CPU profile and the first heap profile", e.CPU, e.Heap[0]}, {"the heap profiles", e.Heap[0], e.Heap[1]}} {
		if how := apart(pair.p, pair.q); how != "" {
			return Problem{pair.names + " are of " + how + ", so the shares of lines do not fit the bytes", sameBuild}, true
		}
	}
	return Problem{}, false
}

// aloof is how long before or after the CPU profile a heap profile may be taken by hand.
const aloof = 2 * time.Minute

// otherTime finds heap profiles that say nothing about the time of the CPU profile.
func otherTime(e *Evidence) (Problem, bool) {
	if e.CPU == nil || e.CPU.TimeNanos <= 0 || e.Heap[1] == nil || e.Heap[1].TimeNanos <= 0 {
		return Problem{}, false
	}
	begin := time.Unix(0, e.CPU.TimeNanos)
	end := begin.Add(time.Duration(max(e.CPU.DurationNanos, 0)))
	last := time.Unix(0, e.Heap[1].TimeNanos)
	const how = "take /debug/pprof/heap right before and right after the CPU profile"
	if p := e.Heap[0]; p != nil && p.TimeNanos > 0 {
		if first := time.Unix(0, p.TimeNanos); last.Before(begin) || first.After(end) {
			return Problem{fmt.Sprintf("the heap profiles (%s to %s) and the CPU profile (%s to %s) are of different times", clock(first), clock(last), clock(begin), clock(end)), how}, true
		}
		return Problem{}, false
	}
	slack := max(aloof, end.Sub(begin))
	switch {
	case last.After(end.Add(slack)):
		return Problem{fmt.Sprintf("the heap profile was taken %s after the end of the CPU profile, so its bytes in use may be others", last.Sub(end).Round(time.Second)), how}, true
	case last.Before(begin.Add(-slack)):
		return Problem{fmt.Sprintf("the heap profile was taken %s before the CPU profile, so its bytes in use may be others", begin.Sub(last).Round(time.Second)), how}, true
	}
	return Problem{}, false
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

// spareDelta mentions a difference of heap profiles that is not used.
func spareDelta(e *Evidence) (Problem, bool) {
	if len(e.heaps.deltas) == 0 || e.Delta {
		return Problem{}, false
	}
	return Problem{"the difference of heap profiles (heap?seconds=N) is left out, because two whole heap profiles were given", "give the difference with at most one whole profile"}, true
}

// fallingCounters mentions heap profiles that were added up because they cannot be of a program's
// whole life.
func fallingCounters(e *Evidence) (Problem, bool) {
	if !e.heaps.fell {
		return Problem{}, false
	}
	return Problem{"the later heap profile has fewer allocations than the earlier one, so each counts a window of its own, or the program was started again in between; the later one's allocations count as those of the time between the two",
		"give two whole profiles of one run, from /debug/pprof/heap"}, true
}
