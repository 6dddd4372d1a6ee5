// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/offheap"
)

// What docs/finding-mistakes.md shows.

func debugFromTheStart() {
	if err := freehold.Configure(freehold.Options{Guard: true}); err != nil {
		log.Fatal(err)
	}
}

func survive(work func()) {
	debug.SetPanicOnFault(true)
	defer func() {
		if err, ok := recover().(error); ok {
			log.Print(freehold.Explain(err))
		}
	}()
	work()
}

func failForMistakes(run func() int) {
	os.Exit(freehold.ExitStatus(run()))
}

// TestSnippets runs what the page shows, except for what concerns the whole process.
func TestSnippets(t *testing.T) {
	_, _ = debugFromTheStart, failForMistakes
	var text strings.Builder
	defer log.SetOutput(log.Writer())
	log.SetOutput(&text)
	b := offheap.Alloc(100)
	survive(func() { offheap.Free(b[8:]) })
	offheap.Free(b)
	if !strings.Contains(text.String(), "interior pointer") {
		t.Errorf("recovered: %q", text.String())
	}
}
