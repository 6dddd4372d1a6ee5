// SPDX-License-Identifier: Apache-2.0

// Package fakemem has a source of address space and pages for tests, which fails on demand.
package fakemem

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/freehold-go/freehold/internal/vmem"
)

// Fake is a vmem.Memory that fails on demand, counts, and watches the rules of package vmem. It
// passes each call that it does not fail to another Memory. The zero value passes them to
// vmem.System and fails nothing.
//
// A failed call does not reach the Memory beneath. Its error is a *vmem.Error with the request, and
// is both vmem.ErrNoMemory and ErrInjected. A Fake is safe for concurrent use.
type Fake struct {
	mu         sync.Mutex
	under      vmem.Memory
	calls      map[string]int
	plans      []*plan
	injected   int
	reserved   []Reservation
	ranges     spanSet // all of reserved
	committed  spanSet // all that was ever committed
	files      spanSet
	violations []error
}

// Reservation is a range that Reserve returned and Release has not taken back.
type Reservation struct {
	Addr, Size uintptr
	Name       string
}

// plan is a failure to come.
type plan struct {
	ops     []string // empty: all
	left    int      // calls until it strikes
	forever bool     // it goes on failing
}

// ErrInjected is what errors.Is finds in the errors that a Fake makes up.
var ErrInjected = errors.New("injected failure")

// New returns a Fake over m.
func New(m vmem.Memory) *Fake { return &Fake{under: m} }

// FailAt makes the n-th call from now fail, the next one being 1. Given operations
// (vmem.OpCommit, ...), only calls of these count. Several plans may stand at once.
func (f *Fake) FailAt(n int, ops ...string) { f.plan(n, false, ops) }

// FailFrom is FailAt, but all counted calls behind the n-th fail as well, until Heal.
func (f *Fake) FailFrom(n int, ops ...string) { f.plan(n, true, ops) }

func (f *Fake) plan(n int, forever bool, ops []string) {
	if n < 1 {
		panic(fmt.Sprintf("fakemem: call %d cannot fail: calls count from 1", n))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plans = append(f.plans, &plan{ops: slices.Clone(ops), left: n, forever: forever})
}

// Heal drops all plans for failures.
func (f *Fake) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plans = nil
}

// Calls returns how many calls there were, failed ones included: of the given operations, or of
// all.
func (f *Fake) Calls(ops ...string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for op, c := range f.calls {
		if len(ops) == 0 || slices.Contains(ops, op) {
			n += c
		}
	}
	return n
}

// Injected returns how many calls failed by plan. A test that fails call 1, 2, 3, ... has reached
// the end when a round injects nothing.
func (f *Fake) Injected() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.injected
}

// Outstanding returns the reserved ranges, in the order of addresses.
func (f *Fake) Outstanding() []Reservation {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := slices.Clone(f.reserved)
	slices.SortFunc(list, func(a, b Reservation) int {
		if a.Addr < b.Addr {
			return -1
		}
		return 1
	})
	return list
}

// Files returns how many bytes of files are mapped and not retired, in whole pages.
func (f *Fake) Files() uintptr {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.files.size()
}

// Violations returns the calls that broke a rule of package vmem: ranges that are not reserved, not
// committed or not file maps, and releases of committed ranges. Each was also refused with its
// error.
func (f *Fake) Violations() []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.violations)
}

// memory returns what lies beneath.
func (f *Fake) memory() vmem.Memory {
	if f.under == nil {
		return vmem.System()
	}
	return f.under
}

// enter counts a call and says whether it fails, by plan or because lawful says which rule it
// breaks.
func (f *Fake) enter(op string, addr, size uintptr, lawful func() string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = make(map[string]int)
	}
	f.calls[op]++
	call := f.calls[op]
	if f.strike(op) {
		f.injected++
		err := fmt.Errorf("%w of %q, call %d: %w", ErrInjected, op, call, vmem.ErrNoMemory)
		return &vmem.Error{Op: op, Addr: addr, Size: size, Err: err}
	}
	if rule := lawful(); rule != "" {
		err := &vmem.Error{Op: op, Addr: addr, Size: size, Err: errors.New(rule)}
		f.violations = append(f.violations, err)
		return err
	}
	return nil
}

// strike moves all plans on by one call and reports whether one of them strikes.
func (f *Fake) strike(op string) bool {
	struck := false
	keep := f.plans[:0]
	for _, p := range f.plans {
		if len(p.ops) > 0 && !slices.Contains(p.ops, op) {
			keep = append(keep, p)
			continue
		}
		p.left = max(p.left-1, 0)
		if p.left == 0 {
			struck = true
		}
		if p.left > 0 || p.forever {
			keep = append(keep, p)
		}
	}
	clear(f.plans[len(keep):])
	f.plans = keep
	return struck
}

// The rules. Each returns a description of the violation, or "".

func anything() string { return "" }

func (f *Fake) mustBeReserved(addr, size uintptr) func() string {
	return func() string {
		if !f.ranges.holds(addr, addr+size) {
			return "the range is not reserved"
		}
		return ""
	}
}

func (f *Fake) mustBeCommitted(addr, size uintptr) func() string {
	return func() string {
		if !f.committed.holds(addr, addr+size) {
			return "the range is not committed"
		}
		return ""
	}
}

func (f *Fake) mustBeFile(addr, size uintptr) func() string {
	return func() string {
		if !f.files.holds(addr, addr+wholePages(size)) {
			return "the range is not a file map"
		}
		return ""
	}
}

func wholePages(size uintptr) uintptr { return (size + vmem.PageSize() - 1) &^ (vmem.PageSize() - 1) }

// Reserve implements Memory.
func (f *Fake) Reserve(size, align uintptr, name string) (uintptr, error) {
	if err := f.enter(vmem.OpReserve, 0, size, anything); err != nil {
		return 0, err
	}
	addr, err := f.memory().Reserve(size, align, name)
	if err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reserved = append(f.reserved, Reservation{addr, size, name})
	f.ranges.add(addr, addr+size)
	return addr, nil
}

// Commit implements Memory.
func (f *Fake) Commit(addr, size uintptr) error {
	if err := f.enter(vmem.OpCommit, addr, size, f.mustBeReserved(addr, size)); err != nil {
		return err
	}
	if err := f.memory().Commit(addr, size); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.committed.add(addr, addr+size)
	return nil
}

// Purge implements Memory.
func (f *Fake) Purge(addr, size uintptr) error {
	if err := f.enter(vmem.OpPurge, addr, size, f.mustBeCommitted(addr, size)); err != nil {
		return err
	}
	return f.memory().Purge(addr, size)
}

// Decommit implements Memory. The range still counts as one that was committed once, which must not
// be unmapped.
func (f *Fake) Decommit(addr, size uintptr, name string) error {
	if err := f.enter(vmem.OpDecommit, addr, size, f.mustBeCommitted(addr, size)); err != nil {
		return err
	}
	return f.memory().Decommit(addr, size, name)
}

// SplitHuge implements Memory.
func (f *Fake) SplitHuge(addr, size uintptr) error {
	if err := f.enter(vmem.OpSplitHuge, addr, size, f.mustBeReserved(addr, size)); err != nil {
		return err
	}
	return f.memory().SplitHuge(addr, size)
}

// NoHuge implements Memory.
func (f *Fake) NoHuge(addr, size uintptr) error {
	if err := f.enter(vmem.OpNoHuge, addr, size, f.mustBeReserved(addr, size)); err != nil {
		return err
	}
	return f.memory().NoHuge(addr, size)
}

// Huge implements Memory.
func (f *Fake) Huge(addr, size uintptr) error {
	if err := f.enter(vmem.OpHuge, addr, size, f.mustBeReserved(addr, size)); err != nil {
		return err
	}
	return f.memory().Huge(addr, size)
}

// Release implements Memory.
func (f *Fake) Release(addr, size uintptr) error {
	lawful := func() string {
		if f.committed.meets(addr, addr+size) {
			return "the range was committed, so it may have been handed out, and must never be unmapped"
		}
		return f.mustBeReserved(addr, size)()
	}
	if err := f.enter(vmem.OpRelease, addr, size, lawful); err != nil {
		return err
	}
	// The books come first: once released, the range may at any time be reserved by another
	// goroutine.
	name := f.forget(addr, size)
	if err := f.memory().Release(addr, size); err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.reserved = append(f.reserved, Reservation{addr, size, name})
		f.ranges.add(addr, addr+size)
		return err
	}
	return nil
}

// forget takes a range out of the reservations and returns the name of the last that it was part
// of.
func (f *Fake) forget(addr, size uintptr) (name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var rest []Reservation
	for _, r := range f.reserved {
		left := spanSet{{r.Addr, r.Addr + r.Size}}
		if left.meets(addr, addr+size) {
			name = r.Name
		}
		left.remove(addr, addr+size)
		for _, x := range left {
			rest = append(rest, Reservation{x.lo, x.hi - x.lo, r.Name})
		}
	}
	f.reserved = rest
	f.ranges.remove(addr, addr+size)
	return name
}

// Protect implements Memory.
func (f *Fake) Protect(addr, size uintptr, p vmem.Protection) error {
	lawful := func() string {
		if f.mustBeFile(addr, size)() == "" {
			return ""
		}
		return f.mustBeCommitted(addr, size)()
	}
	if err := f.enter(vmem.OpProtect, addr, size, lawful); err != nil {
		return err
	}
	return f.memory().Protect(addr, size, p)
}

// MapFile implements Memory.
func (f *Fake) MapFile(file *os.File, offset int64, size uintptr, p vmem.Protection) (uintptr, error) {
	if err := f.enter(vmem.OpMapFile, 0, size, anything); err != nil {
		return 0, err
	}
	addr, err := f.memory().MapFile(file, offset, size, p)
	if err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files.add(addr, addr+wholePages(size))
	return addr, nil
}

// SyncFile implements Memory.
func (f *Fake) SyncFile(addr, size uintptr) error {
	if err := f.enter(vmem.OpSyncFile, addr, size, f.mustBeFile(addr, size)); err != nil {
		return err
	}
	return f.memory().SyncFile(addr, size)
}

// RetireFile implements Memory.
func (f *Fake) RetireFile(addr, size uintptr) error {
	if err := f.enter(vmem.OpRetireFile, addr, size, f.mustBeFile(addr, size)); err != nil {
		return err
	}
	if err := f.memory().RetireFile(addr, size); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files.remove(addr, addr+wholePages(size))
	return nil
}
