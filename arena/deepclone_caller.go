// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/graph"
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
var mainPlans = sync.OnceValue(func() *plans { return plansOfModule(mainModule()) })

// mainModule is the path of the main module. Tests replace it.
var mainModule = sync.OnceValue(func() string { return graph.ModuleOf("main") })

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
	s := plansOfModule(graph.ModuleOf(graph.PackageOf(frame.Function)))
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
	m := graph.ModuleOf(pkg)
	return m != "" && (m == s.module || m == mainModule())
}
