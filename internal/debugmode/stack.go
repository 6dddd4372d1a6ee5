// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"bytes"
	"encoding/binary"
	"os"
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

// faultStack is the stack of the access if the caller runs in a deferred function after a fault,
// and "" elsewhere: the calls behind the runtime's function that turns a signal into a panic
// (GC-9).
func faultStack() string {
	pcs := make([]uintptr, 128)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for {
		f, more := frames.Next()
		if !more {
			return ""
		}
		if f.Function == "runtime.sigpanic" {
			return dropRuntime(frameText(frames))
		}
	}
}

// dropRuntime takes away the innermost calls that are the runtime's: a copy or a comparison that it
// makes for the program.
func dropRuntime(stack string) string {
	for {
		rest, found := strings.CutPrefix(stack, "    ")
		if !found || !isRuntime(rest) {
			return stack
		}
		_, rest, _ = strings.Cut(rest, "\n") // the function
		_, rest, _ = strings.Cut(rest, "\n") // its place
		if rest == "" {
			return stack
		}
		stack = rest
	}
}

// dropOuter takes away the runtime's calls at the outer end, which start the program or a
// goroutine.
func dropOuter(stack string) string {
	for {
		at := strings.LastIndex(strings.TrimSuffix(stack, "\n"), "\n    runtime.")
		if at < 0 || strings.Count(stack[at:], "\n") != 3 {
			return stack
		}
		stack = stack[:at+1]
	}
}

func isRuntime(function string) bool {
	for _, prefix := range []string{"runtime.", "internal/runtime/", "internal/bytealg."} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}

// textTable holds strings by number, 0 being the empty one.
type textTable struct {
	mu      sync.RWMutex
	list    []string
	numbers map[string]uint32 // of those that were interned
	file    *os.File          // where the watching copy reads them, nil if there is none
	end     int64             // of the texts written there
}

// texts holds the stacks, and the names of types, owners and operations.
var texts textTable

// add stores a string and returns its number.
func (t *textTable) add(s string) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.addLocked(s)
}

func (t *textTable) addLocked(s string) uint32 {
	t.list = append(t.list, s)
	t.write(s)
	return uint32(len(t.list))
}

// intern returns the number of a string, the same for equal strings.
func (t *textTable) intern(s string) uint32 {
	if s == "" {
		return 0
	}
	t.mu.RLock()
	n, ok := t.numbers[s]
	t.mu.RUnlock()
	if ok {
		return n
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if n, ok := t.numbers[s]; ok {
		return n
	}
	if t.numbers == nil {
		t.numbers = make(map[string]uint32)
	}
	n = t.addLocked(s)
	t.numbers[s] = n
	return n
}

// get returns the string with the number, "" for one that was never given.
func (t *textTable) get(n uint32) string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if n == 0 || uint64(n) > uint64(len(t.list)) {
		return ""
	}
	return t.list[n-1]
}

// write appends a string to the file. The length comes last, so that a text which is only half
// there is none.
func (t *textTable) write(s string) {
	if t.file == nil {
		return
	}
	entry := make([]byte, 4+len(s), 8+len(s))
	copy(entry[4:], s)
	if _, err := t.file.WriteAt(entry[:8+len(s)], t.end); err != nil {
		t.lost(err)
		return
	}
	binary.NativeEndian.PutUint32(entry, uint32(len(s))+1)
	if _, err := t.file.WriteAt(entry[:4], t.end); err != nil {
		t.lost(err)
		return
	}
	t.end += int64(len(entry))
}

// lost ends the writing: whatever came later would have another number in the copy.
func (t *textTable) lost(err error) {
	t.file = nil
	say("no more stacks for the report of a crash: %v", err)
}

// decodeTexts reads what textTable.write wrote, up to a write that was begun and not done.
func decodeTexts(data []byte) (list []string) {
	for len(data) >= 4 {
		n := uint64(binary.NativeEndian.Uint32(data))
		if n == 0 || n > uint64(len(data)-3) {
			break
		}
		list = append(list, string(data[4:n+3]))
		data = data[n+3:]
	}
	return list
}
