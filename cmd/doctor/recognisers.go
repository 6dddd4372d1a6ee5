package doctor

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
