// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"math/bits"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/internal/invariants"
)

// TestBuilderShort: short texts of many Builders that take turns, with other values between the writes,
// are what strings.Builder makes of the same writes, and stay so.
func TestBuilderShort(t *testing.T) {
	for _, k := range kinds {
		a := k.make()
		var texts, wants []string
		builders, models := make([]*Builder, 3), make([]strings.Builder, 3)
		for i := range builders {
			builders[i] = NewBuilder(a)
		}
		for i := range 600 {
			at := i * 7 % 5 % 3
			b, m := builders[at], &models[at]
			part := strings.Repeat(fmt.Sprint(i%10), i*i%23)
			if n, err := b.WriteString(part); n != len(part) || err != nil {
				t.Fatalf("%s: %d, %v", k.name, n, err)
			}
			m.WriteString(part)
			if i%3 == 0 {
				texts, wants = append(texts, String(a, part), b.String()), append(wants, part, m.String())
			}
			switch i % 11 {
			case 4:
				b.Reset()
				m.Reset()
			case 8:
				builders[at] = NewBuilder(a)
				m.Reset()
			}
		}
		for i := range texts {
			if texts[i] != wants[i] {
				t.Errorf("%s: text %d is %q, want %q", k.name, i, texts[i], wants[i])
			}
		}
		a.Free()
	}
}

// TestBuilderGrowsInPlace: a Builder whose bytes end where the chunk's values do grows in place, and is lost
// by a Rewind to before that.
func TestBuilderGrowsInPlace(t *testing.T) {
	chunked(t)
	a := NewArena()
	defer a.Free()
	String(a, "x")
	c := a.Checkpoint()
	b := NewBuilder(a)
	b.Grow(16)
	_, _ = b.WriteString("0123456789abcdef")
	first := b.String()
	if _, err := b.WriteString("more"); err != nil || b.String() != first+"more" || cap(b.buf) != 32 {
		t.Errorf("%q, %v, room for %d", b.String(), err, cap(b.buf))
	}
	a.Rewind(c)
	wantPanic(t, "a write after Rewind", func() { _, _ = b.WriteString("x") }, "rewound")
}

// TestBuilderOnStack: a Builder that its function does not keep takes no memory of the Go heap, and
// neither does what it writes.
func TestBuilderOnStack(t *testing.T) {
	chunked(t)
	reusing(t)
	if raceEnabled || invariants.Enabled || bits.UintSize == 32 {
		t.Skip("the compiler inlines NewBuilder on 64-bit systems, without the race detector and the checks of invariants")
	}
	a := NewArena()
	defer a.Free()
	if a.debug != nil {
		t.Skip("values are sampled")
	}
	round := func() {
		b := NewBuilder(a)
		_, _ = b.WriteString("six by")
		_, _ = b.Write([]byte("and 7 b"))
		_ = b.WriteByte('-')
		b.Grow(100)
		if b.String() != "six byand 7 b-" || b.Len() != 14 {
			t.Errorf("built %q", b.String())
		}
		b.Reset()
		a.Reset(Keep)
	}
	round()
	quiet(t)
	if n := testing.AllocsPerRun(100, round); n > 0 {
		t.Errorf("%v allocations on the Go heap a round", n)
	}
}

// TestBuilderCopyOutlivesStack: a copy of a Builder that lay on a stack may live longer than the stack.
func TestBuilderCopyOutlivesStack(t *testing.T) {
	const n = 8
	var copies [n]*Builder
	for i := range copies {
		var wg sync.WaitGroup
		wg.Go(func() { copies[i] = builderFromDeep(200) }) // Its stack is so large that it is not kept.
		wg.Wait()
	}
	for range 3 {
		runtime.GC()
	}
	for _, c := range copies {
		wantPanic(t, "a copy", func() { _ = c.WriteByte('x') }, "copy of a Builder")
	}
}

//go:noinline
func builderFromDeep(depth int) *Builder {
	var frame [1 << 10]byte
	if depth > 0 {
		c := builderFromDeep(depth - 1)
		runtime.KeepAlive(&frame)
		return c
	}
	b := NewBuilder(nil)
	_ = b.WriteByte('x')
	return copyOf(b)
}

// TestBuilderMoves: a Builder works on if the stack that it lies on moves: while one of its methods runs,
// because goroutines of all depths reach the end of their stack in each place of a method; between two
// calls, because the stack grows; and while the collector, which runs all the time, shrinks it (GC-14).
func TestBuilderMoves(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	for _, a := range []*Arena{Cleanup(t, NewArena()), Cleanup(t, NewShared()), nil} {
		lost := 0
		for depth := range 300 {
			var wg sync.WaitGroup
			wg.Go(func() { lost += buildAt(a, depth) })
			wg.Wait()
		}
		if lost > 0 {
			t.Errorf("%d of 300 Builders lost bytes", lost)
		}
	}
}

//go:noinline
func buildAt(a *Arena, depth int) (lost int) {
	if depth > 0 {
		return buildAt(a, depth-1)
	}
	b := NewBuilder(a)
	n := 0
	for i := range 12 {
		_, _ = b.WriteString("twelve bytes"[:i])
		_ = b.WriteByte('-')
		if n += i + 1; i == 6 {
			n += deepen(40)
			b.Grow(40)
		}
	}
	_, _ = b.Write([]byte("end"))
	if s := b.String(); len(s) != n-40+3 || b.Len() != len(s) || !strings.HasSuffix(s, "-twelve byt-twelve byte-end") {
		return 1
	}
	return 0
}

// deepen grows the stack by some n KiB and returns n.
//
//go:noinline
func deepen(n int) int {
	var frame [1 << 10]byte
	if n == 0 {
		return 0
	}
	frame[n%len(frame)] = 1
	return deepen(n-1) + int(frame[n%len(frame)])
}

// TestBuilderZero: a Builder that NewBuilder did not make panics.
func TestBuilderZero(t *testing.T) {
	var b Builder
	for _, f := range []func(){
		func() { _ = b.WriteByte('x') },
		func() { _, _ = b.WriteString("") },
		func() { b.Grow(1) },
		func() { b.Reset() },
		func() { _ = b.String() },
		func() { _, _ = b.ReadFrom(strings.NewReader("x")) },
	} {
		wantPanic(t, "a zero Builder", f, "no function of the package made")
	}
	if b.Len() != 0 || cap(b.buf) != 0 {
		t.Error("a zero Builder has bytes")
	}
}
