// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// secrets is the Purpose of the tests here.
func secrets(t *testing.T) *Purpose {
	t.Helper()
	quiet(t)
	if !vmem.Supported {
		t.Skip("no memory outside the Go heap here")
	}
	p := NewPurposeWith("secrets of the tests", PurposeOptions{Secret: true})
	if _, err := p.Protection(); err != nil {
		t.Skipf("this process may lock no memory: %v", err)
	}
	return p
}

// faultsAt says whether an access to the byte at addr faults.
//
//go:norace
func faultsAt(addr uintptr) (yes bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { yes = recover() != nil }()
	*unsafex.At[byte](addr) = 1
	return false
}

// TestSecretGuards: a secret block lies between inaccessible pages, and is inaccessible after its
// free.
func TestSecretGuards(t *testing.T) {
	p := secrets(t)
	page := vmem.PageSize()
	for _, n := range []uintptr{1, 8, 32, page - 8, page, page + 8, 3*page - 16, 100_000} {
		b := p.Alloc(int(n))
		addr := addrOf(b)
		if left := leftOver(addr, n); left != 0 {
			t.Errorf("%d bytes: %d bytes of an earlier secret are in a fresh block", n, left)
		}
		fillSecret(b)
		behind, before := roundUp(addr+n, page), addr&^(page-1)-1
		if behind-(addr+n) > 7 {
			t.Errorf("%d bytes: %d bytes lie between the block and the page behind", n, behind-(addr+n))
		}
		if !faultsAt(behind) || !faultsAt(before) {
			t.Errorf("%d bytes: an access to the pages beside the block does not fault", n)
		}
		Free(b)
		if !faultsAt(addr) || !faultsAt(addr+n-1) {
			t.Errorf("%d bytes: an access after the free does not fault", n)
		}
	}
}

// TestSecretIsABlock: secrets are freed, resized, linked, counted and refused as other blocks are.
func TestSecretIsABlock(t *testing.T) {
	p := secrets(t)
	type key struct {
		bytes [32]byte
		used  bool
	}
	before := account(t, p.Name()).InUse
	v, s, b := For[key](p).New(), For[uint64](p).MakeSlice(3, 3), For[byte](p).Aligned(4*int(vmem.PageSize())).MakeSlice(100, 100)
	if addrOf(b)%(4*vmem.PageSize()) != 0 {
		t.Errorf("an aligned block begins at %#x", addrOf(b))
	}
	r := RefOf(v)
	v.bytes[0] = 7
	if r.Ptr() != v || r.Ptr().bytes[0] != 7 {
		t.Error("a Ref to a secret does not lead there")
	}
	s = Append(s, 1, 2, 3)
	if !std.secretAt(unsafex.SliceAddr(s)) {
		t.Error("Append moved a secret elsewhere")
	}
	b = Realloc(b, 9000)
	b = Realloc(b, 10)
	if !std.secretAt(addrOf(b)) {
		t.Error("Realloc moved a secret elsewhere")
	}
	if got := account(t, p.Name()).InUse - before; got < int64(unsafex.Size[key]()+48+10) || got > 20_000 {
		t.Errorf("%d bytes are counted", got)
	}
	if e := misuseOf(func() { Free(b[1:]) }); e == nil || e.Kind != "interior pointer" {
		t.Errorf("the free of an interior pointer: %v", e)
	}
	DeleteRef(r)
	FreeSlice(s)
	Free(b)
	if e := misuseOf(func() { Free(b) }); e == nil || e.Kind != "double free" {
		t.Errorf("a second free: %v", e)
	}
	if got := account(t, p.Name()).InUse; got != before {
		t.Errorf("%d bytes are counted after all frees, want %d", got, before)
	}
	if c := For[key](p).New(); c.used || c.bytes[0] != 0 {
		t.Error("a fresh secret is not zero")
	} else {
		Delete(c)
	}
	old := p.SetLimit(int64(50))
	if _, err := p.TryAlloc(51); !errors.Is(err, ErrLimit) {
		t.Errorf("beyond the Purpose's limit: %v", err)
	}
	p.SetLimit(old)
}

// secretAt says whether addr lies in the vault.
func (h *heap) secretAt(addr uintptr) bool { return h.vault.owns(addr) }

// TestSecretKeepsTypes: address space of a type with bools serves no other type.
func TestSecretKeepsTypes(t *testing.T) {
	p := secrets(t)
	flags := For[[8]bool](p).New()
	addr := unsafex.Addr(flags) &^ (vmem.PageSize() - 1)
	Delete(flags)
	for range 20 {
		b := p.Alloc(8)
		if addrOf(b)&^(vmem.PageSize()-1) == addr {
			t.Error("bytes lie where bools lay")
		}
		defer Free(b)
	}
}

// TestSecretKeepsTheGrid: values of a slot's next block lie where those of the last one lay, whatever
// their number, so that a stale bool is a bool.
func TestSecretKeepsTheGrid(t *testing.T) {
	p := secrets(t)
	size := unsafex.Size[flagged]()
	var stale []uintptr // Where values lay.
	for _, had := range []int{0, 1, 7} {
		for n := range 5 {
			s := For[flagged](p).MakeSlice(had, had)
			if had > 0 {
				stale = append(stale, unsafex.SliceAddr(s))
			}
			s = For[flagged](p).Realloc(s, n+1)
			addr := unsafex.SliceAddr(s)
			for _, old := range stale {
				if old/vmem.PageSize() == addr/vmem.PageSize() && (max(old, addr)-min(old, addr))%size != 0 {
					t.Errorf("the first of %d values, once %d, lies %d bytes from one that is freed", n+1, had, int(addr-old))
				}
			}
			stale = append(stale, addr)
			FreeSlice(s)
		}
	}
}

// TestSecretSizesShareSlots: secrets of many sizes, one at a time, take address space for a few.
func TestSecretSizesShareSlots(t *testing.T) {
	needOwnMemory(t)
	h := releasedHeap(t, &vmem.Fake{})
	k := h.newKind(&purposeState{name: "of many sizes"}, nil)
	v := &h.vault
	const most = 6 << 20
	for n := uintptr(1); n <= most; n += vmem.PageSize() {
		b := block{size: n, kind: k, align: 8}
		s := b.vaultSlot()
		slot, _, err := v.slot(h.mem, s)
		if err != nil {
			t.Fatal(err)
		}
		b.addr = slot.slot + b.place(s)
		if lo, size := b.pages(); lo+size != slot.slot+s.bytes || size != roundUp(n, vmem.PageSize()) {
			t.Fatalf("%d bytes in a slot of %d at %#x: the %d bytes of pages at %#x", n, s.bytes, slot.slot, size, lo)
		}
		v.free[s] = append(v.free[s], slot)
	}
	sum := uintptr(0)
	for _, r := range v.ranges {
		sum += r.hi - r.lo
	}
	if sum > 8*most+vaultUnit {
		t.Errorf("secrets of up to %d bytes have taken %d bytes of address space", most, sum)
	}
}

// TestSecretReallocSharesSlots: a slice of secrets ends where its slot ends, also after Realloc, so that slices of all lengths share slots.
func TestSecretReallocSharesSlots(t *testing.T) {
	p := secrets(t)
	type three [3]bool
	var s []three
	for n := 1; n < 40; n++ {
		s = For[three](p).Realloc(s, n)
		if end := unsafex.SliceAddr(s) + 3*uintptr(n); end%vmem.PageSize() != 0 {
			t.Fatalf("%d values end at %#x", n, end)
		}
	}
	FreeSlice(s)
}

// TestSecretBesideOpenPages: if the system refuses to close the pages of a freed secret, no other secret lies beside them.
func TestSecretBesideOpenPages(t *testing.T) {
	needOwnMemory(t)
	secrets(t)
	fake := vmem.NewFake(vmem.System())
	h := newTestHeap(fake)
	k := h.newKind(&purposeState{name: "beside open pages"}, nil)
	k.secret, k.wipe = true, true
	h.secrets.Store(newTracked(h.heap))
	get := func(pages uintptr) uintptr {
		t.Helper()
		addr, err := h.allocate(request{kind: k, n: pages * vmem.PageSize(), align: 8, zero: true})
		if err != nil {
			t.Fatal(err)
		}
		return addr
	}
	first := get(10)
	fake.FailAt(1, vmem.OpDecommit)
	h.freeSlow(first, nil, "Free")
	second := get(9)
	if !faultsAt(second - 1) {
		t.Error("the page before a secret is accessible")
	}
	fake.FailFrom(1, vmem.OpSecure, vmem.OpDecommit)
	if _, err := h.allocate(request{kind: k, n: 12 * vmem.PageSize(), align: 8, zero: true}); err == nil {
		t.Fatal("the refusal was not seen")
	}
	fake.Heal()
	third := get(11)
	if !faultsAt(third - 1) {
		t.Error("the page before a secret is accessible after a refusal")
	}
	fake.FailFrom(1, vmem.OpDecommit)
	for _, addr := range []uintptr{second, third} {
		h.freeSlow(addr, nil, "Free")
	}
	if held := uintptr(h.vault.bytes); held != 20*vmem.PageSize() || len(h.vault.open) != 2 {
		t.Errorf("%d bytes in %d slots are open, want those of 20 pages in 2", held, len(h.vault.open))
	}
	fake.Heal()
	h.freeSlow(get(1), nil, "Free")
	if h.vault.bytes != 0 || len(h.vault.open) != 0 {
		t.Errorf("%d bytes in %d slots are open in the end", h.vault.bytes, len(h.vault.open))
	}
	if again := get(11); again != third {
		t.Errorf("the slot at %#x is lost: the next secret lies at %#x", third, again)
	}
}

// TestSecretRefusals: whatever call the system refuses, there is an error, nothing stays taken, and
// later calls succeed.
func TestSecretRefusals(t *testing.T) {
	if !vmem.Supported {
		t.Skip("no memory outside the Go heap here")
	}
	for _, op := range []string{vmem.OpReserve, vmem.OpCommit, vmem.OpSecure} {
		fake := vmem.NewFake(vmem.System())
		h := newTestHeap(fake)
		k := h.newKind(&purposeState{name: "refused"}, nil)
		k.secret, k.wipe = true, true
		h.secrets.Store(newTracked(h.heap))
		q := request{kind: k, align: 8, zero: true}
		fake.FailAt(1, op)
		_, err := h.allocBytes("Alloc", 100, q)
		want := ErrOutOfMemory
		if op == vmem.OpSecure {
			want = ErrLimit
		}
		if !errors.Is(err, want) || fake.Injected() != 1 {
			t.Fatalf("%s: %v", op, err)
		}
		if op == vmem.OpSecure && !strings.Contains(err.Error(), `"refused"`) {
			t.Errorf("%s: the message does not name the Purpose: %v", op, err)
		}
		if s := h.stats(); s.InUse != 0 || s.Held != 0 || s.Retained != 0 {
			t.Errorf("%s: after the refusal %d bytes are in use, %d held, %d retained", op, s.InUse, s.Held, s.Retained)
		}
		b, err := h.allocBytes("Alloc", 100, q)
		if errors.Is(err, ErrLimit) {
			t.Skipf("this process may lock no memory: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if s := h.stats(); s.InUse != 100 || s.Retained != int64(vmem.PageSize())-100 {
			t.Errorf("%s: %d bytes are in use and %d retained, want 100 and the rest of a page", op, s.InUse, s.Retained)
		}
		fake.FailAt(1, vmem.OpDecommit)
		h.Free(b)
		if left := fake.Violations(); len(left) > 0 {
			t.Errorf("%s: %v", op, left)
		}
		if s := h.stats(); s.InUse != 0 || s.Retained != int64(vmem.PageSize()) {
			t.Errorf("%s: after the free %d bytes are in use and %d retained, want none and the page", op, s.InUse, s.Retained)
		}
	}
}

// TestProtectionOfOthers: an ordinary Purpose has no protection.
func TestProtectionOfOthers(t *testing.T) {
	if got, err := NewPurpose("unprotected").Protection(); err != nil || got != (Protection{}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestSecretTooLarge: refused blocks of many sizes share address space, and a block that is larger than
// the machine's memory is not locked first.
func TestSecretTooLarge(t *testing.T) {
	needOwnMemory(t)
	fake := &vmem.Fake{}
	h := releasedHeap(t, fake)
	k := h.newKind(&purposeState{name: "too large"}, nil)
	k.secret, k.wipe = true, true
	h.secrets.Store(newTracked(h.heap))
	q := request{kind: k, align: 8}
	fake.FailFrom(1, vmem.OpSecure)
	page := int(vmem.PageSize())
	for n := page; n < 2*vaultUnit; n += max(page, n/64&^(page-1)) {
		if _, err := h.allocBytes("Alloc", n, q); !errors.Is(err, ErrLimit) {
			t.Fatal(err)
		}
	}
	v := &h.vault
	sum := uintptr(0)
	for _, r := range v.ranges {
		if sum += r.hi - r.lo; r.next != r.lo {
			t.Errorf("after the refusals %d bytes of a range are in use", r.next-r.lo)
		}
	}
	if sum > 9*vaultUnit || len(v.free) != 0 { // Those of 1, 1.25, 1.5, 1.75 and 2 units, and what pages round up.
		t.Errorf("after refusals of up to %d bytes %d are reserved, and there are free slots of %d sizes", 2*vaultUnit, sum, len(v.free))
	}
	most := vmem.MachineMemory()
	if most >= trackedMax {
		t.Skip("a block of the machine's memory is too large anyway, or the system does not say how much it has")
	}
	if _, err := h.allocBytes("Alloc", int(most)+1, q); !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("a block larger than the machine's memory: %v", err)
	}
}

// TestVaultEndsWithTheAddressSpace: where the vault lies at the end of the address space, as it does on
// 32-bit systems, a large secret does not count as one that fits.
func TestVaultEndsWithTheAddressSpace(t *testing.T) {
	page := vmem.PageSize()
	end := ^uintptr(0) - 4*page + 1
	for _, c := range []struct {
		bytes, align uintptr
		fits         bool
	}{
		{2 * page, page, true}, {3 * page, page, false}, {4 * page, page, false}, {5 * page, page, false}, {6 * page, page, false},
		{7 * page, page, false}, {8 * page, page, false}, {1 << 29, page, false}, {page, 16 * page, false}, {page, 1 << 29, false},
	} {
		mem := &vmem.Fake{}
		mem.FailFrom(1, vmem.OpReserve)
		v := vault{ranges: []vaultRange{{addrRange{end - 8*page, end}, end - 4*page}}, free: map[vaultSlot][]freeSlot{}}
		slot, _, err := v.slot(mem, vaultSlot{bytes: c.bytes, align: c.align})
		if fits := err == nil; fits != c.fits {
			t.Errorf("%d pages aligned to %d, where two are left: at %#x, %v", c.bytes/page, c.align/page, slot.slot, err)
		}
	}
}
