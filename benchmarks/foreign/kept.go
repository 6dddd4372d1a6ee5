package main

import (
	"github.com/freehold-go/freehold/benchmarks/foreign/load"
	"github.com/freehold-go/freehold/cmd/compare/pairs"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// runsFile has the measurements of a program, beside its folder of profiles.
const runsFile = "runs.json"

// The folders of the profiles of a program, and of those of a second run: a report must not change from
// one run to the next.
const (
	profilesDir = "profiles"
	againDir    = "profiles-again"
)

// kept is the measurements of a program.
type kept struct {
	Program string                   `json:"program"`
	Module  string                   `json:"module"`
	Version string                   `json:"version"`
	Go      string                   `json:"go"`
	Machine string                   `json:"machine"`
	Env     []string                 `json:"env"`     // of every form
	Profile load.Result              `json:"profile"` // of the run with profiles
	Forms   map[string][]load.Result `json:"forms"`   // runs by form; the i-th ones are of the same round
}

// compare compares a form with the base, run by run of the same round, as freehold compare does, and
// the peaks of memory by their medians.
func (k *kept) compare(name string) (row, bool) {
	base, form := k.Forms[formBase], k.Forms[name]
	ratio, ok := pairs.Ratio(values(base, cpu), values(form, cpu), pairs.NineInTen)
	if !ok {
		return row{}, false
	}
	if !ratio.Known() { // less than five rounds
		ratio.Low, ratio.High = ratio.Ratio, ratio.Ratio
	}
	return row{
		form:     name,
		measured: 1 - ratio.Ratio,
		low:      1 - ratio.High,
		high:     1 - ratio.Low,
		rss:      terminal.Median(values(form, peakRSS)),
		base:     terminal.Median(values(base, peakRSS)),
	}, true
}

func cpu(r load.Result) float64     { return r.CPU / float64(r.Ops) }
func peakRSS(r load.Result) float64 { return float64(r.Peak) }

func values(runs []load.Result, of func(load.Result) float64) []float64 {
	all := make([]float64, len(runs))
	for i, r := range runs {
		all[i] = of(r)
	}
	return all
}
