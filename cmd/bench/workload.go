// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
)

// The default names of baselines. A workload may set others.
const (
	HeapName  = "Go heap"
	BoundName = "bound"
)

// A Workload is a task that contestants do in different ways.
type Workload struct {
	// Name identifies the workload. A variant of a task is named after it: "pair/all" is a variant of "pair".
	Name string
	// Doc describes the workload in one sentence.
	Doc string
	// Op names one operation, in the singular: "node", "pair".
	Op string
	// Quick and Full are the sizes of the quick selection and of a full run. What a size means is up to the workload.
	Quick, Full []int
	// Size is the unit of n, "nodes" or "bytes". "bytes" are shown in KiB, MiB and GiB.
	Size string
	// Ops is the number of operations in one round at size n.
	Ops func(n int) int
	// Inputs lists the files that the workload runs on, in place of sizes; n is then the size of the file. It is called
	// in the parent, and a child finds its file in the Spec.
	Inputs func(o *Options) ([]Input, error)
	// Heap and Bound name the contestants that rows are compared with. The defaults are "Go heap"
	// and "bound".
	Heap, Bound string
	// MaxPasses limits the passes of a full run, for workloads whose passes take long; 0 means no
	// limit.
	MaxPasses int
	// Child is how long a child process of a full run takes, 0 for the usual second. It serves for the
	// outlook alone.
	Child time.Duration
	// Measure replaces [Run.Rounds], the usual measurement, if a task measures its own time.
	Measure func(r *Run, c *Contestant) error
	// Adjust corrects a row by the row of the contestant that is marked as Baseline, if the workload has one.
	Adjust func(row, baseline *Row)
	// Flags are flags of the command that only this workload has, or that it shares with the workloads behind it.
	Flags []Flag

	// Contestants are the ways to do the task, in the order of the report.
	Contestants []Contestant
	// Bars are the limits that the contestants must keep.
	Bars []Bar
}

// A Contestant is one way to do the task of a workload.
type Contestant struct {
	// Name identifies the contestant within its workload.
	Name string
	// Note is one line on its peculiarity, or empty.
	Note string
	// Prepare builds what the rounds need and returns the function that does one round and returns its checksum.
	// Round number k must return the same checksum for every contestant of the workload.
	Prepare func(r *Run) (round func() uint64)
	// Env is added to the environment of the child, as "NAME=value".
	Env []string
	// Unavailable returns why the contestant cannot run on this machine, or "". It may be nil.
	Unavailable func() string
	// FullOnly keeps the contestant out of the quick selection.
	FullOnly bool
	// Own marks a way of freehold, which the report shows in a colour of its own.
	Own bool
	// Bound marks a further bound beside the workload's own: not a way that a program would choose.
	Bound bool
	// Baseline marks a contestant that does nothing. The others are corrected by its row.
	Baseline bool
}

// A Flag is a flag of the command that belongs to a workload.
type Flag struct {
	cli.Flag
	// Read checks the flag's value and notes it in the options. It is called if the flag is given.
	Read func(c *cli.Command, o *Options) error
}

// A Set is the workloads that a command has, in the order of the report. It must not change once the command runs.
type Set struct{ workloads []*Workload }

// NewSet returns a set. It panics if two workloads, or two contestants of one, have the same name.
func NewSet(workloads ...Workload) *Set {
	s := new(Set)
	s.AddWorkloads(workloads...)
	return s
}

// AddWorkloads adds workloads behind those that the set has. It panics as NewSet does.
func (s *Set) AddWorkloads(workloads ...Workload) {
	for _, w := range workloads {
		if s.find(w.Name) != nil {
			panic(fmt.Sprintf("bench: two workloads are called %q", w.Name))
		}
		w.Heap, w.Bound = cmp.Or(w.Heap, HeapName), cmp.Or(w.Bound, BoundName)
		contestants := w.Contestants
		w.Contestants = nil
		s.workloads = append(s.workloads, &w)
		s.Add(w.Name, contestants...)
	}
}

// Add adds contestants to a workload. It panics if there is no such workload, or if the workload has a contestant of
// that name.
func (s *Set) Add(workload string, contestants ...Contestant) {
	w := s.named(workload)
	for _, c := range contestants {
		if w.contestant(c.Name) != nil {
			panic(fmt.Sprintf("bench: workload %q has two contestants %q", workload, c.Name))
		}
		w.Contestants = append(w.Contestants, c)
	}
}

// AddBars adds bars to a workload. It panics if there is no such workload.
func (s *Set) AddBars(workload string, bars ...Bar) {
	w := s.named(workload)
	w.Bars = append(w.Bars, bars...)
}

// Names returns the names of all workloads.
func (s *Set) Names() []string {
	names := make([]string, len(s.workloads))
	for i, w := range s.workloads {
		names[i] = w.Name
	}
	return names
}

// Workloads returns the workloads.
func (s *Set) Workloads() []*Workload { return slices.Clone(s.workloads) }

// find returns the workload of that name, or nil.
func (s *Set) find(name string) *Workload {
	for _, w := range s.workloads {
		if w.Name == name {
			return w
		}
	}
	return nil
}

func (s *Set) named(name string) *Workload {
	w := s.find(name)
	if w == nil {
		panic(fmt.Sprintf("bench: there is no workload %q", name))
	}
	return w
}

func (w *Workload) contestant(name string) *Contestant {
	for i := range w.Contestants {
		if w.Contestants[i].Name == name {
			return &w.Contestants[i]
		}
	}
	return nil
}

// Family is the name without the variant: "pair" of "pair/all".
func (w *Workload) Family() string {
	name, _, _ := strings.Cut(w.Name, "/")
	return name
}

// available returns why the contestant cannot run here, or "".
func (c *Contestant) available() string {
	if c.Unavailable == nil {
		return ""
	}
	return c.Unavailable()
}
