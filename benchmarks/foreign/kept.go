package main

import (
	"github.com/freehold-go/freehold/benchmarks/foreign/load"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// runsFile has the measurements of a program, beside its folder of profiles.
const runsFile = "runs.json"

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

// compare compares a form with the base by the medians of their runs.
func (k *kept) compare(name string) (row, bool) {
	base, form := k.Forms[formBase], k.Forms[name]
	if len(base) == 0 || len(form) == 0 {
		return row{}, false
	}
	return row{
		form:     name,
		measured: 1 - median(form, cpu)/median(base, cpu),
		rss:      median(form, peakRSS),
		base:     median(base, peakRSS),
	}, true
}

func cpu(r load.Result) float64     { return r.CPU / float64(r.Ops) }
func peakRSS(r load.Result) float64 { return float64(r.Peak) }

func median(runs []load.Result, of func(load.Result) float64) float64 {
	var values []float64
	for _, r := range runs {
		values = append(values, of(r))
	}
	return terminal.Median(values)
}
