// SPDX-License-Identifier: Apache-2.0

//go:build (asan || msan || valgrind) && linux && (amd64 || arm64)

package sanitize_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// stack is the caller's, as Record wants it.
//
//go:noinline
func stack() string {
	var pcs [8]uintptr
	var b strings.Builder
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for f, more := frames.Next(); more; f, more = frames.Next() {
		fmt.Fprintf(&b, "    %s\n        %s:%d\n", f.Function, f.File, f.Line)
	}
	return b.String()
}

// memory is what blocks are cut from.
func memory() uintptr {
	const size = 1 << 20
	m := vmem.System()
	addr, err := m.Reserve(size, size, "test")
	if err == nil {
		err = m.Commit(addr, size)
	}
	if err != nil {
		panic(err)
	}
	sanitize.Reserve(addr, size)
	return addr
}

//go:noinline
func allocate(zeroed bool) *node {
	addr := memory() + 1024
	sanitize.Fresh(addr, nodeSize, zeroed)
	sanitize.Record(addr, nodeSize, "node, test", 1, stack())
	return unsafex.At[node](addr)
}

//go:noinline
func release(p *node) {
	addr := unsafex.Addr(p)
	sanitize.Freed(addr, nodeSize)
	sanitize.RecordFree(addr, nodeSize, "Free", "test.Free", 1, stack())
}

//go:noinline
func readMiddle(p *node) {
	if p.b == 7 { // Valgrind asks for values only when something depends on them.
		sink++
	}
}

//go:noinline
func writeMiddle(p *node) { p.b = 7 }

//go:noinline
func readBehind(p *node) { sink += unsafex.Elem(p, 1).a }

//go:noinline
func writeBefore(p *node) { unsafex.At[node](unsafex.Addr(p) - 8).a = 7 }

var blockRows = []row{
	{name: "correct", run: func() {
		p := allocate(true)
		readMiddle(p)
		writeMiddle(p)
		readMiddle(p)
		release(p)
	}},
	{name: "correct, written before it is read", run: func() {
		p := allocate(false)
		writeMiddle(p)
		readMiddle(p)
	}},
	{name: "correct, handed out again", run: func() {
		p := allocate(true)
		release(p)
		addr := unsafex.Addr(p)
		sanitize.Fresh(addr, nodeSize, true)
		readMiddle(p)
		sanitize.Freed(addr, nodeSize)
		sanitize.Forget(addr, nodeSize)
		sanitize.Unpoison(addr-1024, 1<<20)
		readMiddle(p)
	}},
	{name: "read after free", run: func() { p := allocate(true); release(p); readMiddle(p) },
		asan: []string{"use-after-poison", "sanitize_test.readMiddle",
			"freehold: use after Free: access 8 bytes into a block of 24 bytes (node, test) that was freed\n" +
				"  accessed by:\n    github.com/freehold-go/freehold/internal/sanitize_test.readMiddle\n",
			"  allocated by goroutine 1:\n    github.com/freehold-go/freehold/internal/sanitize_test.allocate\n",
			"  freed by goroutine 1, by test.Free:\n    github.com/freehold-go/freehold/internal/sanitize_test.release\n"},
		msan: []string{"MemorySanitizer: use-of-uninitialized-value",
			"freehold: use after Free: access 8 bytes into a block of 24 bytes (node, test) that was freed\n" +
				"  accessed by:\n    github.com/freehold-go/freehold/internal/sanitize_test.readMiddle\n",
			"  allocated by goroutine 1:\n    github.com/freehold-go/freehold/internal/sanitize_test.allocate\n",
			"  freed by goroutine 1, by test.Free:\n    github.com/freehold-go/freehold/internal/sanitize_test.release\n"},
		valgrind: []string{"Invalid read of size 8", "sanitize_test.readMiddle", "8 bytes inside a block of size 24 free'd",
			"sanitize_test.release", "Block was alloc'd at", "sanitize_test.allocate"}},
	{name: "write after free", run: func() { p := allocate(true); release(p); writeMiddle(p) },
		asan: []string{"WRITE of size 8", "sanitize_test.writeMiddle", "freehold: use after Free: access 8 bytes into"},
		// A write makes memory written, for any owner.
		valgrind: []string{"Invalid write of size 8", "sanitize_test.writeMiddle", "8 bytes inside a block of size 24 free'd"}},
	{name: "read behind the end", run: func() { readBehind(allocate(true)) },
		asan:     []string{"freehold: overflow: access right behind a block of 24 bytes (node, test)\n", "sanitize_test.allocate"},
		msan:     []string{"freehold: overflow: access right behind a block of 24 bytes (node, test)\n", "sanitize_test.allocate"},
		valgrind: []string{"Invalid read of size 8", "sanitize_test.readBehind"}},
	{name: "write before the beginning", run: func() { writeBefore(allocate(true)) },
		asan:     []string{"freehold: underflow: access 8 bytes before a block of 24 bytes (node, test)\n", "sanitize_test.allocate"},
		valgrind: []string{"Invalid write of size 8", "sanitize_test.writeBefore"}},
	{name: "read of what was never written", run: func() { readMiddle(allocate(false)) },
		msan: []string{"freehold: uninitialised read: 8 bytes into a block of 24 bytes (node, test) that nobody has written there\n",
			"sanitize_test.allocate"},
		valgrind: []string{"Conditional jump or move depends on uninitialised value", "sanitize_test.readMiddle"}},
	{name: "system call with freed memory", run: func() {
		_, w, err := os.Pipe()
		p := allocate(true)
		release(p)
		if err == nil {
			_, _ = w.Write(unsafex.Bytes(unsafex.Addr(p), nodeSize))
		}
	},
		asan:     []string{"READ of size 24", "freehold: use after Free: access 0 bytes into"},
		msan:     []string{"freehold: use after Free: access 0 bytes into"},
		valgrind: []string{"Syscall param write(buf) points to unaddressable byte(s)", "0 bytes inside a block of size 24 free'd"}},
}

func init() { all = append(all, blockRows...) }

// TestBlocks holds the functions to what each sanitizer must make of them.
func TestBlocks(t *testing.T) { check(t, blockRows) }
