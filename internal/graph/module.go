// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"runtime/debug"
	"slices"
	"strings"
	"sync"
)

// PackageOf is the import path of the package of a function, by the function's name in the symbol
// table. There a dot in the last element of the path is written "%2e".
func PackageOf(function string) string {
	function, _, _ = strings.Cut(function, "[") // Type arguments may have slashes.
	slash := strings.LastIndexByte(function, '/') + 1
	last, _, _ := strings.Cut(function[slash:], ".")
	return function[:slash] + strings.ReplaceAll(last, "%2e", ".")
}

// builtFrom has the paths of the program's modules, the longest first, and the path of the main
// module. Programs that go build did not build may have none, and a test binary of a package that is
// not main has the main module alone.
var builtFrom = sync.OnceValues(func() (modules []string, main string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil, ""
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path != "" {
			modules = append(modules, m.Path)
		}
	}
	slices.SortFunc(modules, func(x, y string) int { return len(y) - len(x) })
	return modules, info.Main.Path
})

// ModuleOf is the path of the module with the package pkg, or "" if it is of the standard library.
func ModuleOf(pkg string) string {
	modules, main := builtFrom()
	return moduleAmong(pkg, modules, main)
}

// standard has the first elements of the paths of the standard library. A module may have such a
// path, too, and the build does not say which packages are whose, so all count as the library's.
var standard = set("archive", "bufio", "bytes", "cmp", "compress", "container", "context", "crypto", "database", "debug", "embed", "encoding",
	"errors", "expvar", "flag", "fmt", "go", "hash", "html", "image", "index", "internal", "io", "iter", "log", "maps", "math", "mime", "net",
	"os", "path", "plugin", "reflect", "regexp", "runtime", "slices", "sort", "strconv", "strings", "structs", "sync", "syscall", "testing",
	"text", "time", "unicode", "unique", "unsafe", "uuid", "vendor", "weak")

func moduleAmong(pkg string, modules []string, main string) string {
	tested := strings.TrimSuffix(pkg, "_test") // An external test is of the same module.
	if tested == "main" || tested == "command-line-arguments" {
		if main == "" {
			return "main"
		}
		return main
	}
	if first, _, _ := strings.Cut(tested, "/"); standard[first] {
		return ""
	}
	for _, p := range []string{pkg, tested} { // A module's own path may end like that.
		for _, m := range modules {
			if p == m || strings.HasPrefix(p, m) && p[len(m)] == '/' {
				return m
			}
		}
	}
	parts := strings.SplitN(pkg, "/", 4)
	if !strings.Contains(parts[0], ".") {
		return ""
	}
	return strings.Join(parts[:min(3, len(parts))], "/") // The build does not say: a host, an owner and a name.
}
