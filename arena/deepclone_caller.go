package arena

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// This file finds the module of the function that calls DeepClone. Types of this module and of the
// main module are the caller's own (see deepclone_rule.go).

// A callSite is a place in the code that calls DeepClone.
type callSite struct {
	pc    uintptr
	plans *plans // Without options.
}

// callSites remembers recent call sites by their program counter. To find a module by name takes
// microseconds.
var callSites [256]atomic.Pointer[callSite]

// modulePlans has the plans without options of each module that calls DeepClone, by the module's
// path.
var modulePlans sync.Map

// mainPlans are the plans for types of the main module alone. They serve all callers of clones that
// have no types for which it matters who calls.
var mainPlans = sync.OnceValue(func() *plans { return plansOfModule(moduleOf("main")) })

// callerPlans are the plans for types of the module of a caller. skip is 0 for the caller of
// callerPlans.
func callerPlans(skip int) *plans {
	var pcs [1]uintptr
	runtime.Callers(skip+2, pcs[:])
	slot := &callSites[pcs[0]>>5%uintptr(len(callSites))]
	if s := slot.Load(); s != nil && s.pc == pcs[0] {
		return s.plans
	}
	frame, _ := runtime.CallersFrames(pcs[:]).Next()
	s := plansOfModule(moduleOf(packageOf(frame.Function)))
	slot.Store(&callSite{pcs[0], s})
	return s
}

func plansOfModule(module string) *plans {
	if s, ok := modulePlans.Load(module); ok {
		return s.(*plans)
	}
	s, _ := modulePlans.LoadOrStore(module, &plans{module: module})
	return s.(*plans)
}

// home says whether pkg belongs to the main module or to the caller's.
func (s *plans) home(pkg string) bool {
	m := moduleOf(pkg)
	return m != "" && (m == s.module || m == moduleOf("main"))
}

// packageOf is the import path of the package of a function, by the function's name in the symbol
// table. There a dot in the last element of the path is written "%2e".
func packageOf(function string) string {
	function, _, _ = strings.Cut(function, "[") // Type arguments may have slashes.
	slash := strings.LastIndexByte(function, '/') + 1
	last, _, _ := strings.Cut(function[slash:], ".")
	return function[:slash] + strings.ReplaceAll(last, "%2e", ".")
}

// builtFrom has the paths of the program's modules, the longest first, and the path of the main
// module. Programs that go build did not build may have none.
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

// moduleOf is the path of the module with the package pkg, or "" if it is of the standard library.
func moduleOf(pkg string) string {
	modules, main := builtFrom()
	return moduleAmong(pkg, modules, main)
}

func moduleAmong(pkg string, modules []string, main string) string {
	tested := strings.TrimSuffix(pkg, "_test") // An external test is of the same module.
	if tested == "main" || tested == "command-line-arguments" {
		if main == "" {
			return "main"
		}
		return main
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
