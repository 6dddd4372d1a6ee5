// SPDX-License-Identifier: Apache-2.0

package auto_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/gctune"
	_ "github.com/freehold-go/freehold/gctune/auto"
)

func TestRunsBeforeMain(t *testing.T) {
	s, ok := gctune.ReadStats()
	if !ok || s.Looks == 0 {
		t.Errorf("stats %+v, %v; want a tuner that has looked", s, ok)
	}
	t.Log(s)
	if _, err := gctune.Start(t.Context(), gctune.Options{}); err != gctune.ErrRunning {
		t.Errorf("error %v, want ErrRunning", err)
	}
}

// TestLinksLittle: a program with this import alone contains no allocator, and of other modules golang.org/x/sys alone.
func TestLinksLittle(t *testing.T) {
	const library = "github.com/freehold-go/freehold"
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("no go command, which lists what a package imports")
	} else if err != nil {
		t.Fatal(err)
	}
	found := strings.Fields(string(out))
	for _, path := range found {
		own, ours := strings.CutPrefix(path+"/", library+"/")
		switch {
		case ours:
			if own != "" && !strings.HasPrefix(own, "internal/") && !strings.HasPrefix(own, "gctune/") {
				t.Errorf("it imports %s", path)
			}
		case strings.Contains(strings.Split(path, "/")[0], "."):
			if !strings.HasPrefix(path, "golang.org/x/sys/") {
				t.Errorf("it imports %s", path)
			}
		}
	}
	if len(found) < 50 {
		t.Errorf("%d packages, want the standard library's among them", len(found))
	}
}
