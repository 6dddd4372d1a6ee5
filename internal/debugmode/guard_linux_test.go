// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/freehold-go/freehold/internal/checks/fakemem"
	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/internal/machine"
	"github.com/freehold-go/freehold/internal/vmem"
)

// TestGuardMappings checks what the budget of mappings rests on: two for a block in use, none for
// one in quarantine.
func TestGuardMappings(t *testing.T) {
	if !testenv.InChild(t) {
		return
	}
	if _, ok := GuardAlloc(1, 1); !ok {
		t.Fatal(said.take())
	}
	before, limit := machine.ReadMaps(os.DirFS("/"))
	if before <= 0 || limit <= 0 {
		t.Skip("the system does not say how many mappings there are")
	}
	const blocks, slack = 500, 200 // Go maps something now and then: each thread's stack in a build with cgo, on a machine with many CPUs.
	var list []uintptr
	for range blocks {
		addr, ok := GuardAlloc(100, 8)
		if !ok {
			t.Fatal(said.take())
		}
		list = append(list, addr)
	}
	if now, _ := machine.ReadMaps(os.DirFS("/")); now-before < blocks || now-before > blocks*mapsPerBlock+slack {
		t.Errorf("%d blocks make %d mappings, want %d", blocks, now-before, blocks*mapsPerBlock)
	}
	for i := range list {
		GuardFree(list[i*7%blocks])
	}
	if now, _ := machine.ReadMaps(os.DirFS("/")); now-before > slack {
		t.Errorf("%d blocks in quarantine make %d mappings", blocks, now-before)
	}
}

// TestLimitedAddressSpace checks that what the modes reserve leaves room under RLIMIT_AS, and
// suffices.
func TestLimitedAddressSpace(t *testing.T) {
	testenv.MisusesMemory(t)
	if !testenv.InChild(t) {
		return
	}
	const limit = 3 << 30
	testenv.SetLimit(t, unix.RLIMIT_AS, limit)
	if vmem.AddressSpaceLimit() != limit {
		t.Skip("the limit does not hold here")
	}
	fake := fakemem.New(vmem.System())
	g, _ := newGuards(fake, 1000, 1<<30)
	r := tombRange{mem: fake, wanted: tombCount}
	if _, ok := g.alloc(100, 8); !ok || r.take() == 0 {
		t.Fatalf("nothing under a limit of 3 GiB: %s", said.take())
	}
	var sum uintptr
	for _, x := range fake.Outstanding() {
		sum += x.Size
	}
	if sum > limit/32 {
		t.Errorf("%d bytes of address space are reserved, more than 1/32 of the limit", sum)
	}
	if addr, ok := g.alloc(limit/16, 8); !ok {
		t.Errorf("a block larger than a region is refused: %s", said.take())
	} else {
		g.free(addr)
	}
}
