// SPDX-License-Identifier: Apache-2.0

package freehold_test

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/freehold-go/freehold"
)

// A server that survives a fault of one request, and says which mistake it was. With FREEHOLD=guard
// or sample=N the error has the stacks of the access, the allocation and the free.
func ExampleExplain() {
	handle := func(request func()) (err error) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() {
			if fault, ok := recover().(error); ok {
				err = freehold.Explain(fault)
			}
		}()
		request()
		return nil
	}
	err := handle(func() {
		var p *int
		*p = 1
	})
	fmt.Println(err)
	// Output: runtime error: invalid memory address or nil pointer dereference
}

// The file gets Go's text of a crash and freehold's report of it.
func ExampleSetCrashOutput() {
	f, err := os.CreateTemp("", "crash")
	if err != nil {
		panic(err)
	}
	defer os.Remove(f.Name())
	if err := freehold.SetCrashOutput(f, debug.CrashOptions{}); err != nil {
		panic(err)
	}
	f.Close() // It was duplicated.
	_ = freehold.SetCrashOutput(nil, debug.CrashOptions{})
}
