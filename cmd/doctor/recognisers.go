// SPDX-License-Identifier: Apache-2.0

package doctor

// recognisers is the table, specific patterns before general ones.
var recognisers = []recogniser{
	{tooOftenID, "The collector runs too often", findGCTooOften},
	{limitID, "The memory limit leaves the collector little room", findLimitThrash},
	{profilerID, "The memory profiler samples too much", findProfilerCost},
	{"too-many-procs", "There are more Ps than processors", findTooManyProcs},
	{"json-reflection", "JSON is encoded or decoded by reflection", findJSON},
	{"protobuf-decoding", "Protocol Buffers are decoded to the Go heap", findProto},
	{"repeated-setup", "Reusable values are created repeatedly", findRepeatedSetup},
	{"finalizers", "Many objects have finalizers", findFinalizers},
	{"large-stacks", "Stacks grow, or are read, too often", findLargeStacks},
	{"string-building", "Strings are made, and then copied or dropped", findStringBuilding},
	{"growing-map", "Maps grow while they are filled", findGrowingMap},
	{"growing-slice", "Slices grow without capacity", findGrowingSlice},
	{"interface-boxing", "Conversions to interfaces allocate", findBoxing},
	{"field-order", "The order of a struct's fields wastes memory", findFieldOrder},
	{"large-buffers", "Large buffers are allocated for each use", findLargeBuffers},
	{"recycled-type", "Objects of one type are allocated and dropped", findRecycledType},
	{"short-lived-objects", "Many small objects that die together", findShortLived},
	{hotPathID, "A place allocates much that is dropped soon", findHotPath},
	{longLivedID, "Each collection reads long-lived data", findLongLived},
	{"pointer-free-ballast", "Data without pointers keeps collections rare", findBallast},
}

// notGC makes the report's finding if no other recogniser finds anything.
var notGC = recogniser{"not-gc", "The cost is elsewhere", findNotGC}
