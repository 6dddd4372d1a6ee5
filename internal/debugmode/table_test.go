// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestTableModel compares the table with a list, over addresses that are dense enough to meet.
func TestTableModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	tab := table{limit: maxRecords}
	var model []Block // live and freed, the latest last
	at := func(addr uintptr) int {
		for i := len(model) - 1; i >= 0; i-- {
			if model[i].Addr == addr {
				return i
			}
		}
		return -1
	}
	free := func(lo, hi uintptr) bool {
		for _, b := range model {
			if b.FreeOp == "" && lo < b.Addr+b.Size && b.Addr < hi {
				return false
			}
		}
		return true
	}
	for step := range 20000 {
		addr := uintptr(0x10000 + rng.IntN(2000)*8)
		switch rng.IntN(4) {
		case 0:
			size := uintptr(1 + rng.IntN(1<<rng.IntN(11)))
			if !free(addr, addr+size) {
				continue
			}
			if i := at(addr); i >= 0 {
				model = append(model[:i], model[i+1:]...)
			}
			b := Block{Addr: addr, Size: size, Owner: "offheap", Type: "[]byte", Arena: uint64(step), Leak: step%2 == 0}
			tab.add(b)
			model = append(model, b)
		case 1:
			i := at(addr)
			b, ok := tab.freed(addr, "Free", 0, int64(step))
			if want := i >= 0 && model[i].FreeOp == ""; ok != want {
				t.Fatalf("step %d: freed says %v, want %v", step, ok, want)
			}
			if ok {
				m := model[i]
				m.FreeOp, m.FreeBy = "Free", int64(step)
				model = append(append(model[:i], model[i+1:]...), m)
			}
			if i := at(addr); i >= 0 && b != model[i] || i < 0 && b != (Block{}) {
				t.Fatalf("step %d: freed returned %+v", step, b)
			}
		case 2:
			if rng.IntN(4) > 0 {
				continue
			}
			tab.forget(addr)
			if i := at(addr); i >= 0 {
				model = append(model[:i], model[i+1:]...)
			}
		case 3:
			addr += uintptr(rng.IntN(8))
			want := Block{}
			for _, b := range model {
				if addr-b.Addr < b.Size && (want.FreeOp != "" || want.Size == 0 || b.FreeOp == "") {
					want = b
				}
			}
			if got, ok := tab.find(addr); got != want || ok != (want.Size > 0) {
				t.Fatalf("step %d: find(%#x) is %+v, want %+v", step, addr, got, want)
			}
		}
	}
	alive := map[uintptr]Block{}
	for _, b := range model {
		if b.FreeOp == "" {
			alive[b.Addr] = b
		}
	}
	if len(alive) < 5 {
		t.Fatalf("%d blocks at the end; the test is too tame", len(alive))
	}
	if tab.alive != len(alive) {
		t.Errorf("%d blocks are counted as alive, want %d", tab.alive, len(alive))
	}
	for b := range tab.live {
		if alive[b.Addr] != b {
			t.Errorf("live yields %+v, want %+v", b, alive[b.Addr])
		}
		delete(alive, b.Addr)
	}
	for _, b := range alive {
		t.Errorf("live does not yield %+v", b)
	}
}

// TestTableBounds checks that freed blocks make room, and that a full table says so once.
func TestTableBounds(t *testing.T) {
	tab := table{limit: keptRecords + 100}
	for i := range uintptr(2 * keptRecords) {
		tab.add(Block{Addr: 0x1000 + i*16, Size: 16})
		tab.freed(0x1000+i*16, "Free", 0, 0)
	}
	if tab.dropped != 0 {
		t.Fatalf("%d blocks dropped although all were freed", tab.dropped)
	}
	if _, ok := tab.find(0x1000); ok {
		t.Error("the oldest freed block is still known")
	}
	if b, ok := tab.find(0x1000 + (2*keptRecords-1)*16); !ok || b.FreeOp != "Free" {
		t.Error("the latest freed block is not known")
	}
	said.take()
	for i := range uintptr(200) {
		tab.add(Block{Addr: 0x100 + i, Size: 1, Owner: "x"})
	}
	if got := said.take(); tab.dropped == 0 || strings.Count(got, "the table of blocks is full") != 1 {
		t.Errorf("%d dropped, said %q", tab.dropped, got)
	}
}

// TestFreeing: the name that was given before stays, and only for a block that is alive.
func TestFreeing(t *testing.T) {
	tab := table{limit: maxRecords}
	tab.add(Block{Addr: 0x1000, Size: 64, Owner: "arena", Arena: 3})
	tab.freeing(0x1000, "Reset")
	if b, ok := tab.freed(0x1000, "Free", 0, 0); !ok || b.FreeOp != "Reset" {
		t.Errorf("freed says %v, %q", ok, b.FreeOp)
	}
	tab.freeing(0x1000, "Rewind")
	if b, _ := tab.find(0x1010); b.FreeOp != "Reset" {
		t.Errorf("the block that was freed by Reset is renamed to %q", b.FreeOp)
	}
	tab.add(Block{Addr: 0x1000, Size: 64, Owner: "offheap"})
	if b, ok := tab.freed(0x1000, "Free", 0, 0); !ok || b.FreeOp != "Free" {
		t.Errorf("the next block there: freed says %v, %q", ok, b.FreeOp)
	}
}
