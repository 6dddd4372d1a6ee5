package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// earlier are the programs of an earlier examination: their judgements are older than the doctor's first
// report on them. Today it knows them.
var earlier = []program{
	{
		name: "gopher-lua", module: "github.com/yuin/gopher-lua", version: "v1.1.2", kind: library,
		does:  "makes a Lua state for each order, runs a script of 45 lines in it and calls its function",
		right: []string{"repeated-setup", settings},
		why:   "31 % of the CPU loads the same script and 16 % is NewState, so a pool of states with the compiled script saves 89 %; 2 MB are alive, so GOGC=400 saves 24 % for 22 MB",
		harmful: []rejection{
			{"short-lived-objects", "arena", "tables and closures are made inside the library, and the script may keep them"},
			{"long-lived-pointers", "", "2 MB are alive"},
		},
		applied: &change{what: "the script is compiled once, and states are in a sync.Pool", finding: "repeated-setup"},
	},
	{
		name: "gojq", module: "github.com/itchyny/gojq", version: "v0.12.20", kind: library,
		does:  "reshapes lines of JSON with a jq filter that is parsed once and compiled by Query.Run for each line",
		right: []string{"repeated-setup", settings},
		why:   "48 % of the CPU is in gojq.Compile below Query.Run, and Code.Run of a code compiled once saves 64 %; 3 MB are alive, so GOGC=400 saves 25 % for 18 MB",
		harmful: []rejection{
			{"short-lived-objects", "arena", "code, scopes and values are made inside the library"},
			{"json-reflection", "", "decoding has less than a fifth of the CPU, into maps, which generated code cannot replace: the filter takes them"},
			{"long-lived-pointers", "", "3 MB are alive"},
		},
		applied: &change{what: "gojq.Compile once", finding: "repeated-setup"},
	},
	{
		name: "cel", module: "cel.dev/cel-go", version: "v0.32.0", kind: library,
		does:  "decodes manifests from JSON and evaluates thirty compiled admission rules on each",
		right: []string{"repeated-setup", settings},
		why:   "34 % of the CPU is regexp.Compile below String.Match, for constant patterns, and cel.OptOptimize, which compiles them once, saves 51 %; 3 MB are alive, so GOGC=400 saves 32 % for 18 MB",
		harmful: []rejection{
			{"short-lived-objects", "arena", "the evaluator's values are made inside the library"},
			{"interface-boxing", "", "values of CEL are interfaces by design"},
			{"long-lived-pointers", "", "3 MB are alive"},
		},
		applied: &change{what: "cel.EvalOptions(cel.OptOptimize)", finding: "repeated-setup"},
	},
	{
		name: "chroma", module: "github.com/alecthomas/chroma/v2", version: "v2.27.0", kind: library,
		does:  "highlights pages of at most 300 lines of Go's tree as HTML, and looks up the lexer for each page",
		right: []string{"repeated-setup", "not-gc"},
		why:   "29 % of the CPU matches the name of the file against the patterns of all lexers, and a table by extension saves 30 %; the rest is the regular expressions of the lexers, and GOGC=400 saves 14 % for 22 MB",
		harmful: []rejection{
			{"recycled-type", "", "regexp2's matches are made inside the library and its iterator holds them"},
			{"short-lived-objects", "arena", "tokens are made inside the library"},
			{"long-lived-pointers", "", "5 MB are alive, most of it text"},
		},
		applied: &change{what: "one formatter, and a lexer for each extension", finding: "repeated-setup"},
	},
	{
		name: "sh", module: "mvdan.cc/sh/v3", version: "v3.14.1", kind: library,
		does:  "parses and prints shell scripts of 40 to 250 lines",
		right: []string{settings},
		why:   "28 % of the CPU is mallocgc and 10 % write barriers, spread over the nodes of the parser; 2 MB are alive, the goal is the minimal 4 MiB, and GOGC=400 saves 12 % for 12 MB, while one parser for all scripts saves hardly anything",
		harmful: []rejection{
			{"short-lived-objects", "arena", "nodes are made inside the library"},
			{"recycled-type", "", "the library cannot tell when its user has dropped a tree"},
			{"long-lived-pointers", "", "2 MB are alive"},
		},
	},
	{
		name: "sqlite", module: "modernc.org/sqlite", version: "v1.61.1", kind: library,
		does:  "inserts orders and reads customers' latest orders from a file of SQLite, by the texts of the statements",
		right: []string{"repeated-setup", "not-gc"},
		why:   "the collector has under 1 %; 31 % of the CPU parses the same four statements, and preparing them once saves 43 %",
		harmful: []rejection{
			{"short-lived-objects", "arena", "30 MB a second are allocated, by database/sql and the driver"},
			{"gc-too-often", "", "the collector has under 1 %"},
			{"long-lived-pointers", "", "2 MB are alive: SQLite's memory is outside the heap"},
		},
		applied: &change{what: "the statements are prepared once", finding: "repeated-setup"},
	},
	{
		name: "telegraf", module: "github.com/influxdata/telegraf", version: "v1.37.2", kind: library,
		does:  "reads batches of 1000 metrics in line protocol, adds a tag, and writes them ten batches later",
		right: []string{settings},
		why:   "25 % of the CPU is mallocgc and 15 % the collector, for metrics that the buffer keeps; 11 MB are alive, and GOGC=200 saves 14 % for 14 MB",
		harmful: []rejection{
			{"short-lived-objects", "arena", "the buffer of the output keeps metrics beyond the batch"},
			{"recycled-type", "", "metrics and their tags are made inside the library, which shares them between outputs"},
			{"long-lived-pointers", "", "the 11 MB are a buffer that is replaced all the time"},
		},
	},
	{
		name: "pebble", module: "github.com/cockroachdb/pebble/v2", version: "v2.1.7", kind: library,
		does:  "reads, writes and lists 200000 sessions on disk with a block cache of 64 MiB",
		right: []string{"not-gc", "none"},
		why:   "the collector has under 3 %; the time is in searching tables and skip lists, and in reading and decompressing blocks, which a larger cache saves",
		harmful: []rejection{
			{"large-buffers", "pool", "the blocks are the cache's, with a count of references"},
			{"long-lived-pointers", "", "the 70 MB that are alive are blocks, which hold no pointers"},
			{"pointer-free-ballast", "", "the blocks are the cache and not ballast"},
			{"gc-too-often", "", "GOGC=400 saves 2 % for 220 MB"},
		},
	},
	{
		name: "ethereum", module: "github.com/ethereum/go-ethereum", version: "v1.17.10", kind: library,
		does:  "executes blocks of 150 transfers on a state of 60000 accounts and commits them to the trie database",
		right: []string{"not-gc", "none"},
		why:   "33 % of the CPU looks up trie nodes in the maps of 128 difference layers, and 8 % is Keccak; the collector has about a tenth, and GOGC=400 saves 6 % for 206 MB",
		harmful: []rejection{
			{"recycled-type", "", "trie nodes belong to the layers, which keep them"},
			{"short-lived-objects", "arena", "what a block changes stays in the layers"},
			{"growing-map", "", "the layers' maps are filled inside the library, by counts that it knows"},
		},
	},
	{
		name: "opa", module: "github.com/open-policy-agent/opa", version: "v1.22.2", kind: service,
		does:  "answers requests for decisions by a policy of roles over 4000 users",
		right: []string{settings},
		why:   "the evaluator and its values have 57 % of the CPU, 8 MB are alive, 18 cycles a second run, and GOGC=200 saves 10 % for 9 MB",
		harmful: []rejection{
			{"short-lived-objects", "arena", "terms are made inside the library and reach its caches"},
			{"recycled-type", "", "terms are made inside the library"},
			{"json-reflection", "", "the bodies of requests are under a tenth of the CPU, and their types are maps"},
			{"long-lived-pointers", "", "8 MB are alive"},
		},
	},
	{
		name: "prometheus", module: "github.com/prometheus/prometheus", version: "v0.310.0", kind: service,
		does:  "answers the queries of dashboards and alerts over an hour of 6000 series in memory",
		right: []string{"not-gc", "none"},
		why:   "90 % of the CPU decodes samples and computes rates over them; mallocgc has 5 % and marking 3 %, and GOGC=400 saves 2 % for 103 MB",
		harmful: []rejection{
			{"gc-too-often", "", "the collector has under a twentieth"},
			{"long-lived-pointers", "", "27 MB are alive and marking has 3 %"},
			{"short-lived-objects", "arena", "the engine has pools of its own for points"},
		},
	},
	{
		name: "cue", module: "cuelang.org/go", version: "v0.17.1", kind: command,
		does:  "cue vet checks 320 files of services in YAML against a schema",
		right: []string{settings},
		why:   "a quarter of the CPU is marking, because the evaluated files stay alive until the end, and GOGC=400 saves 22 % for 48 MB",
		harmful: []rejection{
			{"long-lived-pointers", "", "the values are CUE's own, in a command that ends"},
			{"short-lived-objects", "arena", "the values live to the end and are made inside the command"},
			{"recycled-type", "", "the evaluator has a list of free nodes, and its values stay alive"},
		},
		command: &installed{
			pkg:     "cuelang.org/go/cmd/cue",
			prepare: cueInput,
			args:    func(dir string) []string { return cueVet(dir, "small") },
			profile: func(dir, profiles string) []string {
				return cueVet(dir, "large", "--cpuprofile", filepath.Join(profiles, "cpu.pb.gz"), "--memprofile", filepath.Join(profiles, "heap1.pb.gz"))
			},
			ops: cueFiles,
		},
	},
}

// cueVet are the arguments that check the files of a folder.
func cueVet(dir, folder string, flags ...string) []string {
	files, _ := filepath.Glob(filepath.Join(dir, folder, "*.yaml")) // the pattern is right
	return append(append(append([]string{"vet"}, flags...), "schema.cue"), files...)
}

// cueSchema is what a platform team checks the services of other teams against.
const cueSchema = `package deploy

import "strings"

#Name:  =~"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" & strings.MaxRunes(63)
#Port:  int & >1024 & <65536
#Bytes: =~"^[0-9]+(Mi|Gi)$"

#Env: {
	name:   =~"^[A-Z][A-Z0-9_]*$"
	value?: string
	from?: {secret: #Name, key: string}
}
#Probe: {path: =~"^/", port: #Port, period: *10 | int & >=5}
#Container: {
	name:  #Name
	image: =~"^registry\\.example\\.com/.+:v[0-9.]+$"
	env: [...#Env]
	ports: [...{name: string, port: #Port, protocol: *"TCP" | "UDP"}]
	resources: {
		limits: {memory: #Bytes, cpu: number & >0}
		requests: {memory: #Bytes, cpu: number & >0 & <=limits.cpu}
	}
	probe: #Probe
}
#Service: {
	kind:      "Service" | "Worker" | "Job"
	name:      #Name
	namespace: *"default" | "prod" | "staging" | "dev"
	labels: [string]: string & strings.MaxRunes(63)
	labels: app:  name
	labels: team: string
	replicas: int & >=1 & <=50
	if namespace == "prod" {replicas: >=2}
	containers: [#Container, ...#Container]
	if kind == "Job" {schedule: =~"^[-0-9*/, ]+$"}
}

services: [Name=string]: #Service & {name: Name}
`

// cueInput writes the schema, and files of services in the folders small and large.
func cueInput(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "schema.cue"), []byte(cueSchema), 0o666); err != nil {
		return err
	}
	for folder, files := range map[string]int{"small": cueFiles, "large": 4 * cueFiles} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o777); err != nil {
			return err
		}
		for i := range files {
			if err := os.WriteFile(filepath.Join(dir, folder, fmt.Sprintf("team%04d.yaml", i)), []byte(cueServices(i)), 0o666); err != nil {
				return err
			}
		}
	}
	return nil
}

// cueFiles is the number of files that the timed runs check.
const cueFiles = 320

// cueServices is the file of a team, with five services.
func cueServices(team int) string {
	var b strings.Builder
	b.WriteString("services:\n")
	for s := range 5 {
		name, kind := fmt.Sprintf("app-%d-%d", team, s), []string{"Service", "Worker", "Job"}[(team+s)%3]
		fmt.Fprintf(&b, "  %s:\n    kind: %s\n    namespace: prod\n    replicas: %d\n    labels: {team: team-%d, tier: backend}\n", name, kind, 2+s, team)
		if kind == "Job" {
			fmt.Fprintf(&b, "    schedule: \"%d * * * *\"\n", team%60)
		}
		b.WriteString("    containers:\n")
		for c := range 1 + (team+s)%3 {
			fmt.Fprintf(&b, "    - name: c%d\n      image: registry.example.com/%s:v1.%d\n      env:\n", c, name, team)
			for e := range 4 + s {
				fmt.Fprintf(&b, "      - {name: OPTION_%d, value: \"%d\"}\n", e, team*e)
			}
			fmt.Fprintf(&b, "      ports: [{name: http, port: %d}]\n      probe: {path: /ready, port: %d}\n", 8080+c, 8080+c)
			b.WriteString("      resources: {limits: {memory: 512Mi, cpu: 1}, requests: {memory: 256Mi, cpu: 0.1}}\n")
		}
	}
	return b.String()
}
