package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/freehold-go/freehold/benchmarks/internal/proof"
	"github.com/freehold-go/freehold/benchmarks/samples/load"
	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/evidence"
)

// module is the path of the module that the samples are in.
const module = "github.com/freehold-go/freehold/benchmarks"

// runsFile has the measurements of a program, beside its profiles.
const runsFile = "runs.json"

// harness has the built samples.
type harness struct {
	options
	ctx  context.Context
	root string // of the module
	bin  string
}

// build builds all samples, from whatever folder of the module the command was started in.
func build(ctx context.Context, o options) (*harness, error) {
	root, err := proof.ModuleRoot()
	if err != nil {
		return nil, err
	}
	bin, err := os.MkdirTemp("", "accuracy-bin")
	if err != nil {
		return nil, err
	}
	h := &harness{options: o, ctx: ctx, root: root, bin: bin}
	args := []string{"build", "-o", bin}
	if o.golden != "" {
		args = append(args, "-trimpath")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./samples/...")...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		h.close()
		return nil, fmt.Errorf("building the samples: %w\n%s", err, out)
	}
	return h, nil
}

func (h *harness) close() { os.RemoveAll(h.bin) }

// runs are the measurements of one program: seconds of CPU time for an operation.
type runs struct {
	Before []float64 `json:"before"`
	After  []float64 `json:"after"`
	// Setting is what the doctor proposed and the form after ran with.
	Setting []string `json:"setting,omitempty"`
}

// measure profiles both forms of a program and times them in turns.
func (h *harness) measure(p program) error {
	dir := filepath.Join(h.keep, p.name)
	path := filepath.Join(dir, runsFile)
	var r runs
	var err error
	if h.add {
		r, err = readRuns(path)
	} else {
		r, err = h.profile(p, dir)
	}
	if err != nil {
		return err
	}
	if r.Setting != nil {
		p.after = r.Setting
	}
	for range h.count {
		if p.finding == "" {
			break
		}
		b, err := h.child(p, false, "", 1)
		if err != nil {
			return err
		}
		a, err := h.child(p, true, "", 1)
		if err != nil {
			return err
		}
		r.Before, r.After = append(r.Before, b), append(r.After, a)
		fmt.Fprint(os.Stderr, ".")
	}
	return proof.WriteJSON(path, r)
}

// profile runs both forms with profiles, the second with the setting that the doctor proposes, if
// any.
func (h *harness) profile(p program, dir string) (r runs, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return r, err
	}
	if _, err := h.child(p, false, filepath.Join(dir, "before"), h.scale); err != nil || p.finding == "" {
		return r, err
	}
	before, err := diagnose(h.ctx, dir, p, false, load.Files)
	if err != nil {
		return r, err
	}
	if r.Setting = proposed(before, p); r.Setting != nil {
		p.after = r.Setting
	}
	_, err = h.child(p, true, filepath.Join(dir, "after"), h.scale)
	return r, err
}

func readRuns(path string) (r runs, err error) {
	err = proof.ReadJSON(path, &r)
	return r, err
}

// child runs a form once and returns its CPU time for an operation. A run with profiles does scale
// times the usual work.
func (h *harness) child(p program, after bool, profiles string, scale int) (float64, error) {
	env := p.before
	var args []string
	if after {
		env, args = p.after, append(args, "-after")
	}
	if profiles != "" {
		args = append(args, "-profiles", profiles)
	}
	if h.ops > 0 {
		args = append(args, "-ops", strconv.Itoa(h.ops))
	}
	if scale > 1 {
		args = append(args, "-times", strconv.Itoa(scale))
	}
	cmd := exec.CommandContext(h.ctx, filepath.Join(h.bin, p.name), args...)
	cmd.Env = append(proof.Clean(os.Environ()), env...)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s %s: %w\n%s", strings.Join(env, " "), strings.Join(cmd.Args[1:], " "), err, &complaint)
	}
	var result load.Result
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		return 0, fmt.Errorf("its result: %w", err)
	}
	if result.Ops == 0 || result.CPU == 0 {
		return 0, errors.New("it took no time")
	}
	return result.CPU / float64(result.Ops), nil
}

// proposed is the environment with the setting that the doctor proposes in the program's finding;
// nil if it proposes none.
func proposed(r *doctor.Report, p program) []string {
	for _, f := range r.Findings {
		if f.ID != p.finding {
			continue
		}
		var env []string
		for name, variable := range proposals {
			if v, ok := f.Evidence[name]; ok {
				env = append(env, fmt.Sprintf("%s=%.0f", variable, v))
			}
		}
		if env != nil {
			slices.Sort(env)
			return env
		}
	}
	return nil
}

// proposals are the names of evidence that is a proposal, with the variable that it is for.
var proposals = map[string]string{
	"proposed_gogc_percent": "GOGC",
	"proposed_limit_bytes":  "GOMEMLIMIT",
	"proposed_gomaxprocs":   "GOMAXPROCS",
}

// diagnose reads those files of one form, as files given to the doctor.
func diagnose(ctx context.Context, dir string, p program, after bool, files []string) (*doctor.Report, error) {
	form := "before"
	if after {
		form = "after"
	}
	e, err := evidenceIn(filepath.Join(dir, form), files)
	if err != nil {
		return nil, err
	}
	e.Source = p.name + ", " + form + " the change"
	return doctor.Diagnose(ctx, e), nil
}

func evidenceIn(dir string, files []string) (*evidence.Evidence, error) {
	root, err := proof.ModuleRoot()
	if err != nil {
		return nil, err
	}
	e := &evidence.Evidence{Main: module, Root: root, Go: runtime.Version()}
	for _, name := range files {
		f, err := os.Open(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w; -judge needs what an earlier run kept with -keep", err)
		}
		if err != nil {
			return nil, err
		}
		err = e.Read(name, f)
		f.Close()
		if err != nil {
			return nil, err
		}
	}
	return e, nil
}
