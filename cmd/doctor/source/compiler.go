// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// patience is how long a package whose escapes took too long is left alone.
const patience = 24 * time.Hour

// readEscapes adds the compiler's escapes of a package, from the cache or by compiling it once more.
func (s *Module) readEscapes(ctx context.Context, p *pkg) {
	if p.escapes || ctx.Err() != nil {
		return
	}
	p.escapes = true
	var f escapeFacts
	switch known := s.cache.get(p.escapeKey(), &f); {
	case known && f.TooLong.IsZero():
	case known && s.cache.now().Sub(f.TooLong) < patience:
		s.tooLong(p)
	default:
		f = s.askCompiler(ctx, p)
	}
	for place, list := range f.Places {
		s.escapes[place] = append(s.escapes[place], list...)
	}
}

func (p *pkg) escapeKey() string {
	if p.key == "" {
		return ""
	}
	return p.key + "-escapes"
}

// tooLong notes a package whose escapes took too long. All of them are one problem.
func (s *Module) tooLong(p *pkg) {
	if len(s.late) == 0 {
		s.lateAt = len(s.Problems)
		s.Problems = append(s.Problems, "")
	}
	s.late = append(s.late, p.ImportPath)
	names := s.late[0]
	if more := len(s.late) - 1; more > 0 {
		names = fmt.Sprintf("%s and of %d more packages", names, more)
	}
	s.Problems[s.lateAt] = fmt.Sprintf("no escape reasons of %s: the compiler takes longer than %v; -source none asks for none", names, s.limit)
}

// askCompiler compiles a package once more with -json=0, which writes the compiler's diagnostics for
// each line to files. The text of -m=2 takes as much time, and lacks the lines of inlined
// functions; that of -m=1 has no reasons. "go list" links nothing, unlike "go build".
func (s *Module) askCompiler(ctx context.Context, p *pkg) (f escapeFacts) {
	dir, err := os.MkdirTemp("", "freehold-escapes-")
	if err != nil {
		s.Problems = append(s.Problems, "no escape reasons: "+err.Error())
		return f
	}
	defer os.RemoveAll(dir)
	start, left := time.Now(), s.limit-s.spent
	limited, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	// The folder's name is new. With a known one the build cache would answer in the compiler's
	// place, and write nothing.
	out := filepath.Join(dir, "json")
	text, err := s.settings.command(limited, "list", "-pgo=off", "-export", "-f={{\"\"}}", "-gcflags=-json=0,"+out, "--", p.ImportPath).CombinedOutput()
	if err == nil {
		f.Places, err = s.parseEscapes(limited, out)
	}
	s.spent += time.Since(start)
	switch {
	case ctx.Err() != nil:
	case limited.Err() != nil:
		s.tooLong(p)
		if left > s.limit/2 { // With less time, other packages are the cause.
			s.cache.put(p.escapeKey(), escapeFacts{TooLong: s.cache.now()})
		}
		return escapeFacts{}
	case err != nil:
		s.Problems = append(s.Problems, withCause("no escape reasons of "+p.ImportPath+": "+firstLine(fmt.Errorf("%s\n%w", text, err))))
	default:
		s.cache.put(p.escapeKey(), f)
	}
	return f
}
