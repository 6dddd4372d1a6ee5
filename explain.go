// SPDX-License-Identifier: Apache-2.0

package freehold

import (
	"errors"
	"os"
	"runtime/debug"

	"github.com/freehold-go/freehold/internal/debugmode"
)

// Explain returns an error with a report of the block that a fault was about: the block, the offset
// of the access, and the Go stacks of the access, the allocation and the free. err is the result of
// recover after a fault, by itself or wrapped; recovering needs [debug.SetPanicOnFault]. Explain
// returns any other error unchanged, as well as a fault at an address of no known block. errors.Is
// and errors.As find err in the result.
//
// The report has the stack of the access only in the deferred function that recovers, and in
// functions that it calls. Blocks are known in the modes guard and sample. Without these modes
// Explain costs next to nothing.
func Explain(err error) error {
	var fault interface {
		error
		Addr() uintptr
	}
	if !errors.As(err, &fault) {
		return err
	}
	r, ok := debugmode.Explain(fault.Addr())
	if !ok {
		return err
	}
	return &explained{r, err}
}

// explained is a fault with its report.
type explained struct {
	report debugmode.Report
	fault  error
}

func (e *explained) Error() string { return e.report.Error() }
func (e *explained) Unwrap() error { return e.fault }

// SetCrashOutput makes f receive the text that Go writes when the program crashes and, in the modes
// guard, sample and leaks, freehold's report of the crash. Use it in place of
// [debug.SetCrashOutput]. Go has only one crash output, and no function that returns it. The debug
// modes use it themselves, to pass the text to the process that makes the report. So the last direct
// call of debug.SetCrashOutput wins. After the first allocation, such a call takes the crash from
// freehold, and there is no report. Before it, freehold overrides the call. This function may be
// called at any time, and again; the last file counts.
//
// SetCrashOutput duplicates f, so f may be closed. A nil f ends the output. opts is passed on to
// debug.SetCrashOutput if no other process is involved.
func SetCrashOutput(f *os.File, opts debug.CrashOptions) error {
	return debugmode.SetCrashOutput(f, opts)
}

// StatusMistakes is the status that [ExitStatus] returns if it finds mistakes.
const StatusMistakes = 23

// ExitStatus is for the end of main in a program that must fail in the debug modes because of
// mistakes that do not end it:
//
//	func main() { os.Exit(freehold.ExitStatus(run())) }
//
// It makes the checks that the modes allow: of canaries and of writes to freed blocks (guard), of
// addresses of the Go heap (pointers), and in the mode leaks of blocks and off-heap arenas that
// were not freed. It writes its findings to standard error. If there are any and status is 0, it
// returns [StatusMistakes], otherwise status. Without a mode it returns status. In a test binary,
// call it in TestMain, around m.Run. Go runs no code at the end of a process. So without this call
// there are no checks at the end, and the process that lists the leaks cannot change
// the exit status.
func ExitStatus(status int) int {
	if debugmode.CheckAtEnd(os.Stderr) && status == 0 {
		return StatusMistakes
	}
	return status
}
