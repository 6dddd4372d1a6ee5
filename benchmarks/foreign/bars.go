package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/benchmarks/internal/proof"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// The bars: what the doctor must reach on programs of other people.
const (
	firstKnown     = 31.0 / 34
	firstExamined  = 12.0 / 14
	sameShare      = 19.0 / 20
	settingsMedian = 0.25
	appliedMedian  = 0.35
	withinShare    = 0.8
)

func bars(outcomes []*outcome) (all []proof.Bar) {
	var settings, applied []row
	var known, examined, twice []*outcome
	for _, o := range outcomes {
		settings = append(settings, o.rows...)
		if o.changed != nil {
			applied = append(applied, *o.changed)
		}
		if o.answer == "" {
			known = append(known, o)
		} else {
			examined = append(examined, o)
		}
		if o.again != nil {
			twice = append(twice, o)
		}
	}
	if len(examined) > 0 {
		all = append(all, shareBar("the two first lines hold what an expert would do first, in 12 of 14 programs not seen before", examined, firstExamined, (*outcome).rightFirst))
	}
	if len(known) > 0 {
		all = append(all, shareBar("the same on known programs, in 31 of 34", known, firstKnown, (*outcome).rightFirst))
	}
	all = append(all, harmBar(outcomes))
	if len(applied) > 0 {
		all = append(all, withinBar(applied, "the line about the code", row.told), medianBar(applied, "the line about the code", appliedMedian))
	}
	if len(settings) > 0 {
		all = append(all, withinBar(settings, "settings", row.within), medianBar(settings, "settings", settingsMedian), signBar(settings))
	}
	if len(twice) > 0 {
		all = append(all, shareBar("the two lines the same in two runs, in 19 of 20", twice, sameShare, (*outcome).same))
	}
	return all
}

// shareBar wants a property in a share of the programs, and names the others.
func shareBar(demand string, outcomes []*outcome, share float64, has func(*outcome) bool) proof.Bar {
	right, missed := 0, []string(nil)
	for _, o := range outcomes {
		if has(o) {
			right++
		} else {
			missed = append(missed, o.name)
		}
	}
	return proof.NewBar(demand, proof.Of(right, len(outcomes), missed), float64(right) >= share*float64(len(outcomes)))
}

// certain are the rows whose measurement tells the gain from none.
func certain(rows []row) []row {
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return !r.certain() })
}

// medianBar counts measurements that tell a gain from none; beside them it gives the figure of all.
func medianBar(rows []row, of string, limit float64) proof.Bar {
	demand := fmt.Sprintf("median error of the gain of %s at most %.0f %%", of, 100*limit)
	sure := certain(rows)
	if len(sure) == 0 {
		return proof.NewBar(demand, "no measured gain is beyond the noise", true)
	}
	m := medianError(sure)
	return proof.NewBar(demand, fmt.Sprintf("%.0f %%, of the %d beyond the noise; %.0f %%, of all %d", 100*m, len(sure), 100*medianError(rows), len(rows)), m <= limit)
}

func medianError(rows []row) float64 {
	var off []float64
	for _, r := range rows {
		off = append(off, r.off())
	}
	return terminal.Median(off)
}

func signBar(rows []row) proof.Bar {
	sure := certain(rows)
	n, wrong := count(sure, row.rightSign)
	return proof.NewBar("the sign of the gain of settings right, in all that are beyond the noise", proof.Of(n, len(sure), wrong), n == len(sure))
}

func withinBar(rows []row, of string, true func(row) bool) proof.Bar {
	n, wrong := count(rows, true)
	return proof.NewBar("the interval of the gain of "+of+" holds the measured one, in 8 of 10", proof.Of(n, len(rows), wrong), float64(n) >= withinShare*float64(len(rows)))
}

// count counts the rows with a property, and names the others.
func count(rows []row, has func(row) bool) (n int, not []string) {
	for _, r := range rows {
		if has(r) {
			n++
		} else {
			not = append(not, r.program+" "+r.form)
		}
	}
	return n, not
}

func harmBar(outcomes []*outcome) proof.Bar {
	n, list := 0, []string(nil)
	for _, o := range outcomes {
		for _, r := range o.harmful {
			n++
			list = append(list, o.name+" "+r.id)
		}
	}
	got := "0"
	if n > 0 {
		got = fmt.Sprintf("%d: %s", n, join(list))
	}
	return proof.NewBar("no remedy that an expert would reject as harmful", got, n == 0)
}

func join(list []string) string { return strings.Join(list, "; ") }
