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
	// The last value of a variable counts. A private module is fetched past GOPROXY, unless
	// GONOPROXY says otherwise.
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
	// A folder vendor is taken by itself. Without one the flag says what is so by itself since Go
	// 1.16; it makes the variable count, which does not if it is empty.
	if _, err := os.Stat(filepath.Join(top, "vendor")); err != nil {
		flags += " -mod=readonly"
	}
	return append(env, "GOFLAGS= "+strings.TrimSpace(flags))
}

// unfetched is what the go command says of modules that are not at hand.
var unfetched = regexp.MustCompile(`could not import|missing go\.sum entry|GOPROXY=off|updates to go\.(mod|sum) needed`)

// withCause adds to a problem that it is one for lack of a network, and how to mend it.
func withCause(problem string) string {
	if !unfetched.MatchString(problem) {
		return problem
	}
	return strings.TrimSuffix(problem, "; to add:") + "; the doctor fetches nothing: run go mod tidy and go mod download"
}
