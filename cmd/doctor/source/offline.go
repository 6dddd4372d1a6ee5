package source

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// modFlag is a word of GOFLAGS that says where packages come from.
var modFlag = regexp.MustCompile(`(^|\s)['"]?--?mod=\S*`)

// offline is the environment in which the go command reads the source at root. It fetches nothing,
// neither modules nor a toolchain, and changes neither go.mod nor go.sum, whatever the user's own
// settings allow; what these say otherwise, such as build tags, stays.
func offline(ctx context.Context, root string) []string {
	// The last value of a variable counts. The go command fetches private modules without GOPROXY,
	// unless GONOPROXY says otherwise.
	env := append(os.Environ(), "GOPROXY=off", "GONOPROXY=none", "GOVCS=*:off", "GOTOOLCHAIN=local")
	cmd := exec.CommandContext(ctx, "go", "env", "GOFLAGS", "GOWORK") // which knows of "go env -w", too
	cmd.Dir, cmd.Env = root, env
	out, err := cmd.Output()
	if err != nil {
		out = []byte(os.Getenv("GOFLAGS"))
	}
	flags, work, _ := strings.Cut(string(out), "\n")
	flags = modFlag.ReplaceAllString(strings.TrimSpace(flags), "")
	top := root
	if work = strings.TrimSpace(work); work != "" && work != "off" {
		top = filepath.Dir(work)
	}
	// The go command uses a folder vendor by default. Without such a folder, readonly is the
	// default since Go 1.16. The flag is set all the same, because an empty GOFLAGS in the
	// environment does not count, and that of "go env -w" would.
	if _, err := os.Stat(filepath.Join(top, "vendor")); err != nil {
		flags += " -mod=readonly"
	}
	return append(env, "GOFLAGS= "+strings.TrimSpace(flags))
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
