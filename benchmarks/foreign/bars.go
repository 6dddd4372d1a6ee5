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
	firstShare     = 21.0 / 25
	firstUnseen    = 6.0 / 8
	settingsMedian = 0.20
	appliedMedian  = 0.35
	withinShare    = 0.9
)

func bars(outcomes []*outcome) []proof.Bar {
	var settings, applied []row
	for _, o := range outcomes {
		settings = append(settings, o.rows...)
		if o.changed != nil {
			applied = append(applied, *o.changed)
		}
	}
	all := []proof.Bar{firstBar(outcomes, "settings or finding first that an expert would take first, in 21 of 25", firstShare)}
	var unseen []*outcome
	for _, o := range outcomes {
		if o.unseen {
			unseen = append(unseen, o)
		}
	}
	if len(unseen) > 0 {
		all = append(all, firstBar(unseen, "the same on programs not looked at before, in 6 of 8", firstUnseen))
	}
	if len(settings) > 0 {
		all = append(all, medianBar(settings, "settings", settingsMedian), signBar(settings), withinBar(settings, "settings"))
	}
	if len(applied) > 0 {
		all = append(all, medianBar(applied, "applied findings", appliedMedian), withinBar(applied, "applied findings"))
	}
	return append(all, harmBar(outcomes))
}

func firstBar(outcomes []*outcome, demand string, share float64) proof.Bar {
	right, missed := 0, []string(nil)
	for _, o := range outcomes {
		if o.rightFirst() {
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

func withinBar(rows []row, of string) proof.Bar {
	n, wrong := count(rows, row.within)
	return proof.NewBar("prediction and measurement of "+of+" as close as their intervals say, in 9 of 10", proof.Of(n, len(rows), wrong), float64(n) >= withinShare*float64(len(rows)))
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
