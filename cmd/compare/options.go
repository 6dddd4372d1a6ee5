// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/freehold-go/freehold/cmd/compare/pairs"
	"github.com/freehold-go/freehold/cmd/doctor"
)

// Options say what to compare. A and B are of one kind: commands, addresses, test binaries or
// packages (with Bench), or revisions (with Package).
type Options struct {
	// A and B are the two sides. A command is divided into words as a shell does; variables may
	// stand in front of it.
	A, B string
	// Bench selects benchmarks, as go test -bench does. With it A and B are test binaries or
	// packages.
	Bench string
	// Versions make both sides from the one program or package that A names; B is empty.
	Versions
	// Package is the folder of a package. With it A and B are revisions of the git repository that
	// it is in, or "." for the files as they are. Bench is "." if it is empty.
	Package string
	// Budget is the time for measuring. After the first pair, no pair begins that would end later.
	// Building does not count. Several benchmarks share the budget; a benchmark whose number of
	// operations is not found within its share gets no pair. 0 is two minutes.
	Budget time.Duration
	// Precision is the width of the interval at which runs end: the farther bound's distance from
	// the ratio, as a part of it. 0 is 0.02.
	Precision float64
	// Count is the number of pairs, 2000 at most, whatever their interval and the time they take.
	// With 0, Budget and Precision decide. Pairs for the collector's figures are run in addition.
	Count int
	// Benchtime is how long a run of the slower side of a benchmark should last. 0 is half a
	// second.
	Benchtime time.Duration
	// Window is how long a running server is watched at a time. 0 is ten seconds.
	Window time.Duration
	// Per names a counter in /debug/vars or /metrics of servers, such as the requests answered: the
	// servers' cost is then divided by it.
	Per string
	// Doctor is the doctor's report of A, or nil. The gain that it predicts is then shown beside
	// the measurement. Finding is the finding's id, or empty for the first with a gain or a loss.
	Doctor  *doctor.Report
	Finding string
	// Progress gets the current step, one line at a time; it may be nil.
	Progress func(line string)

	labels [2]string // with Versions: what is special about each side
}

// The defaults of the options, and their limits.
const (
	DefaultBudget    = 2 * time.Minute
	DefaultPrecision = 0.02
	DefaultBenchtime = 500 * time.Millisecond
	DefaultWindow    = 10 * time.Second
	leastPrecision   = 0.0001
	leastWindow      = time.Second
	leastBenchtime   = time.Millisecond
	// mostPairs are run at most: an interval takes time and memory by the square of their number,
	// 16 MB of these.
	mostPairs = 2000
)

// sideNames are the names of the sides.
var sideNames = [2]string{"A", "B"}

func (o *Options) progress(line string) {
	if o.Progress != nil {
		o.Progress(line)
	}
}

// The kinds of sides.
const (
	KindCommands   = "commands"
	KindBenchmarks = "benchmarks"
	KindRevisions  = "revisions"
	KindServers    = "servers"
	KindVersions   = "versions"
)

// prepare fills in defaults and refuses options that make no sense.
func (o *Options) prepare() error {
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	if o.Precision == 0 {
		o.Precision = DefaultPrecision
	}
	if o.Benchtime == 0 {
		o.Benchtime = DefaultBenchtime
	}
	if o.Window == 0 {
		o.Window = DefaultWindow
	}
	switch {
	case strings.TrimSpace(o.A) == "" || strings.TrimSpace(o.B) == "" && !o.Versions.Any():
		return errors.New("compare: A and B must not be empty")
	case o.Budget < 0 || o.Count < 0:
		return errors.New("compare: -budget and -count must not be negative")
	case o.Count > mostPairs:
		return fmt.Errorf("compare: -count is %d; it must be %d at most", o.Count, mostPairs)
	case !(o.Precision >= leastPrecision && o.Precision < 1):
		return fmt.Errorf("compare: -precision is %g; it must be from %g to less than 1: 0.02 is ±2 %%", o.Precision, leastPrecision)
	case o.Benchtime < leastBenchtime:
		return fmt.Errorf("compare: -benchtime is %s; it must be %s at least", o.Benchtime, leastBenchtime)
	case o.Window < leastWindow || o.Window%time.Second != 0:
		return fmt.Errorf("compare: -window is %s; it must be whole seconds, because servers profile for whole seconds", o.Window)
	}
	return o.checkKind()
}

// checkKind checks that A and B are of one kind, and that the other options fit this kind.
func (o *Options) checkKind() error {
	if o.Package != "" && o.Bench == "" {
		o.Bench = "."
	}
	if _, err := regexp.Compile(o.Bench); err != nil {
		return fmt.Errorf("compare: -bench: %w", err)
	}
	a, b := isAddress(o.A), isAddress(o.B)
	if o.Versions.Any() {
		if o.Package != "" || a || strings.TrimSpace(o.B) != "" {
			return errors.New("compare: -go, -with and -env build both sides from one package or command, and compare neither revisions nor servers")
		}
		b = a
		if err := o.Versions.check(); err != nil {
			return err
		}
	}
	switch {
	case a != b:
		names := sideNames
		if b {
			names = [2]string{"B", "A"}
		}
		return fmt.Errorf("compare: %s is an address and %s is none; both sides must be of one kind", names[0], names[1])
	case a && o.Bench != "":
		return errors.New("compare: -bench and -package are for benchmarks, and A and B are addresses")
	case o.Per != "" && !a:
		return errors.New("compare: -per names a counter of running servers, and A and B are no addresses")
	case o.Finding != "" && o.Doctor == nil:
		return errors.New("compare: -finding names a finding of the report that -doctor gives, and there is none")
	}
	return nil
}

// confidence is that of the intervals. Who compares versions asks whether anything changed, so a difference that is none must be rare.
func (o *Options) confidence() float64 {
	if o.kind() == KindVersions {
		return pairs.Strict
	}
	return pairs.Usual
}

// kind is the kind of A and B.
func (o *Options) kind() string {
	switch {
	case o.Versions.Any():
		return KindVersions
	case o.Package != "":
		return KindRevisions
	case o.Bench != "":
		return KindBenchmarks
	case isAddress(o.A):
		return KindServers
	}
	return KindCommands
}

func isAddress(s string) bool {
	s = strings.ToLower(s)
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}
