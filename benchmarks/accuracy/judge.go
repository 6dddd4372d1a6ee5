package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/freehold-go/freehold/benchmarks/internal/proof"
	"github.com/freehold-go/freehold/benchmarks/samples/load"
	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// The bars: what the doctor must reach.
const (
	mayMiss   = 1    // programs whose finding does not stand first
	maxMedian = 0.25 // median error of the predicted gain, as a share of the measured one
)

// outcome is what came of one program.
type outcome struct {
	program
	verdict string
	first   string   // id that stands first among the findings
	others  []string // ids that must not be there: any for a program whose cost is elsewhere, the program's own after the change
	extra   []string // further ids after the change
	found   bool     // the program's finding is there at all
	gain    doctor.Gain
	runs    runs
	dir     string
}

// predicted is the gain that the doctor predicts for the change that was made.
func (o *outcome) predicted() float64 {
	if o.quantity == sameMemory {
		return o.gain.SameMemory
	}
	return o.gain.SameGOGC
}

// measured is the gain in CPU time, as a share of that before the change.
func (o *outcome) measured() float64 {
	return 1 - terminal.Median(o.runs.After)/terminal.Median(o.runs.Before)
}

// off is the error of the prediction as a share of the measured gain; 1 if nothing was predicted.
func (o *outcome) off() float64 {
	if !o.found {
		return 1
	}
	return math.Abs(o.predicted()-o.measured()) / math.Abs(o.measured())
}

func (o *outcome) rightFirst() bool { return o.first == o.finding }

func (o *outcome) rightSign() bool {
	return o.found && math.Signbit(o.predicted()) == math.Signbit(o.measured())
}

// withMetrics are the files of a program that serves runtime metrics, too.
var withMetrics = slices.Concat(load.Files, load.MetricsFiles)

// judge has the doctor read those files that a run kept, and compares.
func judge(ctx context.Context, dir string, p program, files []string) (*outcome, error) {
	o := &outcome{program: p, dir: dir}
	var err error
	if o.runs, err = readRuns(filepath.Join(dir, runsFile)); err != nil {
		return nil, err
	}
	before, err := diagnose(ctx, dir, p, false, files)
	if err != nil {
		return nil, err
	}
	o.verdict = before.Verdict
	if p.finding == "" {
		o.others = alarms(before)
		return o, nil
	}
	o.first = firstOf(before, p)
	if i := slices.IndexFunc(before.Findings, func(f doctor.Finding) bool { return f.ID == p.finding }); i >= 0 {
		o.found, o.gain = true, before.Findings[i].Gain
	}
	after, err := diagnose(ctx, dir, p, true, files)
	if err != nil {
		return nil, err
	}
	for _, id := range alarms(after) {
		if id == p.finding {
			o.others = append(o.others, id)
		} else {
			o.extra = append(o.extra, id)
		}
	}
	return o, nil
}

// firstOf is the id in the two lines that stand first: the expected one, if it is there. For a program
// whose change makes it slower, it is the first among the warnings, which have no gain.
func firstOf(r *doctor.Report, p program) string {
	if p.warning {
		for _, f := range r.Findings {
			if f.Gain.SameGOGC < 0 {
				return f.ID
			}
		}
		return "none"
	}
	first := "none"
	for _, v := range r.First {
		if v.Finding == p.finding {
			return v.Finding
		}
		if first == "none" && v.Finding != "" {
			first = v.Finding
		}
	}
	return first
}

// alarms are the ids of findings that propose a change.
func alarms(r *doctor.Report) (ids []string) {
	for _, f := range r.Findings {
		if f.ID != "not-gc" && !slices.Contains(ids, f.ID) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

func bars(outcomes []*outcome) []proof.Bar {
	var finding, first, sign, elsewhere, silent, twins, quiet int
	var off []float64
	var missed, wrong, loud []string
	for _, o := range outcomes {
		if o.finding == "" {
			elsewhere++
			if len(o.others) == 0 {
				silent++
			} else {
				loud = append(loud, o.name)
			}
			continue
		}
		finding++
		off = append(off, o.off())
		if o.rightFirst() {
			first++
		} else {
			missed = append(missed, o.name)
		}
		if o.rightSign() {
			sign++
		} else {
			wrong = append(wrong, o.name)
		}
		if len(o.others) == 0 {
			twins++
			if len(o.extra) == 0 {
				quiet++
			}
		} else {
			loud = append(loud, o.name+" after")
		}
	}
	var all []proof.Bar
	if finding > 0 {
		m := terminal.Median(off)
		all = append(all,
			proof.NewBar("the right finding first, in all but one", proof.Of(first, finding, missed), first >= finding-mayMiss),
			proof.NewBar("the sign of the gain right, in all", proof.Of(sign, finding, wrong), sign == finding),
			proof.NewBar("median error of the predicted gain at most "+terminal.Percent(maxMedian), terminal.Percent(m), m <= maxMedian))
	}
	// Narrower than silence after the change, which a program with other costs cannot have; the
	// last column tells which are silent.
	return append(all, proof.NewBar(fmt.Sprintf("narrowed from silence: nothing found where the cost is elsewhere, and this finding gone after the change (wholly silent: %d of %d)", quiet, finding), proof.Of(silent+twins, elsewhere+finding, loud),
		silent+twins == elsewhere+finding))
}
