// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"errors"
	"fmt"
	"go/version"
	"slices"
	"strings"

	"golang.org/x/mod/module"
)

// One program, built in two ways: by two releases of Go, with two versions of a module, or in two environments. Each side has module
// files of its own in the workshop's folder, so that go.mod, go.sum and go.work stay as they are.

// Versions say how the two sides are built from one program.
type Versions struct {
	// Go has the releases of Go for A and B ("1.26.8"), or one for both.
	Go []string
	// GoLine sets the go line of each side to its release, and so the defaults of GODEBUG. Otherwise both keep those of the go line
	// that go.mod or go.work has.
	GoLine bool
	// With has a module with its versions for A and B: "example.com/m@v1.2.0,v1.3.0".
	With string
	// Env are variables that B has, "NAME=value", when it is built and when it runs.
	Env []string
}

// Any reports whether the sides are made from one program.
func (v *Versions) Any() bool { return len(v.Go) > 0 || v.With != "" || len(v.Env) > 0 || v.GoLine }

// check refuses versions that make no sense.
func (v *Versions) check() error {
	if len(v.Go) > 2 {
		return fmt.Errorf("compare: -go has %d releases; want two, or one for both sides", len(v.Go))
	}
	for i, release := range v.Go {
		v.Go[i] = "go" + strings.TrimPrefix(strings.TrimSpace(release), "go")
		if !version.IsValid(v.Go[i]) {
			return fmt.Errorf("compare: -go %q is no release of Go; want 1.27.4 or 1.28rc1", release)
		}
	}
	if v.GoLine && len(v.Go) == 0 {
		return errors.New("compare: -goline sets the go line to the release that -go names, and there is none")
	}
	for _, e := range v.Env {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" {
			return fmt.Errorf("compare: -env %q: want NAME=value", e)
		}
	}
	_, versions, err := v.module()
	if err != nil {
		return err
	}
	if len(v.Go) < 2 && len(versions) < 2 && len(v.Env) == 0 {
		return errors.New("compare: A and B would be the same; name two releases with -go, two versions with -with, or a variable with -env")
	}
	return nil
}

// module is the module of With, and its versions.
func (v *Versions) module() (path string, versions []string, err error) {
	if v.With == "" {
		return "", nil, nil
	}
	path, list, ok := strings.Cut(v.With, "@")
	versions = strings.Split(list, ",")
	if err := module.CheckPath(path); !ok || err != nil || len(versions) > 2 || slices.Contains(versions, "") {
		return "", nil, fmt.Errorf("compare: -with %q: want a module and two versions, such as example.com/m@v1.2.0,v1.3.0", v.With)
	}
	return path, versions, nil
}

// of is the value of side i in a list of one or two.
func of(list []string, i int) string {
	if len(list) == 0 {
		return ""
	}
	return list[min(i, len(list)-1)]
}
