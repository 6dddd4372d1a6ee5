// SPDX-License-Identifier: Apache-2.0

package pool_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/offheap"
	"github.com/freehold-go/freehold/pool"
)

// docs/moving-over.md and docs/pools.md quote the functions of this file.

// An encoder has a buffer that grows with its documents.
type encoder struct{ buf []byte }

func (e *encoder) encode(w io.Writer, words []string) {
	for _, word := range words {
		e.buf = append(append(e.buf, word...), '\n')
	}
	_, _ = w.Write(e.buf)
}

var encodersBefore = sync.Pool{New: func() any { return new(encoder) }}

func encodeBefore(w io.Writer, words []string) {
	e := encodersBefore.Get().(*encoder)
	e.encode(w, words)
	if cap(e.buf) <= 1<<20 { // Or one huge document stays in memory.
		e.buf = e.buf[:0]
		encodersBefore.Put(e)
	}
}

var encoders = pool.Pool[encoder]{
	Size:    func(e *encoder) int { return cap(e.buf) },
	MaxSize: 1 << 20,
	Reset:   func(e *encoder) { e.buf = e.buf[:0] },
}

func encodeAfter(w io.Writer, words []string) {
	e := encoders.Get()
	defer encoders.Put(e)
	e.encode(w, words)
}

// A freeList is what programs write that know their objects.
type freeList struct {
	mu   sync.Mutex
	idle []*encoder
}

func freeListBefore(l *freeList) *encoder {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.idle); n > 0 {
		e := l.idle[n-1]
		l.idle = l.idle[:n-1]
		return e
	}
	return new(encoder)
}

func (l *freeList) put(e *encoder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.idle) < 100 {
		l.idle = append(l.idle, e)
	}
}

var listed = pool.Pool[encoder]{Max: 100}

func bufferAfter(w io.Writer, words []string) error {
	var b pool.Buffer
	defer b.Free()
	for _, word := range words {
		_, _ = b.WriteString(word) // An error if memory is refused: the next write returns it, too.
		_ = b.WriteByte('\n')
	}
	_, err := b.WriteTo(w)
	return err
}

func broadcast(conns []io.Writer, text string) {
	var b pool.Buffer
	_, _ = b.WriteString(text)
	f := b.Share()
	var wg sync.WaitGroup
	for _, conn := range conns {
		f.Retain()
		wg.Go(func() {
			defer f.Release()
			_, _ = f.WriteTo(conn)
		})
	}
	f.Release()
	wg.Wait()
}

// A unit links to another by a handle.
type unit struct {
	health int
	target pool.Handle[unit]
}

func attack(units *pool.Slab[unit], h pool.Handle[unit]) string {
	u := units.Get(h)
	if u == nil {
		return "dead"
	}
	target := units.Get(u.target)
	if target == nil {
		return "its target is gone" // Also if another unit has the target's slot by now.
	}
	if target.health -= 10; target.health <= 0 {
		units.Delete(u.target)
	}
	return "hit"
}

func TestMoving(t *testing.T) {
	offheap.CheckLeaks(t)
	words := strings.Fields("a few words")
	var before, after, buffered bytes.Buffer
	encodeBefore(&before, words)
	encodeAfter(&after, words)
	if err := bufferAfter(&buffered, words); err != nil || before.String() != after.String() || before.String() != buffered.String() {
		t.Fatalf("%q, %q and %q: %v", before.String(), after.String(), buffered.String(), err)
	}
	var l freeList
	l.put(freeListBefore(&l))
	listed.Put(listed.Get())
	conns := make([]strings.Builder, 3)
	broadcast([]io.Writer{&conns[0], &conns[1], &conns[2]}, "text")
	if conns[0].String()+conns[1].String()+conns[2].String() != "texttexttext" {
		t.Fatal("a connection misses the text")
	}
}

func Example() {
	var units pool.Slab[unit]
	orc, o := units.New()
	elf, e := units.New()
	o.health, e.health, e.target = 10, 50, orc

	fmt.Println(attack(&units, elf))
	units.New() // It takes the slot of the orc.
	fmt.Println(attack(&units, elf))
	// Output:
	// hit
	// its target is gone
}
