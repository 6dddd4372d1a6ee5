// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/freehold-go/freehold/internal/owner"
)

// ErrOutOfMemory says that the machine, or the address space of the process, has no memory left.
// The allocator works on. Free blocks, or follow the advice in the message. A block of more than 16
// TiB is refused so, too, and, on Linux, one of more than 1 GiB that exceeds the machine's memory
// and swap, unless vm.overcommit_memory is 1.
var ErrOutOfMemory = errors.New("offheap: out of memory")

// ErrLimit says that a limit set by SetLimit would have been exceeded.
var ErrLimit = errors.New("offheap: limit reached")

var errTooLarge = errors.New("the length exceeds the largest block of this allocator")

// An allocError has the request and the reason of its refusal.
type allocError struct {
	kind  error // ErrOutOfMemory or ErrLimit.
	text  string
	cause error
}

func (e *allocError) Error() string {
	if e.cause == nil {
		return e.kind.Error() + ": " + e.text
	}
	return e.kind.Error() + ": " + e.text + ": " + e.cause.Error()
}

func (e *allocError) Unwrap() []error {
	if e.cause == nil {
		return []error{e.kind}
	}
	return []error{e.kind, e.cause}
}

func outOfMemory(what string, n uintptr, cause error) error {
	return &allocError{ErrOutOfMemory, fmt.Sprintf("%d bytes for %s", n, what), cause}
}

// A MisuseError is the panic value for a mistake of the caller: a free of a free block, of memory
// that was never allocated, or of the middle of a block. The call has changed nothing.
//
// The debug modes find more mistakes and give the stacks:
//
//   - "damaged canary" and "heap pointer in off-heap memory", by a free, which has no effect then,
//     or by [Check].
//   - "use after Free" (or after another operation) of a Ref.
//   - "write after Free", by [Check], or when a freed block leaves the quarantine. In the second
//     case a later, correct Free reports the damage, also one of an off-heap arena. That Free has
//     completed; the bug is elsewhere.
//
// Package arena panics with it, too: "use after Free", "use after Reset", "use of a copy" and "use
// of a zero value" of an Arena, Pool, Builder or Map, "stale or foreign checkpoint", and
// "concurrent use" of an Arena by two goroutines. Addr is 0 there.
type MisuseError struct {
	Op     string  // The function that the program called, such as "Free".
	Addr   uintptr // The address that it was called with, or at which the mistake was found.
	Kind   string  // "double free", "foreign pointer" or "interior pointer"; in the debug modes, and of arenas, others, too.
	Detail string

	// The stacks of this call, of the allocation and of the free of the block: a line for each
	// function, the innermost first, and one for file and line. A stack is empty if it is not
	// known; without a debug mode all are.
	Here, Allocated, Freed string

	// Report is the whole text, as Error returns it, in the debug modes and for mistakes with
	// arenas. Otherwise it is empty.
	Report string
}

// Error names the mistake, the place, and what to do. It is one line, in the debug modes followed
// by the stacks.
func (e *MisuseError) Error() string {
	if e.Report != "" {
		return e.Report
	}
	if e.Addr == 0 { // The mistake is in a handle, such as a Local.
		return fmt.Sprintf("offheap: %s: %s: %s", e.Op, e.Kind, e.Detail)
	}
	return fmt.Sprintf("offheap: %s of %#x: %s: %s", e.Op, e.Addr, e.Kind, e.Detail)
}

// handleMisuse is the mistake of a call of op on a handle that must not be used, such as a copy.
func handleMisuse(op, what, todo string) *MisuseError {
	return &MisuseError{Op: op, Kind: "use of " + what, Detail: todo}
}

// fieldMisuse is for a slice that is a field of a value of the type.
func fieldMisuse(op string, addr uintptr, typ reflect.Type) *MisuseError {
	return &MisuseError{Op: op, Addr: addr, Kind: "interior pointer",
		Detail: fmt.Sprintf("it is a part of the block that holds a %s, and cannot grow or shrink by itself; copy it", typ)}
}

// refuseOwned panics if the block at addr is an arena's, which alone frees it.
func refuseOwned(op string, addr uintptr) {
	if e := ownedMisuse(op, addr); e != nil {
		panic(e)
	}
}

// ownedMisuse is the mistake of a free of addr if an arena owns the block, and nil otherwise.
func ownedMisuse(op string, addr uintptr) *MisuseError {
	name := owner.Of(addr)
	if name == "" {
		return nil
	}
	return &MisuseError{Op: op, Addr: addr, Kind: "foreign pointer",
		Detail: "it belongs to " + name + "; values of an arena end together, with its Free, Reset or Rewind, and are not freed by themselves"}
}

// foreignDetail explains the mistake of passing memory to op that is no block.
func foreignDetail(op string) string {
	const where = "no block of offheap lies there; "
	switch op {
	case "RefOf":
		return where + "a Ref leads to blocks of offheap alone, not to the Go heap or the stack: allocate the value with New"
	case "Append", "Realloc":
		return where + "memory of the Go heap or the stack cannot grow here: use Go's append, or copy it to a block first"
	case "Delete", "DeleteRef":
		return where + "memory of the Go heap or the stack must not be freed here"
	}
	return where + "if it is a slice that was allocated here, Go's append has probably moved it to the Go heap: let Append or Grow of this package make it longer; memory of the Go heap or the stack must not be freed here"
}

// Try calls f and returns the refusal of memory with which a function in it panics: an error that
// errors.Is [ErrOutOfMemory] or [ErrLimit]. If f returns, Try returns nil. Try passes all other
// panics on unchanged. f ends at the refusal; only its deferred functions run. Functions of package
// arena panic with the same errors, and arena.Try does the same.
func Try(f func()) (err error) {
	defer func() {
		v := recover()
		if e, ok := v.(error); ok && (errors.Is(e, ErrOutOfMemory) || errors.Is(e, ErrLimit)) {
			err = e
		} else if v != nil {
			panic(v)
		}
	}()
	f()
	return nil
}

// must turns an error into the panic of the functions that return none.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
