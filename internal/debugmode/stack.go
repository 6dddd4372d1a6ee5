// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"bytes"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// maxFrames bounds a stack: the innermost so many calls are kept.
const maxFrames = 32

// A Stack is an interned Go stack, 0 for none. It is turned into text once, when it is first seen.
type Stack uint32

// stackTable holds the text of each stack, found by its return addresses.
type stackTable struct {
	limit int // of stacks
	mu    sync.RWMutex
	known map[[maxFrames]uintptr]Stack
	lost  atomic.Uint64 // calls that got no stack
}

// maxStacks bounds the table, whose entries take a kilobyte or two: a program that allocates from
// more places calls itself in ever new ways.
const maxStacks = 1 << 16

// stacks is the table of this process.
var stacks = stackTable{limit: maxStacks}

// Callers returns the stack of the calling goroutine. With skip 0 it begins with the caller of
// Callers, with 1 with the caller of that, and so on; calls inside freehold's own packages at its
// inner end are left out, so that it begins with the program's. A stack that was seen before takes
// about a microsecond. Past 65536 different stacks new ones are not kept: the result is 0, and the
// first time one line says so.
func Callers(skip int) Stack {
	var pcs [maxFrames]uintptr
	n := runtime.Callers(skip+2, pcs[:])
	if n == 0 {
		return 0
	}
	return stacks.intern(pcs, n)
}

// intern returns the stack of the first n addresses; the others are 0.
func (t *stackTable) intern(pcs [maxFrames]uintptr, n int) Stack {
	t.mu.RLock()
	s, ok := t.known[pcs]
	full := len(t.known) >= t.limit
	t.mu.RUnlock()
	if ok {
		return s
	}
	if full {
		if t.lost.Add(1) == 1 {
			say("%d different stacks are known: new ones are not kept", t.limit)
		}
		return 0
	}
	text := frameText(runtime.CallersFrames(outside(pcs[:n])))
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.known[pcs]; ok {
		return s
	}
	if t.known == nil {
		t.known = make(map[[maxFrames]uintptr]Stack)
	}
	s = Stack(texts.add(text))
	t.known[pcs] = s
	return s
}

// outside drops the innermost calls of a stack as long as they are freehold's own. If all are, none
// is dropped.
func outside(pcs []uintptr) []uintptr {
	for i := range pcs {
		f, _ := runtime.CallersFrames(pcs[i : i+1]).Next()
		if !isOwn(f.Function, f.File) {
			return pcs[i:]
		}
	}
	return pcs
}

// isOwn reports whether a function is one of freehold's, through which the program came here. Tests
// are programs.
func isOwn(function, file string) bool {
	rest, ok := strings.CutPrefix(function, "github.com/freehold-go/freehold/")
	if !ok || strings.HasSuffix(file, "_test.go") {
		return false
	}
	for _, own := range []string{"offheap.", "arena.", "pool.", "internal/"} {
		if strings.HasPrefix(rest, own) {
			return true
		}
	}
	return false
}

// String returns two lines for each call, the innermost first: "    function\n" and "
// file:line\n". It is "" for no stack.
func (s Stack) String() string { return texts.get(uint32(s)) }

// frameText makes the text of a stack.
func frameText(frames *runtime.Frames) string {
	var b strings.Builder
	for {
		f, more := frames.Next()
		if f.Function != "" {
			writeFrame(&b, f.Function, f.File+":"+strconv.Itoa(f.Line))
		}
		if !more {
			return dropOuter(b.String())
		}
	}
}

func writeFrame(b *strings.Builder, function, place string) {
	b.WriteString("    " + function + "\n        " + place + "\n")
}

// Goroutine returns the number of the calling goroutine, as Go's own tracebacks show it. It takes
// some 10 µs, because the only documented way to it is the text of a traceback.
func Goroutine() int64 {
	var buf [64]byte
	text := buf[:runtime.Stack(buf[:], false)]
	text = bytes.TrimPrefix(text, []byte("goroutine "))
	number, _, _ := bytes.Cut(text, []byte(" "))
	n, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
