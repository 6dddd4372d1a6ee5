// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/offheap"
)

// explaining says that faults become panics, which are recovered.
var explaining bool

// caught is the first recovered value.
var caught struct {
	sync.Mutex
	err error
}

// Start runs the program. If explain is true, faults and panics are recovered and returned, in
// whichever goroutine they are.
func (c *Case) Start(v Variant, explain bool) error {
	explaining = explain
	watched(func() { c.Run[v](v) })
	runtime.GC() // What it finds out must be seen by the time that the program ends.
	watched(check)
	caught.Lock()
	defer caught.Unlock()
	return caught.err
}

// spawn runs f in a goroutine and returns what waits for its end.
func spawn(f func()) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		watched(f)
	}()
	return func() { <-done }
}

// watched calls f, and recovers if that is asked for.
func watched(f func()) {
	if explaining {
		debug.SetPanicOnFault(true)
		defer recovered()
	}
	f()
}

// recovered keeps what the goroutine panicked with.
func recovered() {
	v := recover()
	if v == nil {
		return
	}
	err, ok := v.(error)
	if !ok {
		panic(v)
	}
	caught.Lock()
	defer caught.Unlock()
	if caught.err == nil {
		caught.err = explained(err)
	}
}

// explained is err with what freehold knows of the address that it names.
func explained(err error) error { return freehold.Explain(err) }

// check asks for mistakes that nothing has shown yet.
func check() {
	if err := offheap.Check(); err != nil {
		panic(err)
	}
}
