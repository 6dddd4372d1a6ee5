// SPDX-License-Identifier: Apache-2.0

//go:build jemalloc && cgo

package jemalloc

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/alloctest"
	"github.com/freehold-go/freehold/offheap"
)

// allocator gives the package the shape that the suite wants.
type allocator struct{}

func (allocator) TryAlloc(n int) ([]byte, error)               { return TryAlloc(n) }
func (allocator) TryAllocUninit(n int) ([]byte, error)         { return TryAllocUninit(n) }
func (allocator) TryAllocAligned(n, align int) ([]byte, error) { return TryAllocAligned(n, align) }
func (allocator) TryRealloc(b []byte, n int) ([]byte, error)   { return TryRealloc(b, n) }
func (allocator) Free(b []byte)                                { Free(b) }
func (allocator) InUse() int64                                 { return inUse.Load() }
func (allocator) Purge()                                       { Purge() }

// config is what the package promises: all but the finding of misuse.
var config = alloctest.Config{
	New:            func(testing.TB) alloctest.Allocator { return allocator{} },
	Concurrent:     true,
	GCStress:       true,
	ExactCap:       true,
	MaxAlign:       2 << 20,
	ErrOutOfMemory: offheap.ErrOutOfMemory,
}

func TestConformance(t *testing.T) { alloctest.Test(t, config) }

func FuzzOps(f *testing.F) {
	alloctest.FuzzSeeds(f)
	f.Fuzz(func(t *testing.T, ops []byte) { alloctest.Ops(t, allocator{}, ops, config) })
}

// typed returns the functions for one type.
func typed[T any](value func(i int) T) alloctest.Typed[T] {
	return alloctest.Typed[T]{
		New: New[T], NewUninit: NewUninit[T], Delete: Delete[T],
		MakeSlice: MakeSlice[T], MakeSliceUninit: MakeSliceUninit[T], FreeSlice: FreeSlice[T], Append: Append[T],
		Value: value, InUse: inUse.Load,
	}
}

type record struct {
	id   uint64
	flag bool
	tail [3]byte
}

func TestTyped(t *testing.T) {
	t.Run("byte", func(t *testing.T) { alloctest.TestTyped(t, typed(func(i int) byte { return byte(i) })) })
	t.Run("int", func(t *testing.T) { alloctest.TestTyped(t, typed(func(i int) int { return i })) })
	t.Run("record", func(t *testing.T) {
		alloctest.TestTyped(t, typed(func(i int) record { return record{uint64(i), i%2 == 0, [3]byte{1, 2, byte(i)}} }))
	})
	t.Run("empty", func(t *testing.T) { alloctest.TestTyped(t, typed(func(int) struct{} { return struct{}{} })) })
	t.Run("complex128", func(t *testing.T) {
		alloctest.TestTyped(t, typed(func(i int) complex128 { return complex(float64(i), 1) }))
	})
	t.Run("large", func(t *testing.T) {
		alloctest.TestTyped(t, typed(func(i int) [1 << 18]uint32 { return [1 << 18]uint32{9: uint32(i)} }))
	})
}

// TestUninitBool shows that a bool is a bool even in memory that is not zeroed.
func TestUninitBool(t *testing.T) {
	for range 100 {
		b := AllocUninit(16)
		for i := range b {
			b[i] = 0xFF
		}
		Free(b)
		r := NewUninit[record]()
		if r.flag {
			t.Fatal("a fresh bool is true")
		}
		Delete(r)
	}
}

type linked struct {
	value int
	next  *linked
}

type marked struct {
	_    offheap.UnsafeSelfContained
	next *marked
}

// TestRefused asks for types that hold pointers, in every way.
func TestRefused(t *testing.T) {
	alloctest.MustPanic(t, func() { New[linked]() }, "jemalloc.linked.next: *jemalloc.linked")
	alloctest.MustPanic(t, func() { NewUninit[string]() }, "string itself")
	alloctest.MustPanic(t, func() { MakeSlice[[]byte](1, 1) }, "[]uint8")
	alloctest.MustPanic(t, func() { MakeSliceUninit[map[int]int](0, 1) }, "map")
	alloctest.MustPanic(t, func() { Append([]any(nil), 1) }, "interface")
	alloctest.MustPanic(t, func() { New[marked]() }, "self-contained")
}

// TestConf shows that the options of this package are in force.
func TestConf(t *testing.T) {
	conf, err := ReadConf()
	if err != nil {
		t.Fatal(err)
	}
	if !conf.BackgroundThread || !conf.Retain || conf.MetadataTHP != "auto" || conf.Version == "" {
		t.Errorf("got %+v, want background threads, retained address space, huge pages for records when it pays, and a version", conf)
	}
}

// TestStats compares the statistics with a large block.
func TestStats(t *testing.T) {
	if freehold.HeapMode() {
		t.Skip("the Go heap keeps its own statistics")
	}
	const n = 64 << 20
	before := ReadStats()
	b := Alloc(n)
	for i := 0; i < n; i += 4096 {
		b[i] = 1
	}
	during := ReadStats()
	if grown := during.InUse - before.InUse; grown < n || grown > n*5/4 {
		t.Errorf("InUse grew by %d for %d bytes", grown, n)
	}
	for name, grown := range map[string]int64{
		"Allocated": during.Allocated - before.Allocated,
		"Active":    during.Active - before.Active,
	} {
		if grown < n*9/10 {
			t.Errorf("%s grew by %d for %d bytes", name, grown, n)
		}
	}
	if during.Resident < n || during.Mapped < n || during.Metadata <= 0 {
		t.Errorf("got %+v with a block of %d bytes in use", during, n)
	}
	sum, _ := freehold.ReadTotals()
	if sum.Resident() < n {
		t.Errorf("the process counts %d bytes outside the Go heap, want at least %d", sum.Resident(), n)
	}
	Free(b)
	Purge()
	after := ReadStats()
	if after.InUse != before.InUse || after.Resident > during.Resident-n/2 || after.Retained < n/2 {
		t.Errorf("after Free and Purge got %+v, before %+v", after, during)
	}
}

// TestSetPurgeDelay reads the delay back.
func TestSetPurgeDelay(t *testing.T) {
	if freehold.HeapMode() {
		t.Skip("the Go heap has no delay")
	}
	old := SetPurgeDelay(time.Second)
	if old <= 0 {
		t.Errorf("got a delay of %v at the start", old)
	}
	if got := SetPurgeDelay(-1); got != time.Second {
		t.Errorf("got %v, want one second", got)
	}
	if got := SetPurgeDelay(old); got >= 0 {
		t.Errorf("got %v, want a negative delay", got)
	}
}

// TestPanics shows what the functions without an error do.
func TestPanics(t *testing.T) {
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, offheap.ErrOutOfMemory) {
			t.Errorf("got panic %v, want one that errors.Is ErrOutOfMemory", err)
		}
		for _, f := range []func(){
			func() { Alloc(-5) }, func() { AllocUninit(-5) }, func() { AllocAligned(-5, 8) }, func() { Realloc(nil, -5) },
			func() { MakeSlice[int](-5, 1) },
		} {
			alloctest.MustPanic(t, f, "-5")
		}
	}()
	Alloc(math.MaxInt)
}

// TestTryTyped asks for more memory than there is, and for what there is.
func TestTryTyped(t *testing.T) {
	for name, try := range map[string]func(length, capacity int) ([]int, error){
		"TryMakeSlice": TryMakeSlice[int], "TryMakeSliceUninit": TryMakeSliceUninit[int],
	} {
		if s, err := try(0, math.MaxInt/8); !errors.Is(err, offheap.ErrOutOfMemory) {
			t.Errorf("%s: got %d values and error %v, want ErrOutOfMemory", name, cap(s), err)
		}
		s, err := try(2, 3)
		if err != nil || len(s) != 2 || cap(s) != 3 {
			t.Errorf("%s(2, 3): got length %d, capacity %d, error %v", name, len(s), cap(s), err)
		}
		FreeSlice(s)
	}
	for name, try := range map[string]func() (*int, error){"TryNew": TryNew[int], "TryNewUninit": TryNewUninit[int]} {
		p, err := try()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		*p = 1
		Delete(p)
	}
}

// TestSubprocess runs tests in a process with other surroundings: with everything on the Go heap,
// and with an option that must be refused.
func TestSubprocess(t *testing.T) {
	if os.Getenv("JEMALLOC_TEST_CHILD") != "" {
		t.Skip("one level is enough")
	}
	run := func(test, setting string) (string, error) {
		c := exec.Command(os.Args[0], "-test.run="+test, "-test.short")
		c.Env = append(os.Environ(), setting, "JEMALLOC_TEST_CHILD=1")
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if out, err := run("^(TestConformance|TestTyped|TestRefused|TestPanics|TestTryTyped|TestUninitBool)$", "FREEHOLD=heap"); err != nil {
		t.Errorf("with FREEHOLD=heap: %v\n%s", err, out)
	}
	if out, err := run("^TestUninitBool$", "MALLOC_CONF=retain:false"); err == nil || !strings.Contains(out, "option retain is off") {
		t.Errorf("with retain:false: got %v\n%s", err, out)
	}
}
