package main

// libraries are driven by a main package of ours that calls their API.
var libraries = []program{
	{
		name: "go-yaml", module: "github.com/goccy/go-yaml", version: "v1.19.2", kind: library,
		does:  "decodes manifests of 100 lines into structs, and keeps the latest 400",
		right: []string{settings},
		why:   "43 % of the CPU is in mallocgc, spread over the scanner and the parser; the live heap is 5 MB, so cycles are many, and GOGC=400 saves 26 % for 40 MB",
		harmful: []rejection{
			{"short-lived-objects", "arena", "tokens and nodes are made inside the library, and the decoder's results hold their strings"},
		},
	},
	{
		name: "goja", module: "github.com/dop251/goja", version: "v0.0.0-20260917113740-793a2a65c13b", kind: library,
		does:  "calls a compiled JavaScript rule for each order, which comes and goes as JSON",
		right: []string{settings},
		why:   "the heap stays under the minimal goal of 4 MiB and is collected 85 times a second; GOGC=400 saves 31 % for 12 MB, while the objects belong to the script",
		harmful: []rejection{
			{"short-lived-objects", "arena", "a script may keep any object beyond the call"},
			{"recycled-type", "", "the library cannot tell when a script has dropped an object"},
		},
	},
	{
		name: "goja-rules", module: "github.com/dop251/goja", version: "v0.0.0-20260917113740-793a2a65c13b", kind: library,
		does:  "runs the text of one of twelve JavaScript rules for each request of a gateway",
		right: []string{"repeated-setup"},
		why:   "RunString parses and compiles the same twelve texts for every request; compiled once, they take 87 % less, where GOGC=400 saves 27 %",
		harmful: []rejection{
			{"short-lived-objects", "arena", "a script may keep any object beyond the call"},
		},
		applied: &change{what: "each rule compiled once", finding: "repeated-setup"},
	},
	{
		name: "excelize", module: "github.com/xuri/excelize/v2", version: "v2.11.1", kind: library,
		does:  "writes a workbook of 400 rows, and reads the rows of such a workbook, in turns",
		right: []string{settings},
		why:   "a third of the CPU is the library's table of languages, which it walks for every date; 3 MB are alive, so 17 cycles a second run, and GOGC=400 saves 24 % for 24 MB",
		harmful: []rejection{
			{"short-lived-objects", "arena", "cells and XML tokens are made inside the library, and the workbook keeps them"},
			{"long-lived-pointers", "", "3 MB are alive"},
		},
	},
	{
		name: "minify", module: "github.com/tdewolff/minify/v2", version: "v2.24.25", kind: library,
		does:  "minifies HTML pages of 40 KB with style sheets, scripts and JSON in them",
		right: []string{settings},
		why:   "write barriers have 14 % of the CPU and mallocgc 18 %, because 3 MB are alive and 44 cycles a second run; GOGC=400 saves 24 % for 16 MB",
		harmful: []rejection{
			{"short-lived-objects", "arena", "the nodes belong to the parsers inside the library"},
			{"long-lived-pointers", "", "3 MB are alive"},
		},
	},
	{
		name: "pprof", module: "github.com/google/pprof", version: "v0.0.0-20261016150608-1facf8f91b50", kind: library,
		does:  "parses the CPU profiles of eight processes, merges them and writes the result",
		right: []string{settings},
		why:   "flate has 21 % of the CPU, the collector and the allocator about 30 %, in every part of the library; GOGC=400 saves 22 % for 80 MB",
		harmful: []rejection{
			{"long-lived-pointers", "", "between operations 5 MB are alive, all of them the input's bytes"},
		},
	},
	{
		name: "bleve", module: "github.com/blevesearch/bleve/v2", version: "v2.6.3", kind: library,
		does:  "searches 6,000 articles in an index on disk; one operation in 100 adds 20 articles",
		right: []string{settings},
		why:   "merging segments has 43 % of the CPU and searches 24 %; the index is mapped, so 2 MB are alive and 25 cycles a second run, and GOGC=400 saves 28 %",
		harmful: []rejection{
			{"short-lived-objects", "arena", "merging and searching allocate inside the library, in goroutines of its own"},
			{"long-lived-pointers", "", "2 MB are alive"},
		},
	},
	{
		name: "buntdb", module: "github.com/tidwall/buntdb", version: "v1.3.0", kind: library,
		does:  "reads, writes and lists 150,000 sessions in memory, with an index over a field of their JSON",
		right: []string{"not-gc", "none"},
		why:   "comparisons in the trees and gjson have 84 % of the CPU, the collector 1 %; GOGC=400 saves nothing that can be measured",
		harmful: []rejection{
			{"long-lived-pointers", "", "the trees' 50 MB cost 1 % of the CPU, and moving them off the heap means another database"},
		},
	},
	{
		name: "badger", module: "github.com/dgraph-io/badger/v4", version: "v4.9.6", kind: library,
		does:  "reads, lists and writes the events of 2,000 devices in a store on disk",
		right: []string{"not-gc", "none"},
		why:   "the table in memory has 40 % of the CPU, mallocgc 13 %, the collector few per cent at one cycle a second; GOGC=400 takes 14 % more CPU, because the heap's growth to 500 MB faults in fresh pages",
		harmful: []rejection{
			{"gc-too-often", "", "a larger heap costs CPU here"},
			{"long-lived-pointers", "", "90 of the 97 MB alive are bytes without pointers"},
		},
	},
}
