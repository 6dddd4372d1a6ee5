// SPDX-License-Identifier: Apache-2.0

package freehold

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// faultOf runs f and returns what recover and Explain make of its fault.
func faultOf(f func()) (raw, explained error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		raw, _ = recover().(error)
		explained = Explain(raw)
	}()
	f()
	return nil, nil
}

//go:noinline
func touch(addr uintptr) { *unsafex.At[byte](addr) = 1 }

func TestExplain(t *testing.T) {
	if !vmem.Supported {
		t.Skip("this system has no pages to guard")
	}
	before := ReadDebugStats()
	addr, ok := debugmode.GuardAlloc(32, 8)
	if !ok {
		t.Fatal("no guarded memory")
	}
	debugmode.Add(debugmode.Block{Addr: addr, Size: 32, Owner: "offheap", Type: "main.pair", Alloc: debugmode.Callers(0)})
	held := before.GuardBytes + int64(vmem.PageSize())
	if s := ReadDebugStats(); s.Blocks != 1 || s.Guarded != 1 || s.Quarantined != before.Quarantined || s.GuardBytes != held {
		t.Errorf("with one block: %+v, before %+v", s, before)
	}
	debugmode.Freed(addr, "Free", 0)
	debugmode.GuardFree(addr)
	if s := ReadDebugStats(); s.Blocks != 0 || s.Guarded != 0 || s.Quarantined != before.Quarantined+1 || s.GuardBytes != held || s.Unguarded != 0 {
		t.Errorf("with one block in quarantine: %+v, before %+v", s, before)
	}

	raw, err := faultOf(func() { touch(addr + 4) })
	var fault runtime.Error
	if raw == nil || !errors.Is(err, raw) || !errors.As(err, &fault) {
		t.Fatalf("the fault %v is not in %v", raw, err)
	}
	for _, want := range []string{
		"freehold: use after Free: access 4 bytes into a block of 32 bytes (main.pair, offheap) that was freed\n",
		"freehold.touch\n", "allocated:\n", "freed, by offheap.Free:\n", "freehold.TestExplain\n", "What to do: ",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in\n%v", want, err)
		}
	}
	if strings.HasSuffix(err.Error(), "\n") {
		t.Error("the error ends in a newline")
	}
	if again := Explain(fmt.Errorf("request 7: %w", raw)); !strings.HasPrefix(again.Error(), "freehold: use after Free") {
		t.Errorf("a wrapped fault: %v", again)
	}

	base, vmErr := vmem.System().Reserve(vmem.PageSize(), vmem.PageSize(), "test")
	if vmErr != nil {
		t.Fatal(vmErr)
	}
	if raw, err := faultOf(func() { touch(base) }); raw == nil || err != raw {
		t.Errorf("a fault that is not ours: %v, want it as it is: %v", err, raw)
	}
	if other := errors.New("other"); Explain(other) != other || Explain(nil) != nil {
		t.Error("an error that is no fault is not returned as it is")
	}
}

// TestSetCrashOutput checks the function where no copy runs: that of the copies is checked where
// they are.
func TestSetCrashOutput(t *testing.T) {
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("Go has no crash output here")
	}
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := SetCrashOutput(f, debug.CrashOptions{}); err != nil {
		t.Error(err)
	}
	if err := SetCrashOutput(nil, debug.CrashOptions{}); err != nil {
		t.Error(err)
	}
	f.Close()
	if err := SetCrashOutput(f, debug.CrashOptions{}); err == nil {
		t.Error("no error for a closed file")
	}
}
