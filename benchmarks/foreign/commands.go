package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

// commands are installed and run as their users run them.
var commands = []program{
	{
		name: "compile", module: "cmd/compile", version: "the Go toolchain's", kind: command,
		does:  "compiles net/http, on two threads",
		right: []string{settings, "not-gc"},
		why:   "marking and sweeping have 20 % of the CPU, spread over all phases; the compiler starts with a larger heap by itself, so GOGC=800 saves 8 % and 400 nothing that can be measured",
		harmful: []rejection{
			{"short-lived-objects", "arena", "nodes, types and symbols live as long as the package or the function, by no simple scope"},
			{"long-lived-pointers", "", "the tree of the package is what a compiler is for, and the process ends after three seconds"},
		},
		command: &installed{path: goTool("compile"), prepare: packageFiles,
			args: compileArgs,
			profile: func(dir, profiles string) []string {
				return append([]string{"-cpuprofile", cpuFile(profiles), "-memprofile", heapFile(profiles)}, compileArgs(dir)...)
			}},
	},
	{
		name: "staticcheck", module: "honnef.co/go/tools", version: "v0.8.2", kind: command,
		does:  fmt.Sprintf("checks %d packages and what they import, without results of an earlier run", len(checkedPackages)),
		env:   []string{"STATICCHECK_CACHE=" + cache("staticcheck")},
		right: []string{settings},
		why:   "mallocgc has 22 % of the CPU and marking with assists 15 %, in go/types and in the intermediate representation; GOGC=400 saves 23 % for 300 MB",
		harmful: []rejection{
			{"short-lived-objects", "arena", "types and functions are shared by analyzers, whose facts keep them"},
			{"long-lived-pointers", "", "the process ends after seconds, and what it keeps are go/types' objects"},
		},
		command: &installed{pkg: "honnef.co/go/tools/cmd/staticcheck", prepare: goModule, exits: []int{1},
			args: func(string) []string {
				emptyCache("staticcheck")
				return []string{"./..."}
			},
			profile: func(_, profiles string) []string {
				emptyCache("staticcheck")
				return []string{"-debug.cpuprofile", cpuFile(profiles), "-debug.memprofile", heapFile(profiles), "./..."}
			}},
	},
	{
		name: "golangci-lint", module: "github.com/golangci/golangci-lint/v2", version: "v2.15.0", kind: command,
		does:  fmt.Sprintf("runs its standard linters on %d packages, without results of an earlier run", len(checkedPackages)),
		env:   []string{"GOLANGCI_LINT_CACHE=" + cache("golangci-lint")},
		right: []string{settings},
		why:   "mallocgc has 19 % of the CPU and marking with assists 20 %, in go/types and in the analyzers; GOGC=400 saves 13 % for 70 MB",
		harmful: []rejection{
			{"short-lived-objects", "arena", "types and functions are shared by analyzers, whose facts keep them"},
			{"long-lived-pointers", "", "the process ends after seconds, and what it keeps are go/types' objects"},
		},
		command: &installed{pkg: "github.com/golangci/golangci-lint/v2/cmd/golangci-lint", prepare: goModule, exits: []int{1},
			args: func(string) []string {
				emptyCache("golangci-lint")
				return []string{"run", "./..."}
			},
			profile: func(_, profiles string) []string {
				emptyCache("golangci-lint")
				return []string{"run", "--cpu-profile-path", cpuFile(profiles), "--mem-profile-path", heapFile(profiles), "./..."}
			}},
	},
	{
		name: "esbuild", module: "github.com/evanw/esbuild", version: "v0.28.2", kind: command,
		does:  fmt.Sprintf("bundles %d components in TypeScript for %d pages, minified and with source maps", sources, entryPoints),
		right: []string{settings},
		why:   "marking, assists and write barriers have 20 % of the CPU while the trees of all modules stay; GOGC=400 saves 18 % for 70 MB, and esbuild itself switches the collector off if there is one entry point",
		harmful: []rejection{
			{"short-lived-objects", "arena", "the parser's trees live until all files are linked"},
			{"long-lived-pointers", "", "the process ends after a second"},
		},
		command: &installed{pkg: "github.com/evanw/esbuild/cmd/esbuild", prepare: scripts,
			args: bundleArgs,
			profile: func(dir, profiles string) []string { // it repeats the work for 30 seconds
				return append(bundleArgs(dir), "--cpuprofile="+cpuFile(profiles), "--heap="+heapFile(profiles))
			}},
	},
	{
		name: "hugo", module: "github.com/gohugoio/hugo", version: "v0.165.0", kind: command,
		does:  fmt.Sprintf("builds a blog of %d posts with tags, related posts and highlighted code", sitePages),
		right: []string{settings},
		why:   "marking, assists and write barriers have 20 % of the CPU over 350 MB of pages, mallocgc has 15 % in every part; GOGC=400 saves 16 % for 350 MB",
		harmful: []rejection{
			{"short-lived-objects", "arena", "goldmark's trees stay with their pages for summaries and tables of contents"},
			{"long-lived-pointers", "", "the process ends after seconds, and what it keeps are trees of other libraries"},
		},
		command: &installed{pkg: "github.com/gohugoio/hugo", prepare: site,
			args: siteArgs,
			profile: func(dir, profiles string) []string {
				return append(siteArgs(dir), "--profile-cpu", cpuFile(profiles), "--profile-mem", heapFile(profiles))
			}},
	},
	{
		name: "gopls", module: "golang.org/x/tools/gopls", version: "v0.23.0", kind: command,
		does:  "checks a file in a module, without results of an earlier run",
		env:   []string{"GOPLSCACHE=" + cache("gopls")},
		right: []string{settings},
		why:   "go/types has 25 % of the CPU, system calls 14 %, mallocgc 13 % and marking 9 %, in every part; GOGC=400 saves 10 % for 120 MB",
		harmful: []rejection{
			{"short-lived-objects", "arena", "types and syntax are cached for the session"},
			{"long-lived-pointers", "", "what it keeps are go/types' objects"},
		},
		command: &installed{pkg: "golang.org/x/tools/gopls", prepare: goModule,
			args: func(string) []string {
				emptyCache("gopls")
				return goplsArgs
			},
			profile: func(_, profiles string) []string {
				emptyCache("gopls")
				return append([]string{"-profile.cpu=" + cpuFile(profiles), "-profile.mem=" + heapFile(profiles)}, goplsArgs...)
			}},
	},
}

// cpuFile and heapFile are the files that a command writes in a run with profiles.
func cpuFile(profiles string) string  { return filepath.Join(profiles, load.CPUFile) }
func heapFile(profiles string) string { return filepath.Join(profiles, load.HeapEndFile) }

// compileArgs compiles the package of packageFiles, as go build does on a machine with two
// processors.
func compileArgs(dir string) []string {
	files, err := os.ReadFile(filepath.Join(dir, "files"))
	if err != nil {
		panic(err)
	}
	return append([]string{"-o", "http.a", "-p", "net/http", "-complete", "-c=2", "-importcfg", "importcfg"}, strings.Fields(string(files))...)
}

func bundleArgs(string) []string {
	args := []string{"--bundle", "--minify", "--sourcemap", "--target=es2020", "--outdir=out", "--log-level=error"}
	for e := range entryPoints {
		args = append(args, fmt.Sprintf("src/entry%d.tsx", e))
	}
	return args
}

func siteArgs(dir string) []string {
	return []string{"build", "--quiet", "--source", dir, "--cacheDir", filepath.Join(dir, "cache"), "--destination", filepath.Join(dir, "public")}
}

var goplsArgs = []string{"check", filepath.Join("database", "sql", "sql.go")}
