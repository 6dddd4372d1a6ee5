// SPDX-License-Identifier: Apache-2.0

package fakemem

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// granule is an offset that every system maps files at.
const granule = 64 << 10

var pageSize = vmem.PageSize()

func skipUnsupported(t *testing.T) {
	t.Helper()
	if !vmem.Supported {
		t.Skip("this system gives no memory outside the Go heap")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newFile returns a file of n zero bytes that has its disk space. It stays if it cannot be removed:
// Windows keeps a file as long as it is mapped, and retired maps stay.
func newFile(t *testing.T, n int64) *os.File {
	t.Helper()
	f, err := os.CreateTemp("", "fakemem")
	must(t, err)
	t.Cleanup(func() {
		f.Close()
		_ = os.Remove(f.Name())
	})
	must(t, vmem.Preallocate(f, 0, n))
	return f
}

// everyCall makes each call of Memory once, in an order that is lawful, and stops at the first
// error. What it commits stays reserved: that is the rule.
func everyCall(m vmem.Memory, f *os.File) (err error) {
	const size = 4 * granule
	unused, err := m.Reserve(size, granule, "never committed")
	if err != nil {
		return err
	}
	// An injected failure does not repeat, so this succeeds wherever the script stops.
	defer func() { err = errors.Join(err, m.Release(unused, size)) }()
	addr, err := m.Reserve(size, granule, "script")
	if err != nil {
		return err
	}
	for _, call := range []func() error{
		func() error { return m.Commit(addr, size) },
		func() error { return m.Huge(addr, size) },
		func() error { return m.SplitHuge(addr, size) },
		func() error { return m.NoHuge(addr, size) },
		func() error { return m.Protect(addr, size, vmem.ReadWrite) },
		func() error { return m.Purge(addr, size) },
		func() error { return m.Decommit(addr, size, "script") },
	} {
		if err := call(); err != nil {
			return err
		}
	}
	file, err := m.MapFile(f, 0, granule, vmem.ReadWrite)
	if err != nil {
		return err
	}
	return errors.Join(m.SyncFile(file, granule), m.RetireFile(file, granule))
}

// script is the order in which everyCall calls.
var script = []string{vmem.OpReserve, vmem.OpReserve, vmem.OpCommit, vmem.OpHuge, vmem.OpSplitHuge, vmem.OpNoHuge, vmem.OpProtect, vmem.OpPurge, vmem.OpDecommit, vmem.OpMapFile, vmem.OpSyncFile, vmem.OpRetireFile, vmem.OpRelease}

func TestFakeFailsAtEveryCall(t *testing.T) {
	skipUnsupported(t)
	f := newFile(t, granule)
	for n := 1; ; n++ {
		under := &Fake{}
		fake := New(under)
		fake.FailAt(n)
		err := everyCall(fake, f)
		if fake.Injected() == 0 {
			must(t, err)
			if n != len(script)+1 || fake.Calls() != len(script) {
				t.Errorf("the script ends at call %d with %d calls, want %d", n, fake.Calls(), len(script))
			}
			return
		}
		var e *vmem.Error
		if !errors.As(err, &e) || !errors.Is(err, ErrInjected) || !errors.Is(err, vmem.ErrNoMemory) {
			t.Fatalf("call %d: %v", n, err)
		}
		if e.Op != script[n-1] || e.Size == 0 || fake.Injected() != 1 {
			t.Errorf("call %d: %v, %d injected, want %q", n, e, fake.Injected(), script[n-1])
		}
		if fake.Calls()-under.Calls() != 1 || fake.Calls(e.Op)-under.Calls(e.Op) != 1 {
			t.Errorf("call %d: the failed call reached the memory beneath, or another did not", n)
		}
		if v := fake.Violations(); len(v) > 0 {
			t.Errorf("call %d: %v", n, v)
		}
	}
}

func TestFakeFailsByOperation(t *testing.T) {
	skipUnsupported(t)
	f := newFile(t, granule)
	for _, op := range script {
		fake := &Fake{}
		must(t, everyCall(fake, f))
		before := fake.Calls(op)
		fake.FailAt(1, op)
		err := everyCall(fake, f)
		var e *vmem.Error
		if !errors.As(err, &e) || e.Op != op || !errors.Is(err, ErrInjected) || fake.Calls(op) <= before {
			t.Errorf("second round, %s: %v", op, err)
		}
		if !strings.Contains(err.Error(), fmt.Sprintf("call %d:", before+1)) {
			t.Errorf("the message does not count: %v", err)
		}
		must(t, everyCall(fake, f)) // once only
	}
}

func TestFakeFailsFromAndHeals(t *testing.T) {
	skipUnsupported(t)
	fake := &Fake{}
	addr, err := fake.Reserve(4*pageSize, pageSize, "test")
	must(t, err)
	fake.FailFrom(2, vmem.OpCommit, vmem.OpPurge)
	must(t, fake.Commit(addr, pageSize))
	for range 3 {
		if err := fake.Commit(addr, pageSize); !errors.Is(err, ErrInjected) {
			t.Fatalf("Commit: %v", err)
		}
		if err := fake.Purge(addr, pageSize); !errors.Is(err, ErrInjected) {
			t.Fatalf("Purge: %v", err)
		}
		must(t, fake.Protect(addr, pageSize, vmem.ReadWrite))
	}
	fake.FailAt(1)
	fake.Heal()
	must(t, fake.Commit(addr, pageSize))
	if fake.Injected() != 6 {
		t.Errorf("%d injected", fake.Injected())
	}
	defer func() {
		if recover() == nil {
			t.Error("FailAt(0) is accepted")
		}
	}()
	fake.FailAt(0)
}

func TestFakeKeepsTheBooks(t *testing.T) {
	skipUnsupported(t)
	fake := &Fake{}
	a, err := fake.Reserve(8*pageSize, pageSize, "a")
	must(t, err)
	b, err := fake.Reserve(2*pageSize, pageSize, "b")
	must(t, err)
	want := []Reservation{{a, 8 * pageSize, "a"}, {b, 2 * pageSize, "b"}}
	slices.SortFunc(want, func(x, y Reservation) int { return int(int64(x.Addr) - int64(y.Addr)) })
	if got := fake.Outstanding(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	fake.FailAt(1, vmem.OpRelease)
	if err := fake.Release(b, 2*pageSize); !errors.Is(err, ErrInjected) || len(fake.Outstanding()) != 2 {
		t.Errorf("a failed Release: %v, %v", err, fake.Outstanding())
	}
	must(t, fake.Release(b, 2*pageSize))
	must(t, fake.Release(a, 8*pageSize))
	if got := fake.Outstanding(); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
	f := newFile(t, granule)
	m, err := fake.MapFile(f, 0, granule-1, vmem.ReadWrite)
	must(t, err)
	if fake.Files() != granule {
		t.Errorf("%d bytes of files", fake.Files())
	}
	must(t, fake.RetireFile(m, granule-1))
	if fake.Files() != 0 || len(fake.Violations()) != 0 {
		t.Errorf("%d bytes of files, %v", fake.Files(), fake.Violations())
	}
}

// refuser is a Memory whose Release fails after the books were changed.
type refuser struct{ vmem.Memory }

func (refuser) Release(uintptr, uintptr) error { return errors.New("no") }

func TestFakeRemembersWhatWasNotReleased(t *testing.T) {
	skipUnsupported(t)
	fake := New(refuser{vmem.System()})
	addr, err := fake.Reserve(pageSize, pageSize, "kept")
	must(t, err)
	if fake.Release(addr, pageSize) == nil {
		t.Fatal("Release succeeds")
	}
	if got := fake.Outstanding(); !slices.Equal(got, []Reservation{{addr, pageSize, "kept"}}) {
		t.Errorf("%v", got)
	}
	must(t, fake.Commit(addr, pageSize)) // still known as reserved
}

func TestFakeFindsBrokenRules(t *testing.T) {
	skipUnsupported(t)
	fake := &Fake{}
	addr, err := fake.Reserve(8*pageSize, pageSize, "test")
	must(t, err)
	must(t, fake.Commit(addr, 2*pageSize))
	f := newFile(t, granule)
	file, err := fake.MapFile(f, 0, granule, vmem.ReadWrite)
	must(t, err)
	broken := []func() error{
		func() error { return fake.Commit(addr+7*pageSize, 2*pageSize) },
		func() error { return fake.Commit(file, pageSize) },
		func() error { return fake.Purge(addr+pageSize, 2*pageSize) },
		func() error { return fake.Decommit(addr+pageSize, 2*pageSize, "test") },
		func() error { return fake.Huge(addr-pageSize, 2*pageSize) },
		func() error { return fake.NoHuge(addr+8*pageSize, pageSize) },
		func() error { return fake.SplitHuge(addr+8*pageSize, pageSize) },
		func() error { return fake.Protect(addr+2*pageSize, pageSize, vmem.None) },
		func() error { return fake.Release(addr, 8*pageSize) },
		func() error { return fake.Release(addr+pageSize, pageSize) },
		func() error { return fake.Release(file, granule) },
		func() error { return fake.SyncFile(addr, pageSize) },
		func() error { return fake.RetireFile(addr, pageSize) },
	}
	for i, call := range broken {
		if err := call(); err == nil || errors.Is(err, ErrInjected) || len(fake.Violations()) != i+1 {
			t.Errorf("broken rule %d: %v, %d found", i, err, len(fake.Violations()))
		}
	}
	unsafex.Bytes(addr, pageSize)[0] = 1 // nothing reached the system: it is still there
	must(t, fake.RetireFile(file, granule))
}

func TestFakePartialRelease(t *testing.T) {
	skipUnsupported(t)
	fake := &Fake{}
	addr, err := fake.Reserve(8*pageSize, pageSize, "test")
	must(t, err)
	if fake.Release(addr+2*pageSize, 2*pageSize) != nil {
		t.Skip("this system releases whole reservations only")
	}
	want := []Reservation{{addr, 2 * pageSize, "test"}, {addr + 4*pageSize, 4 * pageSize, "test"}}
	if got := fake.Outstanding(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	must(t, fake.Release(addr, 2*pageSize))
	must(t, fake.Release(addr+4*pageSize, 4*pageSize))
}

func TestFakeConcurrently(t *testing.T) {
	skipUnsupported(t)
	fake := &Fake{}
	fake.FailAt(100)
	fake.FailFrom(200, vmem.OpHuge)
	var wg sync.WaitGroup
	const workers, rounds = 8, 50
	failed := make([]int, workers)
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				name := fmt.Sprintf("worker %d round %d", w, i)
				if err := cycle(fake, name); errors.Is(err, ErrInjected) {
					failed[w]++
				} else if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, n := range failed {
		sum += n
	}
	if sum == 0 || sum != fake.Injected() {
		t.Errorf("%d calls saw an injected failure, %d were injected", sum, fake.Injected())
	}
	if v := fake.Violations(); len(v) > 0 {
		t.Errorf("%v", v)
	}
	for _, r := range fake.Outstanding() {
		must(t, fake.Release(r.Addr, r.Size))
	}
}

// cycle makes three calls and returns the first error; a failed Release is left to the caller.
func cycle(m vmem.Memory, name string) error {
	addr, err := m.Reserve(2*granule, granule, name)
	if err != nil {
		return err
	}
	if err := m.Huge(addr, 2*granule); err != nil {
		return err
	}
	return m.Release(addr, 2*granule)
}
