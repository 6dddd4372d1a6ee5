// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/freehold-go/freehold/cmd/evidence"
)

// large is a CPU profile of some 20 MB uncompressed, with stacks 10 to 70 deep through 20,000
// functions, and a heap profile of a tenth of that.
func large(tb testing.TB) (cpu, heap []byte) {
	r := rand.New(rand.NewPCG(7, 8))
	f := newFake()
	for range 175_000 {
		var stack bytes.Buffer
		switch r.IntN(4) {
		case 0:
			stack.WriteString("runtime.nextFreeFast;runtime.mallocgcSmallScanNoHeader;runtime.mallocgc;runtime.newobject;")
		case 1:
			stack.WriteString("runtime.memmove;")
		}
		for range 10 + r.IntN(60) {
			fmt.Fprintf(&stack, "example.com/service/p%d.(*Type).method%d;", r.IntN(200), r.IntN(100))
		}
		stack.WriteString("main.main;runtime.main")
		if r.IntN(10) == 0 {
			f.Made(stack.String(), 16<<r.IntN(8), 1+r.Int64N(10_000), r.Int64N(100))
		} else {
			f.Ran(stack.String(), 1+r.Int64N(5))
		}
	}
	f.Collector(10_000, 2000)
	for _, w := range []struct {
		to  *[]byte
		put func(*bytes.Buffer) error
	}{{&cpu, func(b *bytes.Buffer) error { return f.CPU.WriteUncompressed(b) }}, {&heap, func(b *bytes.Buffer) error { return f.Heap.WriteUncompressed(b) }}} {
		var b bytes.Buffer
		if err := w.put(&b); err != nil {
			tb.Fatal(err)
		}
		*w.to = b.Bytes()
	}
	return cpu, heap
}

// FREEHOLD_TEST_LARGE names a folder that the large profiles are written to, to have them read by
// the command: make large.
func BenchmarkLarge(b *testing.B) {
	cpu, heap := large(b)
	if dir := os.Getenv("FREEHOLD_TEST_LARGE"); dir != "" {
		for name, data := range map[string][]byte{"cpu.pb": cpu, "heap.pb": heap} {
			if err := os.WriteFile(dir+"/"+name, data, 0o666); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.SetBytes(int64(len(cpu) + len(heap)))
	b.ReportAllocs()
	for b.Loop() {
		var e evidence.Evidence
		for _, data := range [][]byte{cpu, heap} {
			if err := e.Read("file", bytes.NewReader(data)); err != nil {
				b.Fatal(err)
			}
		}
		if r := Diagnose(b.Context(), &e); len(r.Findings) == 0 {
			b.Fatal("nothing found")
		}
	}
}
