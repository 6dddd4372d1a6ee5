package source

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/freehold-go/freehold/cmd/process"
)

// diagnostic is a line of the compiler's -json output: a diagnostic of the language server
// protocol, lines counted from 1.
type diagnostic struct {
	File    string   `json:"file"` // in the first line of a file only
	Range   location `json:"range"`
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Related []struct {
		Location struct {
			URI   string   `json:"uri"`
			Range location `json:"range"`
		} `json:"location"`
		Message string `json:"message"`
	} `json:"relatedInformation"`
}

type location struct {
	Start struct {
		Line int `json:"line"`
	} `json:"start"`
}

// askCompiler compiles the packages once more with -json=0, which writes the compiler's diagnostics
// for each line. It returns those about allocations. The results of the build are thrown away.
func (s *Module) askCompiler(ctx context.Context, patterns []string) map[string][]escape {
	dir, err := os.MkdirTemp("", "freehold-escapes-")
	if err != nil {
		s.Problems = append(s.Problems, "no escape reasons: "+err.Error())
		return nil
	}
	defer os.RemoveAll(dir)
	// The folder's name is new. With a known one the build cache would answer in the compiler's
	// place, and write nothing.
	out := filepath.Join(dir, "json")
	args := append([]string{"build", "-o", os.DevNull, "-gcflags=-json=0," + out}, patterns...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = s.root, s.env
	process.Own(cmd) // a compiler that outlives the go command goes on writing, up to gigabytes
	if text, err := cmd.CombinedOutput(); err != nil {
		// Results from before the failure are valid all the same.
		s.Problems = append(s.Problems, "no escape reasons of some packages: "+firstLine(fmt.Errorf("%s\n%w", text, err)))
	}
	return s.readEscapes(out)
}

// readEscapes reads the compiler's output: a folder for each package, and in it a file for each
// source file.
func (s *Module) readEscapes(dir string) map[string][]escape {
	found := map[string][]escape{}
	folders, err := os.ReadDir(dir)
	if err != nil {
		return found // nothing was compiled, which has been said
	}
	for _, folder := range folders {
		files, err := os.ReadDir(filepath.Join(dir, folder.Name()))
		if err != nil {
			s.Problems = append(s.Problems, "no escape reasons: "+err.Error())
			continue
		}
		for _, f := range files {
			text, err := os.ReadFile(filepath.Join(dir, folder.Name(), f.Name()))
			if err == nil {
				err = s.parseEscapes(text, found)
			}
			if err != nil {
				s.Problems = append(s.Problems, "no escape reasons: "+err.Error())
			}
		}
	}
	return found
}

// parseEscapes adds the allocations in one file of the compiler's output. A key is the key of
// Module.files, a colon and the line.
func (s *Module) parseEscapes(text []byte, found map[string][]escape) error {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 16<<20)
	key := ""
	for lines.Scan() {
		var d diagnostic
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			return fmt.Errorf("the compiler's -json output: %w", err)
		}
		if d.File != "" {
			key = s.keyOf(d.File)
			continue
		}
		if key == "" || d.Code != "escape" {
			continue
		}
		e := escape{What: strings.TrimSuffix(d.Message, " escapes to heap"), Line: d.Range.Start.Line}
		places := []string{fmt.Sprintf("%s:%d", key, e.Line)}
		inlined := true
		for _, r := range d.Related {
			if r.Message == "inlineLoc" {
				// The compiler reports an allocation in an inlined function at the call. The first
				// related places say where it stands in the source, which is where the profile has
				// it. Later places belong to steps.
				if file, err := uriFile(r.Location.URI); inlined && err == nil {
					if k := s.keyOf(file); k != "" {
						places = append(places, fmt.Sprintf("%s:%d", k, r.Location.Range.Start.Line))
					}
				}
				continue
			}
			inlined = false
			if st, ok := parseStep(r.Message); ok {
				e.Flow = append(e.Flow, st)
			}
		}
		for _, p := range places {
			found[p] = append(found[p], e)
		}
	}
	return lines.Err()
}

// keyOf is the key in s.files of a file of this machine, or "" if its package was not loaded.
func (s *Module) keyOf(file string) string {
	for key, f := range s.files {
		if f.pkg.Fset.Position(f.syntax.Package).Filename == file {
			return key
		}
	}
	return ""
}

// parseStep reads "escflow:      from return x (return)".
func parseStep(message string) (step, bool) {
	text, ok := strings.CutPrefix(message, "escflow:")
	if !ok {
		return step{}, false
	}
	text, ok = strings.CutPrefix(strings.TrimSpace(text), "from ")
	open := strings.LastIndex(text, " (")
	if !ok || open < 0 {
		return step{}, false
	}
	return step{Code: text[:open], Why: strings.TrimSuffix(text[open+2:], ")")}, true
}

func uriFile(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", err
	}
	return filepath.FromSlash(u.Path), nil
}
