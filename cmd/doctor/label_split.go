// SPDX-License-Identifier: Apache-2.0

package doctor

// A LabelKey is a label of the CPU profile, which the program set with pprof.Do.
type LabelKey struct {
	Key string `json:"key"`
	// Values is the number of values, and CPUShare the share of CPU time that has one of them.
	Values   int     `json:"values"`
	CPUShare float64 `json:"cpu_share"`
}

// A LabelSplit divides the program's CPU time by the values of a label. Allocation, assists and
// write barriers run on the program's goroutines, which carry labels, so their time is measured.
// Workers that mark and sweep in the background carry none: their time is charged as in
// [Attributed], to the lines that cause it, and the time of a line is divided by the labels of the
// samples in which the line allocates. That part is an estimate.
type LabelSplit struct {
	// Key is the label, and Value the value that the findings are restricted to; Restricted tells
	// whether they are.
	Key        string `json:"key"`
	Value      string `json:"value,omitempty"`
	Restricted bool   `json:"restricted"`
	// Costs are the values, the one with the most CPU time first.
	Costs []LabelCost `json:"costs"`
	// Unlabelled is the time of goroutines without the label, workers of the collector left out.
	Unlabelled LabelCost `json:"unlabelled"`
	// BackgroundShare is the time of the collector's workers, and NotChargedShare the part of it that
	// no value and no goroutine without the label is known to cause.
	BackgroundShare float64 `json:"background_cpu_share"`
	NotChargedShare float64 `json:"not_charged_cpu_share"`
}

// A LabelCost is the CPU time of one value of a label. Shares are fractions of the whole program's
// CPU time.
type LabelCost struct {
	Value string `json:"value"`
	// CPUShare is the time of the goroutines, and Error the half-width of its interval that holds in
	// nine cases of ten.
	CPUShare float64 `json:"cpu_share"`
	Error    float64 `json:"error"`
	// AllocShare and GCShare are the parts of CPUShare in the allocator and in the collector.
	AllocShare float64 `json:"alloc_cpu_share"`
	GCShare    float64 `json:"gc_cpu_share"`
	// ChargedShare is the work in the background that the value causes, which CPUShare lacks.
	ChargedShare float64 `json:"charged_cpu_share"`
}
