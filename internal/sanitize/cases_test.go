// SPDX-License-Identifier: Apache-2.0

//go:build (asan || msan || valgrind || race) && linux && (amd64 || arm64)

package sanitize_test

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/sanitize"
)

// A row is a program and what the sanitizers say of it. A program is a function that this test
// binary runs in a process of its own.
type row struct {
	name string
	run  func()
	// What a report must contain, by kind; nothing means that there must be none.
	asan, msan, valgrind, race []string
}

// node is what the programs keep in a block.
type node struct{ a, b, c uint64 }

const nodeSize = 24

// all are the rows of this build.
var all []row

// child names the row that the process is to run.
const child = "FREEHOLD_SANITIZE_ROW"

func TestMain(m *testing.M) {
	if name := os.Getenv(child); name != "" {
		all[slices.IndexFunc(all, func(r row) bool { return r.name == name })].run()
		fmt.Println("ended")
		return
	}
	os.Exit(m.Run())
}

// sink keeps what the programs read.
var sink uint64

// start runs the row's program and returns what it wrote.
func (r row) start(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(self)
	if sanitize.Kind == "valgrind" {
		path, err := exec.LookPath("valgrind")
		if err != nil {
			t.Skip("no valgrind here; make sanitizers installs it")
		}
		command = exec.Command(path, "-q", "--error-exitcode=9", "--vex-guest-chase=no", "--leak-check=no", "--suppressions=valgrind.supp", self)
	}
	command.Env = append(os.Environ(), child+"="+r.name)
	if sanitize.Kind == "valgrind" { // It takes the frames that preempted goroutines get for accesses beyond the stack.
		command.Env = append(command.Env, "GODEBUG=asyncpreemptoff=1")
	}
	out, err := command.CombinedOutput()
	text := string(out)
	if bad := r.want() != nil; bad == (err == nil) {
		t.Errorf("the program ended with %v, and wrote\n%s", err, text)
	}
	return text
}

// want is what the sanitizer at hand must say.
func (r row) want() []string {
	switch sanitize.Kind {
	case "asan":
		return r.asan
	case "msan":
		return r.msan
	case "valgrind":
		return r.valgrind
	}
	return r.race
}

// debugInfo reports whether this binary can tell sanitizers the names of its functions. The go
// command leaves that out of tests that it does not keep.
func debugInfo(t *testing.T) bool {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return f.Section(".debug_info") != nil || f.Section(".zdebug_info") != nil
}

// check runs the rows and compares.
func check(t *testing.T, rows []row) {
	if sanitize.Enabled && !debugInfo(t) {
		t.Skip("the reports name no functions without debug information: add -o with a file to go test, or run make sanitizers")
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			text := r.start(t)
			for _, part := range r.want() {
				if !strings.Contains(text, part) {
					t.Fatalf("no %q in\n%s", part, text)
				}
			}
			if r.want() == nil && text != "ended\n" {
				t.Errorf("a correct program is reported:\n%s", text)
			}
		})
	}
}
