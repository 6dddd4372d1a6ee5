// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Options say what to run. The zero value is the quick selection of everything.
type Options struct {
	// Full runs every size of every workload for as long as it takes. Only its figures count.
	Full bool
	// Run selects workloads by name; nil selects all. The name of a task selects its variants too.
	Run *regexp.Regexp
	// Contestants selects contestants by name; nil selects all. Ratios to a baseline that is left out are missing.
	Contestants *regexp.Regexp
	// Count is the number of passes, 0 for the default. Unless Count is given, the quick selection
	// ends when its time is over, even if passes are left.
	Count int
	// MinTime is how long a child repeats its rounds, 0 for the default.
	MinTime time.Duration
	// Sizes replaces the sizes of a workload, by name, and gives that workload its full shape.
	Sizes map[string][]int
	// Flags are the values of flags that belong to workloads, by their names. Children see them too.
	Flags map[string]string
	// ProfileDir receives a CPU profile of each child of the first pass, if it is not empty.
	ProfileDir string
}

// The defaults of the two kinds of run.
const (
	quickPasses  = 3
	fullPasses   = 5
	quickBudget  = 65 * time.Second
	quickLimit   = 75 * time.Second
	quickMinTime = 300 * time.Millisecond
	leastMinTime = 20 * time.Millisecond
	fullMinTime  = 500 * time.Millisecond
	childLimit   = 20 * time.Minute
	usualChild   = time.Second // the mean of most workloads at full size, 2026-11
)

// A job is one contestant at one size, measured once in every pass.
type job struct {
	w     *Workload
	c     *Contestant
	n     int
	input Input // of a workload that has inputs
	quick bool  // the shape of the quick selection

	samples []Sample
	longest time.Duration // of its children so far
	failure string        // why a child failed, with what it printed
	skipped string        // why there is no sample, if no child failed
}

// A plan is the work of one call of the command.
type plan struct {
	Options
	set     *Set
	jobs    []*job
	passes  int
	minTime time.Duration
	limited bool          // the quick selection's time limit holds:
	budget  time.Duration // no child is started that would end after this
	limit   time.Duration // children that still run then are stopped
}

var errNothingSelected = errors.New("no workload and contestant matches")

// makePlan selects the jobs and divides the time among them.
func (s *Set) makePlan(o Options) (*plan, error) {
	p := &plan{Options: o, set: s, budget: quickBudget, limit: quickLimit}
	p.limited = !o.Full && o.Count == 0 && len(o.Sizes) == 0
	for _, w := range s.workloads {
		if o.Run != nil && !o.Run.MatchString(w.Name) && !o.Run.MatchString(w.Family()) {
			continue
		}
		if err := p.addJobs(w); err != nil {
			return nil, err
		}
	}
	if len(p.jobs) == 0 {
		return nil, fmt.Errorf("bench: %w; the workloads are %q", errNothingSelected, s.Names())
	}
	p.passes, p.minTime = quickPasses, quickMinTime
	if o.Full {
		p.passes, p.minTime = fullPasses, fullMinTime
	}
	if p.limited {
		// Rounds get a fifth of the time; the rest is for starting, preparing and warming up.
		share := quickBudget / 5 / time.Duration(len(p.jobs)*p.passes)
		p.minTime = min(quickMinTime, max(leastMinTime, share))
	}
	if o.Count > 0 {
		p.passes = o.Count
	}
	if o.MinTime > 0 {
		p.minTime = o.MinTime
	}
	return p, nil
}

func (p *plan) addJobs(w *Workload) error {
	places, quick, err := w.Places(&p.Options)
	if err != nil {
		return err
	}
	for _, at := range places {
		for i := range w.Contestants {
			c := &w.Contestants[i]
			if p.Contestants != nil && !p.Contestants.MatchString(c.Name) && !c.Baseline {
				continue
			}
			if quick && c.FullOnly && p.Contestants == nil {
				continue
			}
			p.jobs = append(p.jobs, &job{w: w, c: c, n: at.N, input: at.Input, quick: quick, skipped: c.available()})
		}
	}
	return nil
}

// samePlace says whether two jobs are compared with each other.
func (j *job) samePlace(k *job) bool { return j.w == k.w && j.n == k.n && j.input == k.input }

// passesOf is the number of passes that j takes part in.
func (p *plan) passesOf(j *job) int {
	if p.Count == 0 && j.w.MaxPasses > 0 {
		return min(p.passes, j.w.MaxPasses)
	}
	return p.passes
}

// inOrder returns the jobs in the order of a pass. Every second pass goes backwards within a workload, so that no
// contestant always runs behind the same one.
func (p *plan) inOrder(pass int) []*job {
	jobs := append([]*job(nil), p.jobs...)
	if pass%2 == 0 {
		return jobs
	}
	for from := 0; from < len(jobs); {
		to := from
		for to < len(jobs) && jobs[to].samePlace(jobs[from]) {
			to++
		}
		for i, k := from, to-1; i < k; i, k = i+1, k-1 {
			jobs[i], jobs[k] = jobs[k], jobs[i]
		}
		from = to
	}
	return jobs
}
