// SPDX-License-Identifier: Apache-2.0

package doctor

// ReportVersion is the version of the report's JSON. It changes when a field changes its meaning or
// goes away, not when one is added.
const ReportVersion = 1

// A Report is the result of Diagnose. Its JSON is a stable contract. Shares are fractions of the
// program's CPU time.
type Report struct {
	// Version is ReportVersion.
	Version int `json:"version"`
	// Source is the Source of the evidence.
	Source string `json:"source"`
	// Verdict is the answer in one line.
	Verdict string `json:"verdict"`
	// First are the two lines that stand first: the setting and the line of code that save most, the
	// better one first. It is empty without CPU times.
	First []Advice `json:"first"`
	// GCShare is the collector's share: marking, assists, sweeping, write barriers, pauses.
	GCShare float64 `json:"gc_cpu_share"`
	// AllocShare is the allocator's share, zeroing included.
	AllocShare float64 `json:"alloc_cpu_share"`
	// WinnableShare is the gain of all findings together. Gains that overlap count once.
	WinnableShare float64 `json:"winnable_share"`
	// Confidence says how reliable the report is: high, medium, low or none.
	Confidence Confidence `json:"confidence"`
	// Missing are the pieces of evidence that would raise the confidence.
	Missing []Missing `json:"missing"`
	// Warnings are problems of the evidence, such as profiles of two builds. Figures of the report may
	// be wrong for them.
	Warnings []Warning `json:"warnings"`
	// Findings are ranked by gain, the largest first. If several findings would win the same time,
	// it counts for one of them: marking of long-lived data counts for the finding about that data.
	Findings []Finding `json:"findings"`
	// Settings are what other values of GOGC, or of the memory limit where that decides, would win.
	// It is empty without a CPU profile or a heap profile, and if nothing starts collections.
	Settings []Setting `json:"settings"`
	// Classes is the program's CPU time by class of work; the shares add up to 1. It is
	// empty without a CPU profile.
	Classes []ClassShare `json:"classes"`
	// Allocators are the lines that allocate most and hold most, in a report on heap profiles without a
	// CPU profile.
	Allocators []Allocator `json:"allocators,omitempty"`
	// Benchmarks are the results of go test -bench, the one first that allocates most bytes a second.
	Benchmarks []BenchmarkCost `json:"benchmarks,omitempty"`
	// LabelKeys are the labels of the CPU profile, those first that divide the time best. Labels is the
	// division by the label that was chosen, nil if none was.
	LabelKeys []LabelKey  `json:"label_keys,omitempty"`
	Labels    *LabelSplit `json:"labels,omitempty"`
	// PerOperation is the cost of one operation, nil if nothing counts operations.
	PerOperation *PerOperation `json:"per_operation,omitempty"`
	// CPUSecondsAssumed says that CPUSeconds rests on an assumed sampling rate.
	CPUSecondsAssumed bool `json:"cpu_seconds_assumed,omitempty"`
	// CPUSeconds is the CPU time in the profile, and WindowSeconds the time that it was collected
	// over; 0 if not known.
	CPUSeconds    float64 `json:"cpu_seconds"`
	WindowSeconds float64 `json:"window_seconds"`
	// Heap describes the program's heap.
	Heap HeapState `json:"heap"`
}

// A Part says what an Advice is about.
type Part string

// The parts. An expert says both: a setting is tried in a minute, and code is changed for good.
const (
	// Now is what to set, without a change of code.
	Now Part = "now"
	// InCode is the line to change.
	InCode Part = "in code"
)

// An Advice is one of the two lines that stand first in a report.
type Advice struct {
	Part Part `json:"part"`
	// Text says in one or two sentences what to do and what that saves, or why there is nothing to
	// do.
	Text string `json:"text"`
	// Try is the command or the edit, "" if there is nothing to do.
	Try string `json:"try,omitempty"`
	// Gain is the CPU time that it saves, the zero Gain if there is nothing to do. Vague says that its
	// interval reaches 0 or all of the CPU, so that Text has a word in place of figures.
	Gain  Gain `json:"gain"`
	Vague bool `json:"vague,omitempty"`
	// MoreBytes is the growth of the heap's peak that it costs.
	MoreBytes float64 `json:"more_memory_bytes,omitempty"`
	// Finding is the id of the finding that it is about, and Site the line to change; both are empty
	// if there is nothing to do.
	Finding string `json:"finding,omitempty"`
	Site    Site   `json:"site"`
}

// A Confidence says how reliable a report is.
type Confidence string

// The confidences.
const (
	High   Confidence = "high"
	Medium Confidence = "medium"
	Low    Confidence = "low"
	// None is the confidence of a report without CPU times, which gives no answer.
	None Confidence = "none"
)

// Missing is a piece of evidence that would raise the confidence.
type Missing struct {
	// What names the piece, Why says what it would show, and How says how to get it.
	What string `json:"what"`
	Why  string `json:"why"`
	How  string `json:"how"`
}

// ClassShare is the share of CPU time that went into one class.
type ClassShare struct {
	Name  string  `json:"name"`
	Share float64 `json:"cpu_share"`
}

// HeapState has figures of the heap over the window. Unknown figures are 0.
type HeapState struct {
	// LiveBytes is the live heap after the last collection, GoalBytes the size at which the next
	// one starts.
	LiveBytes float64 `json:"live_bytes"`
	GoalBytes float64 `json:"goal_bytes"`
	// ScanBytes are the bytes that a collection reads: the heap up to each object's last pointer,
	// stacks, and globals.
	ScanBytes float64 `json:"scan_bytes"`
	// AllocBytesPerSecond and CyclesPerSecond are rates over the window.
	AllocBytesPerSecond float64 `json:"alloc_bytes_per_second"`
	CyclesPerSecond     float64 `json:"cycles_per_second"`
	// GOGC is in percent, -1 if it is off. MemoryLimit is in bytes, 0 if there is none.
	GOGC        float64 `json:"gogc"`
	MemoryLimit float64 `json:"memory_limit"`
	// GOGCIs says how GOGC is known, and Limited that the memory limit and not GOGC decides when
	// collections begin. CyclesEstimated says that CyclesPerSecond follows from the bytes allocated.
	GOGCIs          Knowledge `json:"gogc_is,omitempty"`
	Limited         bool      `json:"limited,omitempty"`
	CyclesEstimated bool      `json:"cycles_estimated,omitempty"`
}

// A Finding is a pattern in the program, with its cost, its gain and its remedy.
type Finding struct {
	// ID names the pattern; docs/findings has a page for each.
	ID string `json:"id"`
	// Severity follows from the gain: high, medium, low; info is worth knowing and gains nothing by
	// itself.
	Severity Severity `json:"severity"`
	// Title is the pattern in a few words, Detail the finding in one or two sentences with its
	// figures.
	Title  string `json:"title"`
	Detail string `json:"detail"`
	// Site is the line that allocates, Owner the line in the user's module that leads to it.
	// Both are empty for findings about the whole program.
	Site  Site `json:"site"`
	Owner Site `json:"owner"`
	// Places are all lines that the finding is about, the most expensive first. It is empty for
	// findings about the whole program.
	Places []Place `json:"places"`
	// CPUShare is the cost of the pattern now, collector included.
	CPUShare float64 `json:"cpu_share"`
	// Gain is the CPU time that the remedy would save.
	Gain Gain `json:"gain"`
	// LabelPart is the part of the cost that falls on the value of the label that the report is
	// restricted to. It is 0 without such a value, and if the finding is about the whole program.
	LabelPart float64 `json:"label_part,omitempty"`
	// Evidence are the figures that it rests on; names end in their unit.
	Evidence map[string]any `json:"evidence"`
	// Remedy is what to do.
	Remedy Remedy `json:"remedy"`
	// Check lists the figures to compare before and after the change.
	Check []string `json:"check"`

	sites   []*site // whose cost the gain is about, so that overlapping gains are not added up
	own     float64 // the gain without what belongs to other findings; findings are ranked by it
	setting bool    // the remedy is a setting of the program, and its gain overlaps with that of every site
}

// A Place is one of the lines that a finding is about.
type Place struct {
	// Site is the line that allocates, Owner the line in the user's module that leads to it.
	Site  Site `json:"site"`
	Owner Site `json:"owner"`
	// AllocBytesPerSecond is the rate of allocation there, 0 if it is not known.
	AllocBytesPerSecond float64 `json:"alloc_bytes_per_second"`
	// CPUShare is the cost of the place now, its part of the collector's work included.
	CPUShare float64 `json:"cpu_share"`
}

// A Severity says how large the gain is.
type Severity string

// The severities.
const (
	SeverityHigh   Severity = "high"
	SeverityMedium Severity = "medium"
	SeverityLow    Severity = "low"
	SeverityInfo   Severity = "info"
)

// A Site is a line of source.
type Site struct {
	Func string `json:"func"`
	File string `json:"file"`
	Line int    `json:"line"`
}

// A Remedy is what to do about a finding.
type Remedy struct {
	// Text is the remedy in a sentence, Snippet code before and after in the form of a diff, and
	// Doc the page about the finding.
	Text    string `json:"text"`
	Snippet string `json:"snippet"`
	Doc     string `json:"doc"`
}

// An Allocator is a line that allocates, in a report on heap profiles without a CPU profile. Shares
// are parts of the whole program's.
type Allocator struct {
	Site  Site `json:"site"`
	Owner Site `json:"owner"`
	// AllocBytes and AllocObjects were allocated in the window, InUseBytes are in use at its end.
	AllocBytes        float64 `json:"alloc_bytes"`
	AllocBytesShare   float64 `json:"alloc_bytes_share"`
	AllocObjects      float64 `json:"alloc_objects"`
	AllocObjectsShare float64 `json:"alloc_objects_share"`
	InUseBytes        float64 `json:"in_use_bytes"`
	InUseShare        float64 `json:"in_use_share"`
}
