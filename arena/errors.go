// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"

	"github.com/freehold-go/freehold/offheap"
)

// outOfMemory is an error that errors.Is [offheap.ErrOutOfMemory].
func outOfMemory(format string, args ...any) error {
	return fmt.Errorf("arena: %s: more memory than the machine has: %w", fmt.Sprintf(format, args...), offheap.ErrOutOfMemory)
}

// misuse is what a panic says of a mistake with an arena, a Pool, a Builder, a Map or a checkpoint.
func misuse(op, kind, format string, args ...any) *offheap.MisuseError {
	detail := fmt.Sprintf(format, args...)
	return &offheap.MisuseError{Op: op, Kind: kind, Detail: detail, Report: "arena: " + op + " " + detail}
}

// The kinds of misuse. offheap.MisuseError lists them.
const (
	useAfterFree  = "use after Free"
	useAfterReset = "use after Reset"
	useOfCopy     = "use of a copy"
	useOfZero     = "use of a zero value"
	concurrentUse = "concurrent use"
	useOfMark     = "stale or foreign checkpoint"
)

// must turns an error into the panic of the functions that return none.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
