// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/freehold-go/freehold/cmd/process"
)

// modFlag is a word of GOFLAGS that says where packages come from.
var modFlag = regexp.MustCompile(`(^|\s)['"]?--?mod=\S*`)

// settings are how the go command runs on the source.
type settings struct {
	root     string   // the folder that it runs in
	env      []string // its environment
	modules  string   // the folder of the cache of modules
	identity string   // the settings that decide what the compiler makes of a package, in text
}

// decisive are the go command's settings that decide what the compiler makes of a package.
var decisive = []string{"GOVERSION", "GOOS", "GOARCH", "GOEXPERIMENT", "CGO_ENABLED", "CC", "CGO_CFLAGS", "CGO_CPPFLAGS"}

// offline returns the settings under which the go command reads the source at root. It fetches
// nothing, neither modules nor a toolchain, and changes neither go.mod nor go.sum, whatever the
// user's own settings allow; other settings of the user, such as build tags, stay.
func offline(ctx context.Context, root string) settings {
	// The last value of a variable counts. The go command fetches private modules without GOPROXY,
	// unless GONOPROXY says otherwise.
	s := settings{root: root, env: append(os.Environ(), "PWD="+root, "GOPROXY=off", "GONOPROXY=none", "GOVCS=*:off", "GOTOOLCHAIN=local")}
	known := map[string]string{}
	out, err := s.command(ctx, append([]string{"env", "-json", "GOFLAGS", "GOWORK", "GOMODCACHE"}, decisive...)...).Output() // which knows of "go env -w", too
	if err == nil {
		err = json.Unmarshal(out, &known)
	}
	if err != nil {
		known["GOFLAGS"] = os.Getenv("GOFLAGS")
	}
	flags := modFlag.ReplaceAllString(strings.TrimSpace(known["GOFLAGS"]), "")
	top := root
	if work := known["GOWORK"]; work != "" && work != "off" {
		top = filepath.Dir(work)
	}
	// The go command uses a folder vendor by default. Without such a folder, readonly is the
	// default since Go 1.16. The flag is set all the same, because an empty GOFLAGS in the
	// environment does not count, and that of "go env -w" would.
	if _, err := os.Stat(filepath.Join(top, "vendor")); err != nil {
		flags += " -mod=readonly"
	}
	s.env = append(s.env, "GOFLAGS= "+strings.TrimSpace(flags))
	s.modules = known["GOMODCACHE"]
	if err == nil {
		for _, name := range decisive {
			s.identity += fmt.Sprintf("%s=%q ", name, known[name])
		}
		s.identity += fmt.Sprintf("%q", flags)
	}
	return s
}

// command is the go command with these arguments. If ctx ends, the compilers that it started end
// with it.
func (s *settings) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = s.root, s.env
	process.Own(cmd)
	return cmd
}

// unfetched matches the go command's messages about modules that are not on this machine.
var unfetched = regexp.MustCompile(`could not import|missing go\.sum entry|GOPROXY=off|updates to go\.(mod|sum) needed`)

// withCause adds to a problem that the doctor fetches no modules, and says how to fetch them.
func withCause(problem string) string {
	if !unfetched.MatchString(problem) {
		return problem
	}
	return strings.TrimSuffix(problem, "; to add:") + "; the doctor fetches nothing: run go mod tidy and go mod download"
}
