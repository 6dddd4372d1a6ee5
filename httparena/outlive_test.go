// SPDX-License-Identifier: Apache-2.0

package httparena

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/internal/checks/testenv"
)

// What a handler keeps for longer than it may.
var (
	keptText  string
	keptEntry *entry
)

type entry struct {
	name *string
	next *entry
}

func keepText(_ http.ResponseWriter, r *http.Request) {
	keptText = arena.Concat(arena.FromContext(r.Context()), "for ", r.URL.Path)
}

func keepEntry(_ http.ResponseWriter, r *http.Request) {
	a := arena.FromContext(r.Context())
	keptEntry = arena.New[entry](a)
	keptEntry.name, keptEntry.next = new(string), arena.New[entry](a)
}

//go:noinline
func readText() byte { return keptText[0] }

//go:noinline
func readEntry() (name string) {
	if keptEntry.name != nil { // Where memory is reused it is nil by now.
		name = *keptEntry.name
	}
	return name
}

// outlives are the handlers, and what uses a value after them.
var outlives = map[string]struct {
	handler http.HandlerFunc
	use     func()
	report  string // What its first line has. The page docs/adapters.md shows that of the first.
}{
	"Text": {keepText, func() { _ = readText() },
		"freehold: use after Pool.Put: access at the start of a block of 6 bytes (string, arena 1) that was freed\n"},
	"Entry": {keepEntry, func() { _ = readEntry() },
		"freehold: use after Pool.Put: access through a pointer out of a block of "},
}

// outlive is the program that the tests below start.
func outlive(name string) {
	c := outlives[name]
	h := Handler(c.handler, Options{})
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/x", nil))
	c.use()
}

func TestMain(m *testing.M) {
	if name := os.Getenv("HTTPARENA_TEST_OUTLIVE"); name != "" {
		outlive(name)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// run starts the program in a mode and returns how it ended and what it said.
func run(t *testing.T, name, mode string) (failed bool, stderr string) {
	t.Helper()
	var b strings.Builder
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "HTTPARENA_TEST_OUTLIVE="+name, "FREEHOLD="+mode)
	child.Stderr = &b
	err := child.Run()
	return err != nil, b.String()
}

// TestOutlive: in guard mode the use of a value that outlived its request is reported, and without
// it nothing happens.
func TestOutlive(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reports of faults are tested on Linux")
	}
	if freehold.Modes().Heap {
		t.Skip("with the kill switch no mode finds anything")
	}
	testenv.StartsPrograms(t)
	for name, c := range outlives {
		t.Run(name, func(t *testing.T) {
			failed, said := run(t, name, "guard")
			if !failed {
				t.Errorf("nothing was found; it said %q", said)
			}
			for _, want := range []string{c.report, "accessed by", "httparena.read" + name, "allocated", "httparena.keep" + name,
				"freed by", "httparena.(*handler).ServeHTTP"} {
				if !strings.Contains(said, want) {
					t.Errorf("the report does not say %q:\n%s", want, said)
				}
			}
			if failed, said := run(t, name, ""); failed || said != "" {
				t.Errorf("without a mode it said %q", said)
			}
		})
	}
}
