// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"testing"
	"time"
)

// caught is the value that f panics with, or nil.
func caught(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// tried is what f returns, or the refusal that it panics with; see Try.
func tried[T any](f func() T) (v T, err error) {
	err = Try(func() { v = f() })
	return v, err
}

// TestTry: refusals of memory become errors, and nothing else does.
func TestTry(t *testing.T) {
	done := 0
	if err := Try(func() { done++ }); err != nil || done != 1 {
		t.Errorf("of a function that returns: %v, it ran %d times", err, done)
	}
	old := SetLimit(1)
	err := Try(func() { Grow([]byte(nil), 1<<20); done++ })
	SetLimit(old)
	if !errors.Is(err, ErrLimit) || done != 1 {
		t.Errorf("at a limit: %v", err)
	}
	if err := Try(func() { Append([]byte(nil), pretended[byte](math.MaxInt)...) }); !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("beyond the address space: %v", err)
	}
	wrapped := fmt.Errorf("of the program: %w", ErrLimit)
	if err := Try(func() { panic(wrapped) }); err != wrapped {
		t.Errorf("%v became %v", wrapped, err)
	}
	other := errors.New("another error")
	misuse := &MisuseError{Op: "Free"}
	for _, v := range []any{other, misuse, "a text", 7, []int(nil)} {
		if got := caught(func() { _ = Try(func() { panic(v) }) }); !reflect.DeepEqual(got, v) {
			t.Errorf("the panic %v became %v", v, got)
		}
	}
	var none *runtime.PanicNilError
	if e, ok := caught(func() { _ = Try(func() { panic(nil) }) }).(error); !ok || !errors.As(e, &none) {
		t.Errorf("panic(nil) became %v", e)
	}
	ended := make(chan bool)
	go func() {
		defer close(ended)
		_ = Try(runtime.Goexit)
		ended <- true
	}()
	if <-ended {
		t.Error("Try ended a Goexit")
	}
}

// wantMisuse wants f to panic with a MisuseError of the kind.
func wantMisuse(t testing.TB, what, kind string, f func()) *MisuseError {
	t.Helper()
	v := caught(f)
	err, ok := v.(error)
	var m *MisuseError
	if !ok || !errors.As(err, &m) {
		t.Fatalf("%s: panic value %v, want a *MisuseError", what, v)
	}
	if m.Kind != kind {
		t.Fatalf("%s: %v, want a %s", what, m, kind)
	}
	return m
}

// wantPanic wants f to panic with an error that errors.Is the sentinel.
func wantPanic(t testing.TB, what string, sentinel error, f func()) {
	t.Helper()
	v := caught(f)
	if err, ok := v.(error); !ok || !errors.Is(err, sentinel) {
		t.Fatalf("%s: panic value %v, want %v", what, v, sentinel)
	}
}

// fill writes a pattern that depends on n.
func fill(b []byte, n int) {
	for i := range b {
		b[i] = byte(n + i*7)
	}
}

// filled says whether b still has the pattern.
func filled(b []byte, n int) bool {
	for i := range b {
		if b[i] != byte(n+i*7) {
			return false
		}
	}
	return true
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// unpurged ends the background purge until the test ends, that of earlier tests' frees, too: a tick
// that comes late would move bytes from one figure to another between two readings.
func unpurged(t testing.TB) {
	t.Helper()
	old := setPurgeDelay(-1)
	// setPurgeDelay would arm a tick, for which the next test would wait.
	t.Cleanup(func() { std.slabs().purge.delay.Store(int64(old)) })
	settled(t)
}

// settled waits until no background purge is due or under way any more; the delay must be negative.
func settled(t testing.TB) {
	t.Helper()
	p := &std.slabs().purge
	for range 6000 {
		p.mu.Lock() // A tick that runs has it.
		armed := p.armed.Load()
		p.mu.Unlock()
		if !armed {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the background purge never ends")
}

// quiet is a test in which no background purge runs; leaks are an error.
func quiet(t testing.TB) {
	t.Helper()
	unpurged(t)
	before := ReadStats().InUse
	t.Cleanup(func() {
		if now := ReadStats().InUse; now != before && !t.Failed() {
			t.Errorf("%d bytes are in use, %d were before the test", now, before)
		}
	})
}
