// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly || solaris || illumos

package debugmode

import (
	"errors"
	"strings"
	"testing"
)

// TestSharedTable writes a table that another process could read, and reads it as that would.
func TestSharedTable(t *testing.T) {
	f, err := sharedFile("freehold-test")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tab := table{limit: 3*recordsChunk + 5}
	if err := tab.share(f); err != nil {
		t.Fatal(err)
	}
	if records, err := loadRecords(f); err != nil || len(records) != recordsChunk || nearest(0, records) != nil {
		t.Errorf("of an empty table: %d records, %v", len(records), err)
	}
	const n = 2*recordsChunk + 7
	for i := range uintptr(n) {
		tab.add(Block{Addr: 0x10000 + i*64, Size: 64, Owner: "offheap", Type: "[]byte"})
		if i%3 == 0 {
			tab.freed(0x10000+i*64, "Free", 0, int64(i))
		}
	}
	records, err := loadRecords(f)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uintptr(n) {
		want, _ := tab.find(0x10000 + i*64)
		if got := records[i+1].block(); got != want || got.Addr != 0x10000+i*64 || (got.FreeOp == "Free") != (i%3 == 0) {
			t.Fatalf("record %d is %+v, want %+v", i+1, got, want)
		}
	}
	r, ok := explainCrash(crash{addr: 0x10000 + 64 + 3, goroutine: 4, stack: "    main.main\n        a.go:1\n"}, records)
	if !ok || !strings.HasPrefix(r.String(), "freehold: fault: access 3 bytes into a block of 64 bytes ([]byte, offheap) that is alive\n  accessed by goroutine 4:\n    main.main\n") {
		t.Errorf("%v\n%s", ok, r)
	}
	if _, ok := explainCrash(crash{addr: 0x100}, records); ok {
		t.Error("a foreign address is explained")
	}
}

// TestSharedTableFull takes the memory away in the middle.
func TestSharedTableFull(t *testing.T) {
	said.take()
	tab := table{limit: maxRecords}
	tab.grow = func(n int) ([]record, error) {
		if n == 1 {
			return nil, errors.New("fallocate blocks: no space left on device")
		}
		return make([]record, recordsChunk), nil
	}
	for i := range uintptr(recordsChunk + 10) {
		tab.add(Block{Addr: 0x10000 + i*64, Size: 64})
	}
	if head := tab.at(0); tab.dropped != 11 || head.serial != 11 || head.size != recordsChunk-1 || head.flags != 0 {
		t.Errorf("%d dropped, want 11", tab.dropped)
	}
	if got := said.take(); strings.Count(got, "the table of blocks is full at 1024 (fallocate blocks: no space left on device): ") != 1 {
		t.Errorf("said %q", got)
	}
	tab.forget(0x10000)
	tab.add(Block{Addr: 0x10, Size: 64})
	if _, ok := tab.find(0x10); !ok {
		t.Error("a record that came free is not used again")
	}
}

// TestSharedTexts writes texts and reads them as another process would, also where the last one is
// torn.
func TestSharedTexts(t *testing.T) {
	f, err := sharedFile("freehold-test")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var from, to textTable
	from.share(f)
	want := []uint32{}
	for i := range 100 {
		want = append(want, from.intern(strings.Repeat("x", i)+"é"))
	}
	from.add("")
	if _, err := f.WriteAt([]byte{9, 0, 0, 0, 'h', 'a', 'l', 'f'}, from.end); err != nil {
		t.Fatal(err)
	}
	if err := to.load(f); err != nil {
		t.Fatal(err)
	}
	if len(to.list) != 101 {
		t.Errorf("%d texts, want 101", len(to.list))
	}
	for i, n := range want {
		if got := to.get(n); got != from.get(n) || got != strings.Repeat("x", i)+"é" {
			t.Errorf("text %d is %q", n, got)
		}
	}
	said.take()
	f.Close()
	if n := from.add("later"); from.get(n) != "later" || !strings.Contains(said.take(), "no more stacks for the report of a crash") {
		t.Error("what cannot be written is not kept, or not said")
	}
	from.add("still later")
	if got := said.take(); got != "" {
		t.Errorf("said again: %q", got)
	}
}
