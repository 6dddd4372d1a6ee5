// SPDX-License-Identifier: Apache-2.0

package freehold

import (
	"fmt"
	"sync"
)

// Totals are bytes that a package holds outside the Go heap.
type Totals struct {
	InUse    int64 // allocated and not yet freed
	Reserved int64 // address space that blocks have ever used, with memory behind it or not
	Retained int64 // freed, kept for the next allocation, still taking memory
	Purged   int64 // freed and returned to the system; its address space stays
}

// Resident is the memory of the machine that the package takes: InUse plus Retained.
func (t Totals) Resident() int64 { return t.InUse + t.Retained }

// Add returns the sum of t and u, field by field.
func (t Totals) Add(u Totals) Totals {
	return Totals{
		InUse:    t.InUse + u.InUse,
		Reserved: t.Reserved + u.Reserved,
		Retained: t.Retained + u.Retained,
		Purged:   t.Purged + u.Purged,
	}
}

// PackageTotals are the totals of one package.
type PackageTotals struct {
	Name   string // as given to Register
	Totals Totals
}

// registry is the list of packages. A list is never changed in place, so that it can be walked
// without the lock.
var registry struct {
	mu   sync.Mutex
	list []source
}

type source struct {
	name string
	read func() Totals
}

// Register adds a package to the totals, usually from its init function. read may be called at any
// time, from any goroutine and under no lock of this package; it must be fast and must not allocate
// off the heap. A package counts only memory that it took from the system itself, and never blocks
// of another registered package, which would count twice. In heap mode it reports zero, because the
// Go heap counts those bytes already.
//
// Register panics if name is empty or taken, or if read is nil.
func Register(name string, read func() Totals) {
	if name == "" || read == nil {
		panic("freehold: Register needs a name and a function")
	}
	registry.mu.Lock()
	defer registry.mu.Unlock()
	for _, s := range registry.list {
		if s.name == name {
			panic(fmt.Sprintf("freehold: Register: %q is registered already", name))
		}
	}
	n := len(registry.list)
	registry.list = append(registry.list[:n:n], source{name, read})
}

// ReadTotals returns the sum over all registered packages, and each package's part in the order of
// registration. The parts are read one after the other while the program runs, so the sum is not a
// snapshot of one moment.
func ReadTotals() (sum Totals, packages []PackageTotals) {
	list := sources()
	packages = make([]PackageTotals, len(list))
	for i, s := range list {
		packages[i] = PackageTotals{Name: s.name, Totals: s.read()}
		sum = sum.Add(packages[i].Totals)
	}
	return sum, packages
}

func sources() []source {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	return registry.list
}

// resident is ReadTotals for the memory limit: it allocates nothing.
func resident() (bytes int64) {
	for _, s := range sources() {
		bytes += s.read().Resident()
	}
	return bytes
}
