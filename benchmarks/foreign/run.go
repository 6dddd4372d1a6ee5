package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
	"github.com/freehold-go/freehold/benchmarks/internal/proof"
)

// program builds, profiles and times one program.
func (h *harness) program(p program) error {
	k := kept{Forms: map[string][]load.Result{}}
	path := filepath.Join(h.dir(p), runsFile)
	if h.add {
		if err := proof.ReadJSON(path, &k); err != nil {
			return err
		}
	}
	binary, err := h.binary(p)
	if err != nil {
		return err
	}
	if _, err := os.Stat(binary); !h.add || errors.Is(err, fs.ErrNotExist) {
		if err := h.build(p); err != nil {
			return err
		}
		fmt.Fprint(os.Stderr, "built ")
	}
	if !h.add {
		k.Program, k.Module, k.Version, k.Env = p.name, p.module, p.version, p.env
		k.Go, k.Machine = runtime.Version(), fmt.Sprintf("%s/%s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
		for _, dir := range []string{profilesDir, againDir} {
			if k.Profile, err = h.profile(p, dir); err != nil {
				return err
			}
		}
		fmt.Fprint(os.Stderr, "profiled ")
	}
	for range h.count {
		if err := h.round(p, &k); err != nil {
			return err
		}
		if err := proof.WriteJSON(path, k); err != nil {
			return err
		}
		fmt.Fprint(os.Stderr, ".")
	}
	return proof.WriteJSON(path, k)
}

// round runs each form once. Every second round has the opposite order, so that a machine that
// gets slower or faster favours no form.
func (h *harness) round(p program, k *kept) error {
	forms := p.forms()
	results := make([]load.Result, len(forms))
	for i := range forms {
		if len(k.Forms[formBase])%2 == 1 {
			i = len(forms) - 1 - i
		}
		var err error
		if results[i], err = h.child(p, forms[i], ""); err != nil {
			return fmt.Errorf("%s: %w", forms[i].name, err)
		}
	}
	for i, f := range forms { // a round that fails leaves nothing
		k.Forms[f.name] = append(k.Forms[f.name], results[i])
	}
	return nil
}

// profile runs a program with profiles, in an empty folder for them.
func (h *harness) profile(p program, dir string) (r load.Result, err error) {
	profiles := filepath.Join(h.dir(p), dir)
	if err := os.RemoveAll(profiles); err != nil {
		return r, err
	}
	if err := os.MkdirAll(profiles, 0o777); err != nil {
		return r, err
	}
	if err := h.makeInput(p); err != nil {
		return r, err
	}
	return h.child(p, p.forms()[0], profiles)
}

// makeInput makes the input of a command, in an empty folder.
func (h *harness) makeInput(p program) error {
	if p.kind != command || p.command.prepare == nil {
		return nil
	}
	if err := os.RemoveAll(h.input(p)); err != nil {
		return err
	}
	if err := os.MkdirAll(h.input(p), 0o777); err != nil {
		return err
	}
	if err := p.command.prepare(h.input(p)); err != nil {
		return fmt.Errorf("its input: %w", err)
	}
	return nil
}

// profileTimes is how many times the usual work a library does in the run with profiles: at 1 to 3
// seconds that is enough for 500 samples of the CPU.
const profileTimes = 5

// child runs a form once.
func (h *harness) child(p program, f form, profiles string) (r load.Result, err error) {
	binary, err := h.binary(p)
	if err != nil {
		return r, err
	}
	cmd := exec.CommandContext(h.ctx, binary, h.args(p, f, profiles)...)
	cmd.Env = append(proof.Clean(os.Environ()), f.env...)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if p.kind == command {
		cmd.Dir = h.input(p)
	}
	begin := time.Now()
	if err := cmd.Run(); err != nil && !(p.kind == command && p.command.accepts(cmd)) {
		return r, fmt.Errorf("%s %s: %w\n%s%s", strings.Join(f.env, " "), strings.Join(cmd.Args, " "), err, tail(out.Bytes()), tail(complaint.Bytes()))
	}
	if p.kind == command {
		r = usage(cmd.ProcessState, max(p.command.ops, 1), time.Since(begin))
	} else if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return r, fmt.Errorf("its result: %w", err)
	}
	if r.Ops == 0 || r.CPU == 0 {
		return r, errors.New("it took no time")
	}
	return r, nil
}

func (h *harness) args(p program, f form, profiles string) (args []string) {
	if p.kind == command {
		if profiles != "" {
			return p.command.profile(h.input(p), profiles)
		}
		return p.command.args(h.input(p))
	}
	if f.after {
		args = append(args, "-after")
	}
	if profiles != "" {
		args = append(args, "-profiles", profiles)
	}
	if profiles != "" && p.kind == library && h.ops == 0 {
		args = append(args, "-times", strconv.Itoa(profileTimes))
	}
	if h.ops > 0 {
		args = append(args, "-ops", strconv.Itoa(h.ops))
	}
	return args
}

// usage is what a command's process took, with the children that it waited for.
func usage(s *os.ProcessState, ops int, wall time.Duration) load.Result {
	return load.Result{Ops: ops, CPU: (s.UserTime() + s.SystemTime()).Seconds(), Wall: wall.Seconds(), Peak: peak(s)}
}

// tail is the end of what a program said.
func tail(text []byte) string {
	return string(text[max(0, len(text)-2000):])
}
