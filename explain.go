package freehold

import (
	"errors"
	"io"
	"os"
	"runtime/debug"

	"github.com/freehold-go/freehold/internal/debugmode"
)

// Explain returns an error that says what is known of the memory that a fault was about: which block, how far into it or from it, and
// the Go stacks of the access, the allocation and the free. err is what recover returned after a fault, which needs
// [debug.SetPanicOnFault], by itself or wrapped; any other error is returned as it is, and so is a fault at an address of which nothing
// is known. errors.Is and errors.As find err in the result.
//
// The stack of the access is there only in the deferred function that recovers, and in what it calls. Blocks are known in the modes
// guard and sample; without them Explain costs next to nothing.
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

// SetCrashOutput makes f receive what Go writes when the program crashes and, in the modes guard, poison, sample and leaks, freehold's report
// of it. It stands in for [debug.SetCrashOutput], which Go has only one of and nobody can read: those modes use it themselves, to hand
// the text to the copy of the program that makes the report. So the last direct call of debug.SetCrashOutput wins: made after the first
// allocation it takes the crash from freehold, and there is no report; made before, it is overridden. A call of this function may come
// at any time, and again; the last file counts.
//
// f is duplicated and may be closed. A nil f ends it. opts is passed on to debug.SetCrashOutput where no copy is involved. In a mode
// with a copy, each call starts a new one, which takes some milliseconds.
func SetCrashOutput(f *os.File, opts debug.CrashOptions) error {
	return debugmode.SetCrashOutput(f, opts)
}

// ExplainEvidence writes to w what the evidence in a folder says, which a process with [Options].Evidence has left: whose it is, the
// report of its crash, and in the mode leaks what it had not freed at its end. A folder of such folders stands for the latest in it. crash
// is the text that Go wrote when the process crashed; nil means the one in the folder. The evidence may come from another machine with the
// same byte order, and from a process that is still running.
//
// It returns the number of mistakes that it has written: 1 for a crash, and the number of blocks and arenas that were not freed. Evidence
// that is cut off or damaged is reported as far as it goes, and called incomplete; if what is left names no mistake, that is an error, too.
// Files that are not regular are refused, and those of more than some hundred MiB; control characters are written as Go's syntax has them.
func ExplainEvidence(w io.Writer, folder string, crash io.Reader) (mistakes int, err error) {
	return debugmode.WriteEvidence(w, folder, crash)
}

// StatusMistakes is the exit status that [ExitStatus] gives to a program that made mistakes. It is that of LeakSanitizer.
const StatusMistakes = 23

// ExitStatus is for the end of main in a program that shall fail in the debug modes if it made a mistake that ends nothing by itself:
//
//	func main() { os.Exit(freehold.ExitStatus(run())) }
//
// It makes the checks that the modes allow: of canaries, of freed blocks that were written to (poison), of addresses of the Go heap
// (pointers), and in the mode leaks for blocks and off-heap arenas that were not freed. It writes what it finds to standard error, and
// returns [StatusMistakes] if it finds anything and status is 0, or else status. Without a mode it returns status. In a test binary it goes into
// TestMain, around m.Run. Go runs no code at the end of a process, so without it the checks are not made at the end, and the leaks are
// listed by the process that watches, which cannot change the exit status.
func ExitStatus(status int) int {
	if debugmode.CheckAtEnd(os.Stderr) && status == 0 {
		return StatusMistakes
	}
	return status
}
