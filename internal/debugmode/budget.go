// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"cmp"
	"math"
	"os"

	"github.com/freehold-go/freehold/internal/machine"
	"github.com/freehold-go/freehold/internal/vmem"
)

// The defaults of the budgets where the machine does not say enough, and the most that it can make
// of them.
const (
	fallbackMaps  = 65530 / 2 // half of what Linux allows by itself
	fallbackBytes = 256 << 20
	guardPart     = 4 // of the memory
	mostBytes     = 4 << 30
	mostBytes32   = 128 << 20 // address space is what there is little of

	// Samples alone. They take as much of it as the samples need, at sample=1000 four bytes for
	// each block in use; see thin.go for what these suffice for.
	samplePart  = 8 // of the memory
	sampleBytes = 256 << 20
)

// withDefaults fills in the budgets: half of the mappings that the system allows, and a quarter of
// the memory that the process may use; for samples alone less of the memory.
func (c Config) withDefaults() Config {
	root := os.DirFS("/")
	c.GuardMaps, c.GuardBytes = cmp.Or(c.GuardMaps, Budgets.Maps), cmp.Or(c.GuardBytes, Budgets.Bytes)
	if c.GuardMaps == 0 {
		c.GuardMaps = fallbackMaps
		if _, limit := machine.ReadMaps(root); limit > 0 {
			c.GuardMaps = limit / 2
		}
	}
	if c.GuardBytes == 0 {
		memory := machine.ReadCgroup(root).Limit
		if total := machine.ReadMemInfo(root).Total; total > 0 {
			memory = min(memory, total)
		}
		c.GuardBytes = fallbackBytes
		if memory != math.MaxInt64 {
			c.GuardBytes = min(memory/guardPart, mostBytes)
		}
		if math.MaxUint>>32 == 0 {
			c.GuardBytes = min(c.GuardBytes, mostBytes32)
		}
		if !c.Guard && c.Sample > 0 {
			c.GuardBytes = min(c.GuardBytes/(samplePart/guardPart), sampleBytes)
		}
	}
	return c
}

// affordable bounds a reservation of address space where a limit (RLIMIT_AS) makes it dear: a
// sixty-fourth of the limit, at least least.
func affordable(bytes, least uintptr) uintptr {
	limit := vmem.AddressSpaceLimit() / 64
	if uint64(bytes) <= limit {
		return bytes
	}
	return max(uintptr(limit)&^(vmem.PageSize()-1), least)
}
