package doctor

// A recogniser knows one pattern. It sees the account alone, and reports what it finds with figures, gain and remedy; Diagnose
// fills in the title, the severity and the link to the page of the finding.
//
// Recognisers run in the order of the table. What one finds claims its sites: site.claimed then names it, and recognisers that come later
// leave them alone, so that a place gets the most specific remedy and not all that would apply.
type recogniser struct {
	id, title string
	find      func(*account) []Finding
}

// recognisers is the table, specific patterns before general ones.
var recognisers = []recogniser{
	{"gc-too-often", "The collector runs more often than need be", findGCTooOften},
	{"limit-thrash", "The memory limit leaves the collector no room", findLimitThrash},
	{profilerID, "The memory profiler samples too much", findProfilerCost},
	{"too-many-procs", "There are more Ps than processors", findTooManyProcs},
	{"json-reflection", "JSON is encoded or decoded by reflection", findJSON},
	{"repeated-setup", "What serves for ever is made again and again", findRepeatedSetup},
	{"finalizers", "Objects have finalizers in numbers", findFinalizers},
	{"large-stacks", "Stacks are grown, or read, too often", findLargeStacks},
	{"string-building", "Strings are made only to be copied or dropped", findStringBuilding},
	{"growing-map", "Maps are filled without room", findGrowingMap},
	{"growing-slice", "Slices grow without capacity", findGrowingSlice},
	{"interface-boxing", "Values are allocated to become interfaces", findBoxing},
	{"field-order", "A struct's fields stand in a costly order", findFieldOrder},
	{"large-buffers", "Large buffers are made anew each time", findLargeBuffers},
	{"recycled-type", "Objects of one type come and go", findRecycledType},
	{"short-lived-objects", "Many small objects that die together", findShortLived},
	{longLivedID, "The collector reads long-lived data again and again", findLongLived},
	{"pointer-free-ballast", "Data without pointers keeps collections rare", findBallast},
}

// notGC is what the report has where no other recogniser finds anything.
var notGC = recogniser{"not-gc", "The cost is elsewhere", findNotGC}

// Thresholds that all recognisers share, as shares of the program's CPU time.
const (
	// minGain is the least gain that is worth a line: one percent is what a careful comparison can still measure.
	minGain = 0.01
	// mediumGain is the gain from which on a finding's severity is medium.
	mediumGain = 0.03
	// highGain is the gain from which on it is high.
	highGain = 0.10
)

// docBase is where the pages of the findings are.
const docBase = "https://github.com/freehold-go/freehold/blob/main/docs/findings/"

// severityOf is the severity of a gain.
func severityOf(g Gain) Severity {
	switch best := g.Best(); {
	case best >= highGain:
		return SeverityHigh
	case best >= mediumGain:
		return SeverityMedium
	case best >= minGain:
		return SeverityLow
	}
	return SeverityInfo
}
