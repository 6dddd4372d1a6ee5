// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// A recorder is a testing.TB that notes failures instead of failing. The embedded interface is nil:
// a method that is missing here panics, which counts as a failure of the test that uses it.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func (r *recorder) add(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, s)
}

func (r *recorder) Helper()                   {}
func (r *recorder) Name() string              { return "recorder" }
func (r *recorder) Logf(string, ...any)       {}
func (r *recorder) Log(...any)                {}
func (r *recorder) Errorf(f string, a ...any) { r.add(fmt.Sprintf(f, a...)) }
func (r *recorder) Error(a ...any)            { r.add(fmt.Sprint(a...)) }
func (r *recorder) FailNow()                  { r.add("FailNow"); runtime.Goexit() }
func (r *recorder) Fatalf(f string, a ...any) { r.Errorf(f, a...); runtime.Goexit() }
func (r *recorder) Fatal(a ...any)            { r.Error(a...); runtime.Goexit() }
func (r *recorder) Cleanup(f func())          { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failures) > 0
}

// Record runs f with a test that notes failures, in a goroutine that f may end, and then the
// cleanups. It returns the failures, a line each, or "" if there are none. A panic in f is a
// failure.
func Record(f func(t testing.TB)) (failures string) {
	r := &recorder{}
	guarded := func(f func()) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() {
				if v := recover(); v != nil {
					r.add(fmt.Sprintf("panic: %v", v))
				}
			}()
			f()
		}()
		<-done
	}
	guarded(func() { f(r) })
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		guarded(r.cleanups[i])
	}
	return strings.Join(r.failures, "\n")
}
