// SPDX-License-Identifier: Apache-2.0

package slogleaks

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/offheap"
)

// logged is what Log writes, as records of JSON.
func logged(t *testing.T) (records []map[string]any) {
	t.Helper()
	var b bytes.Buffer
	n := Log(t.Context(), slog.New(slog.NewJSONHandler(&b, nil)))
	for line := range strings.Lines(b.String()) {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		records = append(records, r)
	}
	if n != len(records) {
		t.Errorf("%d records were written, and %d returned", len(records), n)
	}
	return records
}

// find is the records with that message and attribute.
func find(records []map[string]any, message, attr, contains string) (found []map[string]any) {
	for _, r := range records {
		if s, _ := r[attr].(string); r["msg"] == message && strings.Contains(s, contains) {
			found = append(found, r)
		}
	}
	return found
}

//go:noinline
func makeArena(purpose *offheap.Purpose) *arena.Arena {
	a := arena.NewOffHeap(arena.Options{Purpose: purpose})
	arena.MakeSlice[int64](a, 1<<17, 1<<17)
	return a
}

// TestArenas: arenas of one line are one record. Arenas that the program can still free have a
// record of their own.
func TestArenas(t *testing.T) {
	if freehold.Modes().Heap {
		t.Skip("with the kill switch no arena is off the heap")
	}
	p := offheap.NewPurpose("slog")
	// count is how many arenas are reported, and how many bytes they hold.
	count := func(dropped bool) (arenas, bytes float64) {
		t.Helper()
		for _, r := range find(logged(t), "off-heap arenas not freed", "made", "makeArena") {
			if r["dropped"] == dropped {
				arenas += r["arenas"].(float64)
				bytes += r["bytes"].(float64)
				if r["level"] != "WARN" {
					t.Errorf("%v", r)
				}
			}
		}
		return arenas, bytes
	}
	leaked, leakedBytes := count(true)
	made := make(chan []*arena.Arena)
	go func() { // On a stack that is gone when the collector looks.
		var held []*arena.Arena
		for i := range 5 {
			if a := makeArena(p); i < 3 {
				held = append(held, a)
			}
		}
		made <- held
	}()
	held := <-made
	var n, bytes float64
	if !testenv.Collect(func() bool { n, bytes = count(true); return n-leaked >= 2 }) || n-leaked != 2 || bytes-leakedBytes < 2<<20 {
		t.Errorf("%v arenas dropped with %v bytes, want 2", n-leaked, bytes-leakedBytes)
	}
	if n, bytes := count(false); n != 3 || bytes < 3<<20 {
		t.Errorf("%v arenas in use with %v bytes, want 3", n, bytes)
	}
	for _, a := range held {
		a.Free()
	}
	if n, _ := count(false); n != 0 {
		t.Errorf("%v arenas in use after Free", n)
	}
}

// debug says whether a mode knows the stacks of blocks.
func debug() bool {
	o := freehold.Modes()
	return !o.Heap && (o.Guard || o.Leaks || o.Pointers)
}

//go:noinline
func makeBlocks(p *offheap.Purpose, n int) (blocks [][]byte) {
	for range n {
		blocks = append(blocks, p.Alloc(1<<20))
	}
	return blocks
}

// TestBlocks: in a debug mode blocks of one stack are one record.
func TestBlocks(t *testing.T) {
	if os.Getenv("FREEHOLD") == "" && !freehold.Modes().Heap {
		testenv.StartsPrograms(t)
		child := exec.Command(os.Args[0], "-test.run=^TestBlocks$", "-test.v")
		child.Env = append(os.Environ(), "FREEHOLD=leaks")
		if out, err := child.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestBlocks") {
			t.Errorf("with FREEHOLD=leaks: %v\n%s", err, out)
		}
		return
	}
	if !debug() {
		t.Skip("no mode knows the stacks of blocks")
	}
	p := offheap.NewPurpose("blocks")
	blocks := makeBlocks(p, 10)
	records := logged(t)
	found := find(records, "off-heap blocks not freed", "stack", "makeBlocks")
	if len(found) != 1 || found[0]["blocks"] != 10.0 || found[0]["bytes"] != float64(10<<20) || found[0]["type"] != "[]byte" || found[0]["level"] != "WARN" {
		t.Errorf("ten blocks of one place: %v", found)
	}
	if len(find(records, "off-heap memory in use", "level", "INFO")) > 0 {
		t.Error("the summary stands beside what tells more")
	}
	for _, b := range blocks {
		offheap.Free(b)
	}
	if found := find(logged(t), "off-heap blocks not freed", "stack", "makeBlocks"); len(found) > 0 {
		t.Errorf("freed, and reported: %v", found)
	}
}

// TestSummary: the log has the memory in use, by purpose.
func TestSummary(t *testing.T) {
	if debug() {
		t.Skip("a debug mode tells more")
	}
	b := offheap.NewPurpose("summed").Alloc(10 << 20)
	defer offheap.Free(b)
	found := find(logged(t), "off-heap memory in use", "level", "INFO")
	if len(found) != 1 {
		t.Fatalf("%d summaries", len(found))
	}
	purposes, _ := found[0]["purposes"].(map[string]any)
	if n, _ := found[0]["bytes"].(float64); n < 10<<20 || purposes["summed"] != float64(10<<20) {
		t.Errorf("10 MiB in use: %v", found[0])
	}
}
