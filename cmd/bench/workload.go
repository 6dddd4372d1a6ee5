package bench

import (
	"fmt"
	"slices"
	"strings"
)

// The names that baselines go by. A workload may name others.
const (
	heapName  = "Go heap"
	boundName = "bound"
)

// A Workload is a task that contestants do in different ways.
type Workload struct {
	// Name identifies the workload. A variant of a task is named after it: "pair/all" is a variant of "pair".
	Name string
	// Doc says in one sentence what is done.
	Doc string
	// Op is what one operation is, in the singular: "node", "pair".
	Op string
	// Quick and Full are the sizes of the quick selection and of a full run. What a size means is up to the workload.
	Quick, Full []int
	// Size names what n is, "nodes" or "bytes". "bytes" are shown in KiB, MiB and GiB.
	Size string
	// Ops is the number of operations in one round at size n.
	Ops func(n int) int
	// Inputs lists the files that the workload runs on, in place of sizes; n is then the size of the file. It is called
	// in the parent, and a child finds its file in the Spec.
	Inputs func(o *Options) ([]Input, error)
	// Heap and Bound name the contestants that rows are held against. The defaults are "Go heap" and "bound".
	Heap, Bound string
	// MaxPasses limits the passes of a full run where one is long; 0 means no limit.
	MaxPasses int
	// Measure replaces the usual measurement, which is rounds until the time is up, where a task is its own clock.
	Measure func(r *Run, c *Contestant) error
	// Adjust corrects a row by the row of the contestant that is marked as Baseline, if the workload has one.
	Adjust func(row, baseline *Row)
	// Order is the place in the report: less comes first.
	Order int

	contestants []*Contestant
}

// A Contestant is one way to do the task of a workload.
type Contestant struct {
	// Name identifies the contestant within its workload.
	Name string
	// Note is one line on what is special about it, or empty.
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
	// Bound marks a way that is a bound beside the workload's own: nothing that a program would choose.
	Bound bool
	// Baseline marks a contestant that does nothing: it is measured for what the others are corrected by.
	Baseline bool
}

// The registry is filled by init functions and read-only after that.
var registry []*Workload

// Register adds a workload with its contestants. It is called from init functions and panics if the name is taken.
func Register(w Workload, contestants ...Contestant) {
	if find(w.Name) != nil {
		panic(fmt.Sprintf("bench: workload %q is registered twice", w.Name))
	}
	if w.Heap == "" {
		w.Heap = heapName
	}
	if w.Bound == "" {
		w.Bound = boundName
	}
	registry = append(registry, &w)
	slices.SortStableFunc(registry, func(a, b *Workload) int { return a.Order - b.Order })
	Add(w.Name, contestants...)
}

// addOwn adds freehold's ways to a registered workload.
func addOwn(workload string, contestants ...Contestant) {
	for i := range contestants {
		contestants[i].Own = true
	}
	Add(workload, contestants...)
}

// Add adds contestants to a registered workload. It is called from init functions and panics if there is no such
// workload or if the workload has a contestant of that name.
func Add(workload string, contestants ...Contestant) {
	w := find(workload)
	if w == nil {
		panic(fmt.Sprintf("bench: there is no workload %q", workload))
	}
	for _, c := range contestants {
		if w.contestant(c.Name) != nil {
			panic(fmt.Sprintf("bench: workload %q has two contestants %q", workload, c.Name))
		}
		w.contestants = append(w.contestants, &c)
	}
}

// Workloads returns the names of all workloads in the order of the report.
func Workloads() []string {
	names := make([]string, len(registry))
	for i, w := range registry {
		names[i] = w.Name
	}
	return names
}

func find(name string) *Workload {
	for _, w := range registry {
		if w.Name == name {
			return w
		}
	}
	return nil
}

func (w *Workload) contestant(name string) *Contestant {
	for _, c := range w.contestants {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// family is the name without the variant: "pair" of "pair/all".
func (w *Workload) family() string {
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
