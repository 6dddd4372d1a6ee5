// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"fmt"
	"strings"

	"github.com/google/pprof/profile"
)

// addProfile adds a profile in pprof's format.
func (e *Evidence) addProfile(data []byte) error {
	p, err := profile.ParseUncompressed(data)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return inputError("not a profile in pprof's format, or a truncated one (" + err.Error() + "); collect it again")
	}
	if err := checkGo(p); err != nil {
		return err
	}
	renumber(p)
	switch {
	case isSampled(p):
		return e.addSampled(p)
	case SampleIndex(p, "cpu") >= 0:
		return e.addCPU(p)
	case SampleIndex(p, "inuse_space") >= 0 && SampleIndex(p, "alloc_space") >= 0:
		return e.addHeap(p)
	case SampleIndex(p, "contentions") >= 0:
		return inputError("a mutex or block profile; give /debug/pprof/profile (CPU) and /debug/pprof/heap instead")
	case SampleIndex(p, "goroutine") >= 0, SampleIndex(p, "threadcreate") >= 0:
		return inputError("a goroutine profile; give /debug/pprof/profile (CPU) and /debug/pprof/heap instead")
	}
	types := ""
	for _, t := range p.SampleType {
		types += " " + t.Type + "/" + t.Unit
	}
	return inputError(fmt.Sprintf("a profile of%s; the doctor reads the CPU and heap profiles of runtime/pprof", types))
}

// checkGo refuses profiles without names, and those of programs in other languages.
func checkGo(p *profile.Profile) error {
	if len(p.SampleType) == 0 {
		return inputError("a profile without sample types, which profiles of Go programs have")
	}
	if len(p.Sample) == 0 {
		return nil
	}
	goFiles, named := 0, 0
	for _, f := range p.Function {
		if f.Name != "" {
			named++
		}
		// A program that hardly ran may have samples only in the runtime's assembly.
		if strings.HasSuffix(f.Filename, ".go") || strings.HasSuffix(f.Filename, ".s") && strings.HasPrefix(f.Name, "runtime.") {
			goFiles++
		}
	}
	bare := 0
	for _, loc := range p.Location {
		if len(loc.Line) == 0 {
			bare++
		}
	}
	switch {
	case named == 0 || bare > len(p.Location)/2:
		return inputError("a profile without function names, as of a stripped binary; add them with: go tool pprof -proto BINARY FILE >NEW")
	case goFiles == 0:
		return inputError("a profile without a Go file: it is of another language's program, or lacks file names; give one that runtime/pprof wrote")
	}
	return nil
}
