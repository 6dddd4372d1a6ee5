// SPDX-License-Identifier: Apache-2.0

//go:build (asan || msan || valgrind) && linux && (amd64 || arm64)

package sanitize_test

import (
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

//go:noinline
func makeBytes(n int) []byte { return offheap.Alloc(n) }

//go:noinline
func freeBytes(b []byte) { offheap.Free(b) }

//go:noinline
func readByte(b []byte, i int) {
	if b[i] == 7 {
		sink++
	}
}

//go:noinline
func writeByte(b []byte, i int) { b[i] = 7 }

//go:noinline
func copyOut(b []byte) { sink += uint64(copy(make([]byte, len(b)), b)) }

// around is the memory of b with n bytes more on both sides, which b itself does not let anybody
// reach.
func around(b []byte, n uintptr) []byte {
	return unsafex.Bytes(unsafex.SliceAddr(b)-n, uintptr(len(b))+2*n)
}

// report is what the sanitizers that take our stacks must say.
func report(first string, functions ...string) []string {
	want := []string{"freehold: " + first + "\n"}
	for _, f := range functions {
		want = append(want, "sanitize_test."+strings.TrimPrefix(f, "sanitize_test.")+"\n")
	}
	return want
}

// usedAfter is the row of a program that reads, in readByte, 64 bytes that were made by makeBytes
// and freed by freeBytes.
func usedAfter(name string, run func()) row {
	want := append(report("use after Free: access 16 bytes into a block of 64 bytes ([]byte, offheap) that was freed", "readByte", "makeBytes", "freeBytes"),
		"freed, by offheap.Free:\n")
	return row{name: name, run: run, asan: want, msan: want,
		valgrind: []string{"Invalid read of size 1", "sanitize_test.readByte", "16 bytes inside a block of size 64 free'd", "sanitize_test.freeBytes", "sanitize_test.makeBytes"}}
}

var offheapRows = []row{
	{name: "offheap: correct", run: func() {
		for n := 1; n < 200<<10; n = n*3/2 + 1 {
			b := makeBytes(n)
			readByte(b, n-1)
			writeByte(b, 0)
			b = offheap.Realloc(b, 2*n)
			readByte(b, 2*n-1)
			freeBytes(b)
		}
	}},
	{name: "offheap: correct, zeroed in every way", run: func() {
		l := offheap.NewLocal()
		p := offheap.NewPurpose("zeroed")
		for n := 1; n < 100<<10; n = n*5 + 1 {
			for _, b := range [][]byte{offheap.Alloc(n), l.Alloc(n), p.Alloc(n), offheap.AllocAligned(n, 64), offheap.Realloc[byte](nil, n), offheap.MakeSlice[byte](n, n)} {
				readByte(b, n-1)
				freeBytes(b)
			}
			b := offheap.Append(offheap.AllocUninit(1), make([]byte, n)...)
			readByte(b[:cap(b)], cap(b)-1)
			offheap.FreeSlice(b)
		}
		l.Close()
	}},
	{name: "offheap: correct, types", run: func() {
		type flags struct {
			on bool
			n  int32
		}
		for range 100 {
			f := offheap.New[flags]()
			s := offheap.MakeSlice[flags](3, 5)
			s = offheap.Append(s, *f, flags{true, 1}, flags{}, flags{})
			if s[0].on || !s[4].on {
				panic("wrong values")
			}
			offheap.FreeSlice(s)
			offheap.Delete(f)
		}
	}},
	{name: "offheap: correct, more than the quarantine", run: func() {
		for range 700 {
			b := makeBytes(1 << 20)
			writeByte(b, 1<<20-1)
			freeBytes(b)
		}
	}},
	{name: "offheap: correct, written before it is read", run: func() {
		b := offheap.AllocUninit(64)
		writeByte(b, 16)
		readByte(b, 16)
		freeBytes(b)
	}},
	usedAfter("offheap: read after Free", func() {
		b := makeBytes(64)
		freeBytes(b)
		readByte(b, 16)
	}),
	usedAfter("offheap: read after Free, and after others were allocated", func() {
		b := makeBytes(64)
		freeBytes(b)
		for range 1000 {
			writeByte(makeBytes(64), 0)
		}
		readByte(b, 16)
	}),
	{name: "offheap: write after Free of a large block", run: func() {
		b := makeBytes(100 << 10)
		freeBytes(b)
		writeByte(b, 5000)
	},
		asan:     report("use after Free: access 5000 bytes into a block of 102400 bytes ([]byte, offheap) that was freed", "writeByte", "makeBytes", "freeBytes"),
		valgrind: []string{"Invalid write of size 1", "5,000 bytes inside a block of size 102,400 free'd"}},
	{name: "offheap: copy after Free", run: func() {
		b := makeBytes(64)
		freeBytes(b)
		copyOut(b)
	},
		asan:     report("use after Free: access 0 bytes into a block of 64 bytes ([]byte, offheap) that was freed", "copyOut", "makeBytes", "freeBytes"),
		msan:     report("use after Free: access 0 bytes into a block of 64 bytes ([]byte, offheap) that was freed", "copyOut", "makeBytes", "freeBytes"),
		valgrind: []string{"Invalid read of size", "inside a block of size 64 free'd"}},
	{name: "offheap: overflow by 1 of an odd size", run: func() { writeByte(around(makeBytes(61), 8), 8+61) },
		asan:     report("overflow: access right behind a block of 61 bytes ([]byte, offheap)", "writeByte", "makeBytes"),
		valgrind: []string{"Invalid write of size 1", "0 bytes after a block of size 61 client-defined", "sanitize_test.makeBytes"}},
	{name: "offheap: underflow by 1", run: func() {
		makeBytes(64) // Before the first block of all lies memory that faults.
		writeByte(around(makeBytes(64), 8), 7)
	},
		asan:     report("underflow: access 1 byte before a block of 64 bytes ([]byte, offheap)", "writeByte", "makeBytes"),
		valgrind: []string{"Invalid write of size 1"}},
	{name: "offheap: read of what was never written", run: func() { readByte(offheap.AllocUninit(64), 16) },
		msan:     report("uninitialised read: 16 bytes into a block of 64 bytes ([]byte, offheap) that nobody has written there", "readByte"),
		valgrind: []string{"Conditional jump or move depends on uninitialised value", "sanitize_test.readByte"}},
	{name: "offheap: double free", run: func() {
		b := makeBytes(64)
		freeBytes(b)
		freeBytes(b)
	}, asan: []string{"double free", "sanitize_test.makeBytes"}, msan: []string{"double free", "sanitize_test.makeBytes"}, valgrind: []string{"double free", "sanitize_test.makeBytes"}},
	{name: "offheap: strings are seen by Valgrind alone", run: func() {
		b := makeBytes(64)
		s := unsafex.StringOf(unsafex.DataOf(b), 64)
		freeBytes(b)
		if strings.Contains(s, "x") || s[3] == 7 {
			sink++
		}
	}, valgrind: []string{"Invalid read of size", "inside a block of size 64 free'd"}},
}

func init() { all = append(all, offheapRows...) }

// TestOffheap holds package offheap to what each sanitizer must make of its blocks.
func TestOffheap(t *testing.T) { check(t, offheapRows) }
