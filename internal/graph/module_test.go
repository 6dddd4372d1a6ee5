// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"os/exec"
	"strings"
	"testing"
)

// TestModuleLikeStandard has a program in a module with the name of a package of the standard
// library, as "go mod init log" makes one.
func TestModuleLikeStandard(t *testing.T) {
	for pkg, want := range map[string]string{"log/slog": "", "log/cmd/try": "", "log": "", "main": "log", "log.example/x": "log.example/x"} {
		if got := moduleAmong(pkg, []string{"log"}, "log"); got != want {
			t.Errorf("%s is of %q, want %q", pkg, got, want)
		}
	}
	if testing.Short() {
		return
	}
	list, err := exec.Command("go", "list", "std").Output()
	if err != nil {
		t.Skip(err)
	}
	for _, pkg := range strings.Fields(string(list)) {
		if first, _, _ := strings.Cut(pkg, "/"); !standard[first] {
			t.Errorf("the standard library has %s, which standard lacks", pkg)
		}
	}
}

func TestModuleAmong(t *testing.T) {
	modules, main := []string{"github.com/a/b_test", "github.com/a/b/sub", "github.com/a/b", "app"}, "app"
	for pkg, want := range map[string]string{
		"github.com/a/b": "github.com/a/b", "github.com/a/b/c": "github.com/a/b", "github.com/a/b/sub/x": "github.com/a/b/sub",
		"github.com/a/b_test": "github.com/a/b_test", "github.com/a/b_test/c": "github.com/a/b_test", "github.com/a/b/c_test": "github.com/a/b",
		"github.com/a/bc/d/e": "github.com/a/bc", "app": "app", "app/x": "app", "app_test": "app", "main": "app", "application": "",
		"command-line-arguments_test": "app", "time": "", "net/http": "", "log/slog": "", "example.com": "example.com",
	} {
		if got := moduleAmong(pkg, modules, main); got != want {
			t.Errorf("%s is of %q, want %q", pkg, got, want)
		}
	}
	if got := moduleAmong("main", nil, ""); got != "main" {
		t.Errorf("main is of %q", got)
	}
	for function, want := range map[string]string{
		"main.main": "main", "a.com/b.v2/c%2ed.(*T).M": "a.com/b.v2/c.d", "a/b.F[go.shape.*x/y.Z]": "a/b", "a/b.F.func1": "a/b", "": "",
	} {
		if got := PackageOf(function); got != want {
			t.Errorf("%s is of package %q, want %q", function, got, want)
		}
	}
}
