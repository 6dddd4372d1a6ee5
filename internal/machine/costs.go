// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"slices"
	"time"

	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// Costs are the times of single operations on the memory of this machine; 0 is not measured.
type Costs struct {
	SmallFault time.Duration // first write to one OS page
	HugeFault  time.Duration // first write to each OS page of one huge page
	SmallPurge time.Duration // giving back smallSize bytes that lie in OS pages
	HugePurge  time.Duration // giving back one huge page
	Refault    time.Duration // first write to one OS page that was given back
	Protect    time.Duration // one change of a page's protection
}

const (
	rounds    = 5       // the median of few rounds; a first round is often slow
	smallSize = 1 << 20 // less than a huge page on every system, so that no huge page can stand behind it
	flips     = 16      // protection changes of a round
)

// Measure takes a few milliseconds and at most two huge pages of memory, which it gives back.
func Measure(m vmem.Memory) (c Costs, err error) {
	if !vmem.Supported {
		return c, nil
	}
	if err := c.measureSmall(m); err != nil {
		return c, err
	}
	if vmem.HugePageSize() == 0 {
		return c, nil
	}
	return c, c.measureHuge(m)
}

// measureSmall takes a fresh range each round: only a fresh page costs a first fault.
func (c *Costs) measureSmall(m vmem.Memory) error {
	var fault, purge, refault, protect []time.Duration
	page := vmem.PageSize()
	for range rounds {
		err := withRange(m, smallSize, page, func(addr uintptr) error {
			fault = append(fault, touch(addr, smallSize, page)/(smallSize/time.Duration(page)))
			start := time.Now()
			if err := m.Purge(addr, smallSize); err != nil {
				return err
			}
			purge = append(purge, time.Since(start))
			refault = append(refault, touch(addr, smallSize, page)/(smallSize/time.Duration(page)))
			start = time.Now()
			for range flips / 2 {
				if err := m.Protect(addr, page, vmem.Read); err != nil {
					return err
				}
				if err := m.Protect(addr, page, vmem.ReadWrite); err != nil {
					return err
				}
			}
			protect = append(protect, time.Since(start)/flips)
			return nil
		})
		if err != nil {
			return err
		}
	}
	c.SmallFault, c.SmallPurge, c.Refault, c.Protect = median(fault), median(purge), median(refault), median(protect)
	return nil
}

func (c *Costs) measureHuge(m vmem.Memory) error {
	var fault, purge []time.Duration
	size := vmem.HugePageSize()
	for range rounds {
		err := withRange(m, size, size, func(addr uintptr) error {
			if err := m.Huge(addr, size); err != nil {
				return err
			}
			fault = append(fault, touch(addr, size, vmem.PageSize()))
			start := time.Now()
			if err := m.Purge(addr, size); err != nil {
				return err
			}
			purge = append(purge, time.Since(start))
			return nil
		})
		if err != nil {
			return err
		}
	}
	c.HugeFault, c.HugePurge = median(fault), median(purge)
	return nil
}

// withRange calls f with a fresh range and unmaps it afterwards: no address of it ever leaves this
// package.
func withRange(m vmem.Memory, size, align uintptr, f func(addr uintptr) error) error {
	addr, err := m.Reserve(size, align, "measure")
	if err != nil {
		return err
	}
	err = m.Commit(addr, size)
	if err == nil {
		err = f(addr)
	}
	if released := m.Release(addr, size); err == nil {
		err = released
	}
	return err
}

// touch writes to each page of a committed range and returns the time that it took.
func touch(addr, size, page uintptr) time.Duration {
	b := unsafex.Bytes(addr, size)
	start := time.Now()
	for i := uintptr(0); i < size; i += page {
		b[i] = 1
	}
	return time.Since(start)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
