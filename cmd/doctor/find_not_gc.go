package doctor

import (
	"fmt"
	"strings"

	"github.com/freehold-go/freehold/cmd/terminal"
)

const (
	// idlePart is the part of one processor below which a program counts as idle.
	idlePart = 0.05
	// kindPart is the share of CPU from which system calls, locks and the like are named as what the time goes into.
	kindPart = 0.25
	// fewSamples is the number of samples of CPU below which nothing can be said of single functions.
	fewSamples = 20
)

// findNotGC says what takes the time where nothing else was found. Diagnose asks it last, and only then. Without a profile that is not known, since what
// causes collections would not be found either.
func findNotGC(a *account) []Finding {
	if len(a.stacks) == 0 && !a.idle() {
		return nil
	}
	where, evidence := a.elsewhere()
	f := a.finding(nil, Gain{})
	f.Severity = SeverityInfo
	f.Evidence = evidence
	f.Detail = "Nothing that memory could win back was found. " + strings.ToUpper(where[:1]) + where[1:] + "."
	f.Remedy = Remedy{Text: "Look at the CPU profile itself: go tool pprof -http=: FILE. For waiting, take the block and mutex profiles and an execution trace."}
	return []Finding{f}
}

// idle reports whether the program hardly ran.
func (a *account) idle() bool {
	p := a.ev.CPU
	if p == nil || p.DurationNanos <= 0 {
		return false
	}
	return a.total < idlePart*float64(p.DurationNanos)
}

// elsewhere says what CPU time goes into, other than memory management.
func (a *account) elsewhere() (string, map[string]any) {
	if a.idle() {
		used := a.total / float64(a.ev.CPU.DurationNanos)
		return fmt.Sprintf("the program is idle: it used %s of one processor, and waited the rest of the time", terminal.Percent(used)),
			map[string]any{"processor_share": used}
	}
	kind, share := a.topKind()
	fn, own := a.topFunction(kind)
	evidence := map[string]any{"kind": string(kind), "kind_cpu_share": share}
	if fn != "" {
		evidence["function"], evidence["function_cpu_share"] = fn, own
	}
	text := fmt.Sprintf("%s of CPU goes into %s", terminal.Percent(share), kind)
	switch {
	case kind == kindProgram && fn != "":
		text = fmt.Sprintf("the CPU goes into the program's own work, %s of it into %s", terminal.Percent(own), shortName(fn))
	case kind == kindProgram:
		text = "the CPU goes into the program's own work, spread over many functions"
	case fn != "":
		text += ", most of it for " + shortName(fn)
	}
	return text, evidence
}

// A kind is what the program's own CPU time goes into.
type kind string

const (
	kindProgram  kind = "the program's own work"
	kindSyscall  kind = "system calls"
	kindCgo      kind = "cgo and C code"
	kindLock     kind = "locks"
	kindSchedule kind = "the scheduler: goroutines that stop and start"
	kindStack    kind = "growing and copying stacks"
)

// kindsOf are functions that tell a kind wherever they stand on a stack. The first kind that fits counts: a goroutine that waits for a
// lock ends in the scheduler, which ends in a system call.
var kindsOf = []struct {
	kind     kind
	prefixes []string
}{
	{kindCgo, []string{"runtime.cgocall", "runtime.asmcgocall", "runtime.cgocallback"}},
	{kindStack, []string{"runtime.newstack", "runtime.copystack", "runtime.morestack"}},
	{kindLock, []string{"sync.(*Mutex)", "sync.(*RWMutex)", "internal/sync.(*Mutex)", "sync.(*Cond)", "runtime.lock2", "runtime.unlock2", "runtime.semacquire", "runtime.semrelease",
		"sync.runtime_Sem", "internal/sync.runtime_", "runtime.procyield"}},
	{kindSyscall, []string{"syscall.Syscall", "syscall.RawSyscall", "syscall.syscall", "internal/runtime/syscall", "runtime/internal/syscall", "runtime.entersyscall", "runtime.exitsyscall"}},
	{kindSchedule, []string{"runtime.schedule", "runtime.findRunnable", "runtime.mcall", "runtime.park_m", "runtime.goready", "runtime.futex", "runtime.netpoll", "runtime.epollwait", "runtime.usleep", "runtime.mstart"}},
}

// kindOf is the index in kindsOf of the kind that the function tells, len(kindsOf) if it tells none.
func kindOf(fn string) int {
	for i, k := range kindsOf {
		for _, p := range k.prefixes {
			if strings.HasPrefix(fn, p) {
				return i
			}
		}
	}
	return len(kindsOf)
}

// kind is what a stack of the mutator was doing.
func (st *stack) kind() kind {
	best := len(kindsOf)
	for _, f := range st.frames {
		best = min(best, f.kind)
	}
	if best == len(kindsOf) {
		return kindProgram
	}
	return kindsOf[best].kind
}

// topKind is the kind with the largest share, if that is worth naming; the program's own work otherwise, with its share.
func (a *account) topKind() (kind, float64) {
	sums := map[kind]float64{}
	for _, st := range a.stacks {
		if st.class == classMutator {
			sums[st.kind()] += st.ns
		}
	}
	top := kindProgram
	for _, k := range kindsOf {
		if sums[k.kind] >= kindPart*a.total && (top == kindProgram || sums[k.kind] > sums[top]) {
			top = k.kind
		}
	}
	return top, a.share(sums[top])
}

// topFunction is the function that most of the kind's time is spent in or below: for the program's own work the one that does it itself, for others
// the first that is not the standard library's. It is "" where no function has a tenth of the program's time.
func (a *account) topFunction(k kind) (string, float64) {
	sums := map[string]float64{}
	for _, st := range a.stacks {
		if st.class != classMutator || st.kind() != k {
			continue
		}
		for _, f := range st.frames {
			if f.runtime || k != kindProgram && f.std || strings.Contains(f.fn, "._Cfunc_") {
				continue
			}
			sums[f.fn] += st.ns
			break
		}
	}
	top := ""
	for fn, ns := range sums {
		if ns > sums[top] || ns == sums[top] && fn < top {
			top = fn
		}
	}
	if share := a.share(sums[top]); share >= 0.1 && a.total >= fewSamples*a.period {
		return top, share
	}
	return "", 0
}
