// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime/debug"
	"slices"
	"testing"
)

// contained are the modules that the command and its tests may contain. Each costs every user
// compile time and disk. A decoder or an allocator that is only compared with ours belongs to the
// module benchmarks.
var contained = []string{
	"github.com/aclements/go-moremath",
	"github.com/clipperhouse/uax29/v2", // or rivo/uniseg, by the version of go-runewidth
	"github.com/freehold-go/freehold",
	"github.com/go-json-experiment/json", // jsontext
	"github.com/google/pprof",
	"github.com/jedib0t/go-pretty/v6",
	"github.com/klauspost/compress",
	"github.com/mattn/go-runewidth",
	"github.com/mattn/go-shellwords",
	"github.com/rivo/uniseg",
	"github.com/rogpeppe/go-internal",
	"github.com/urfave/cli/v3",
	"golang.org/x/mod",
	"golang.org/x/perf",
	"golang.org/x/sync",
	"golang.org/x/sys",
	"golang.org/x/term",
	"golang.org/x/text",
	"golang.org/x/tools",
}

// TestModules finds a dependency that the command has got unnoticed.
func TestModules(t *testing.T) {
	info, ok := debug.ReadBuildInfo()
	if !ok || len(info.Deps) == 0 {
		t.Fatal("the binary has no build information")
	}
	for _, m := range info.Deps {
		if !slices.Contains(contained, m.Path) {
			t.Errorf("the command contains %s", m.Path)
		}
	}
}
