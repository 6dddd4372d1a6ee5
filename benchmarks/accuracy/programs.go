package main

import "regexp"

// program is a sample, and what the doctor must say of it.
type program struct {
	name   string // folder in ../samples
	module string // whose code runs under load, "" for a program of our own
	change string // what the form after has, for the table

	// finding is the id that must stand first before the change and nowhere after it. "" is a
	// program whose cost is elsewhere: it has no form after, and nothing may be found.
	finding  string
	quantity quantity // what the change is measured against

	// warning says that the change makes the program slower: then the doctor must warn of it, and
	// predict a loss.
	warning bool

	before, after []string // environment
}

// quantity is which of the two predicted gains the form after realises.
type quantity string

const (
	sameGOGC   quantity = "same GOGC"
	sameMemory quantity = "same memory"
)

// programs were written, with the finding expected of each, before any constant of the doctor was
// tuned.
var programs = []program{
	{name: "trees", finding: "short-lived-objects", quantity: sameGOGC, change: "arena"},
	{name: "gjson-events", module: "tidwall/gjson", finding: "short-lived-objects", quantity: sameGOGC, change: "arena"},
	{name: "contexts", finding: "recycled-type", quantity: sameGOGC, change: "sync.Pool"},
	{name: "blake3-names", module: "zeebo/blake3", finding: "recycled-type", quantity: sameGOGC, change: "one hasher, reset"},
	{name: "buffers", finding: "large-buffers", quantity: sameGOGC, change: "sync.Pool"},
	{name: "gzip-responses", module: "klauspost/compress/gzip", finding: "large-buffers", quantity: sameGOGC, change: "sync.Pool of writers"},
	{name: "lru-profiles", module: "hashicorp/golang-lru", finding: "long-lived-pointers", quantity: sameMemory, change: "off the heap, GOGC=1400",
		after: []string{"GOGC=1400"}},
	{name: "btree-orders", module: "google/btree", finding: "long-lived-pointers", quantity: sameMemory, change: "items without pointers"},
	{name: "uuid-sessions", module: "google/uuid", finding: "long-lived-pointers", quantity: sameMemory, change: "map without pointers"},
	{name: "yaml-dataset", module: "yaml/v3", finding: "pointer-free-ballast", quantity: sameGOGC, change: "ballast off the heap", warning: true},
	{name: "concat", finding: "string-building", quantity: sameGOGC, change: "append to one buffer"},
	{name: "zap-debug", module: "uber/zap", finding: "string-building", quantity: sameGOGC, change: "text only if logged"},
	{name: "protowire-samples", module: "protobuf/protowire", finding: "growing-slice", quantity: sameGOGC, change: "make with capacity"},
	{name: "xxhash-distinct", module: "cespare/xxhash", finding: "growing-map", quantity: sameGOGC, change: "make with size"},
	{name: "json-fields", module: "tidwall/gjson", finding: "json-reflection", quantity: sameGOGC, change: "gjson"},
	{name: "json-orders", module: "goccy/go-json", finding: "json-reflection", quantity: sameGOGC, change: "goccy/go-json"},
	{name: "field-order", finding: "field-order", quantity: sameGOGC, change: "fields reordered"},
	{name: "eager", finding: "gc-too-often", quantity: sameGOGC, change: "GOGC as proposed",
		before: []string{"GOGC=20"}, after: []string{"GOGC=100"}},
	{name: "goldmark-pages", module: "yuin/goldmark", finding: "gc-too-often", quantity: sameGOGC, change: "GOGC as proposed",
		before: []string{"GOGC=15"}, after: []string{"GOGC=100"}},
	{name: "expfmt-scrapes", module: "prometheus/common/expfmt", finding: "limit-thrash", quantity: sameGOGC, change: "limit as proposed",
		before: []string{"GOGC=off", "GOMEMLIMIT=150MiB"}, after: []string{"GOGC=off", "GOMEMLIMIT=300MiB"}},
	{name: "handles", finding: "finalizers", quantity: sameGOGC, change: "no finalizer"},
	{name: "recursion", finding: "large-stacks", quantity: sameGOGC, change: "a goroutine that stays"},
	{name: "profiled", finding: "profiler-cost", quantity: sameGOGC, change: "default rate"},
	{name: "crowd", finding: "too-many-procs", quantity: sameGOGC, change: "GOMAXPROCS of the machine",
		before: []string{"GOMAXPROCS=64"}},
	// These came with their findings, when the others had been written.
	{name: "channel-records", finding: "allocation-hot-path", quantity: sameGOGC, change: "numbers in batches that come back",
		before: []string{"GOGC=800"}, after: []string{"GOGC=800"}},
	{name: "priorities", finding: "interface-boxing", quantity: sameGOGC, change: "a queue of its type"},
	{name: "routes", finding: "repeated-setup", quantity: sameGOGC, change: "compiled once"},
	{name: "otlp-traces", module: "protobuf/proto", finding: "protobuf-decoding", quantity: sameGOGC, change: "arenaproto"},

	{name: "elsewhere-cpu", module: "klauspost/compress/zstd"},
	{name: "elsewhere-lock"},
	{name: "elsewhere-disk"},
	{name: "elsewhere-cgo"},
	{name: "elsewhere-syscalls"},
	{name: "elsewhere-idle"},
}

func selected(pattern *regexp.Regexp) (some []program) {
	for _, p := range programs {
		if pattern.MatchString(p.name) {
			some = append(some, p)
		}
	}
	return some
}
