// SPDX-License-Identifier: Apache-2.0

package z

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold/offheap"
)

// Calloc returns n zero bytes outside the Go heap; the slice's capacity is n, too. The bytes are on
// the account of a purpose, "z: " and the tag; see [offheap.ReadStats]. A purpose lives as long as
// the program, so from the hundredth tag on the purpose is "z: other tags". Calloc panics as
// [offheap.Alloc] does.
func Calloc(n int, tag string) []byte {
	b := purpose(tag).Alloc(n)
	allocated.Add(int64(cap(b)))
	return b
}

// CallocNoRef is [Calloc].
func CallocNoRef(n int, tag string) []byte { return Calloc(n, tag) }

// Free frees a slice that [Calloc] returned, or a prefix of it. It ignores empty slices of no
// capacity. Any other slice panics with an [*offheap.MisuseError], as [offheap.Free] does.
func Free(b []byte) {
	if cap(b) == 0 {
		return
	}
	n := int64(cap(b))
	offheap.Free(b)
	allocated.Add(-n)
}

// allocated is the capacity of the slices between Calloc and Free.
var allocated atomic.Int64

// NumAllocBytes returns the number of bytes between [Calloc] and [Free].
func NumAllocBytes() int64 { return allocated.Load() }

// maxTags bounds the purposes.
const maxTags = 100

var (
	tags     sync.Map // *offheap.Purpose by tag
	tagsSeen atomic.Int64
)

// purpose is the account of a tag.
func purpose(tag string) *offheap.Purpose {
	if p, ok := tags.Load(tag); ok {
		return p.(*offheap.Purpose)
	}
	return purposeSlow(tag)
}

//go:noinline
func purposeSlow(tag string) *offheap.Purpose {
	if tagsSeen.Load() >= maxTags {
		return offheap.NewPurpose("z: other tags")
	}
	p, loaded := tags.LoadOrStore(strings.Clone(tag), offheap.NewPurpose("z: "+tag))
	if !loaded {
		tagsSeen.Add(1)
	}
	return p.(*offheap.Purpose)
}

// Leaks lists the bytes in use by tag. FREEHOLD=leaks lists them with their Go stacks at the end of
// the program.
func Leaks() string {
	var b strings.Builder
	for _, p := range offheap.ReadStats().Purposes {
		if tag, ok := strings.CutPrefix(p.Name, "z: "); ok && p.InUse > 0 {
			fmt.Fprintf(&b, "%d bytes for %s\n", p.InUse, tag)
		}
	}
	if b.Len() == 0 {
		return "No memory of Calloc is in use."
	}
	return b.String()
}

// MemStats are bytes of the whole process outside the Go heap.
type MemStats struct {
	Allocated uint64 // Allocated and not yet freed.
	Active    uint64 // Slabs and large blocks in use at least in part.
	Resident  uint64 // Memory of the machine, with the allocator's own records.
	Retained  uint64 // Address space without memory behind it.
}

// ReadMemStats reads the figures, with jemalloc's names for them. It ignores nil.
func ReadMemStats(m *MemStats) {
	if m == nil {
		return
	}
	s := offheap.ReadStats()
	*m = MemStats{Allocated: uint64(s.InUse), Active: uint64(s.Held), Resident: uint64(s.InUse + s.Retained + s.Metadata), Retained: uint64(s.Purged)}
}

// StatsPrint prints the figures to standard output.
func StatsPrint() {
	var m MemStats
	ReadMemStats(&m)
	fmt.Fprintf(os.Stdout, "freehold: %d bytes allocated, %d active, %d resident, %d retained\n", m.Allocated, m.Active, m.Resident, m.Retained)
}
