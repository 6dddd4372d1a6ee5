// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A kit is how to build a program with a sanitizer, and how to run it.
type kit struct {
	flags, env []string
	compiler   []string // Of C, those that will do.
	runner     []string // The command to run it by.
	variables  []string // For the program.
}

var kits = map[Mode]kit{
	Race: {flags: []string{"-race"}, env: []string{"CGO_ENABLED=1"}, compiler: []string{"gcc", "clang"}},
	ASan: {flags: []string{"-asan"}, env: []string{"CGO_ENABLED=1"}, compiler: []string{"gcc", "clang"}},
	MSan: {flags: []string{"-msan"}, env: []string{"CGO_ENABLED=1"}, compiler: []string{"clang", "clang-19", "clang-18", "clang-17", "clang-16", "clang-14"}},
	Valgrind: {flags: []string{"-tags=valgrind"}, env: []string{"CGO_ENABLED=1", "GOEXPERIMENT=nodwarf5"}, compiler: []string{"gcc", "clang"}, runner: []string{"valgrind", "-q", "--error-exitcode=9", "--leak-check=no", "--vex-guest-chase=no", "--suppressions=../../sanitize/valgrind.supp"},
		// A goroutine that is interrupted saves its registers below what Valgrind takes for its
		// stack.
		variables: []string{"GODEBUG=asyncpreemptoff=1"}},
}

// TestBuilds runs everything in programs that are built for sanitizers: those that the variable
// FREEHOLD_TEST_SANITIZERS names, with commas between them.
func TestBuilds(t *testing.T) {
	asked := strings.Split(os.Getenv("FREEHOLD_TEST_SANITIZERS"), ",")
	for _, m := range Builds {
		t.Run(string(m), func(t *testing.T) {
			if !slices.Contains(asked, string(m)) {
				t.Skip("not named by FREEHOLD_TEST_SANITIZERS")
			}
			k := kits[m]
			compiler := slices.IndexFunc(k.compiler, func(c string) bool { _, err := exec.LookPath(c); return err == nil })
			if compiler < 0 {
				t.Fatalf("none of the compilers %v is here", k.compiler)
			}
			program := build(t, append(k.env, "CC="+k.compiler[compiler]), k.flags...)
			command := append(slices.Clone(k.runner), program)
			each(t, func(t *testing.T, c *Case, v Variant) {
				c.judge(t, v, []Mode{m}, run(t, "", k.variables, append(slices.Clone(command), c.Name, string(v))...))
			})
		})
	}
}
