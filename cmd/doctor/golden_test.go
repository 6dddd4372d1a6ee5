// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/internal/profiletest"
)

// files are what a program under testdata has written: its CPU profile, and heap profiles and
// metrics from both ends of the window.
var files = []string{"cpu.pb.gz", "heap0.pb.gz", "heap1.pb.gz", "metrics0.json", "metrics1.json"}

// warning is the finding that gains nothing, so that others come before it.
const warning = "pointer-free-ballast"

// TestGolden diagnoses real profiles of one program for each finding. benchmarks/samples has their
// sources. The findings, their sites and gains are in report.txt beside the profiles; -update
// writes it anew. A program's own finding must be in one of the two first lines, unless it is a
// warning. This command made the profiles:
//
//	cd benchmarks && GOFLAGS=-trimpath go run ./accuracy -golden ../cmd/doctor/testdata
func TestGolden(t *testing.T) {
	for _, r := range append([]recogniser{notGC}, recognisers...) {
		t.Run(r.id, func(t *testing.T) {
			if r.id == "field-order" && bits.UintSize == 32 {
				t.Skip("the source is laid out for this machine, and the profiles are of a 64-bit one")
			}
			report := diagnosePatiently(goldenEvidence(t, r.id))
			first := slices.ContainsFunc(report.First, func(v Advice) bool { return v.Finding == r.id })
			if findingOf(report, r.id) == nil || !first && r.id != warning && r.id != notGC.id {
				t.Errorf("%s is not in the first lines: %+v", r.id, report.First)
			}
			for _, v := range report.First { // A screen of 24 lines has room for both.
				if n := len([]rune(v.Text)); n > 4*70 {
					t.Errorf("%d characters: %s", n, v.Text)
				}
			}
			got := goldenText(report, r.id)
			file := filepath.Join("testdata", r.id, "report.txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s\nIf that is right, go test ./doctor -run TestGolden -update writes it", got, want)
			}
		})
	}
}

// diagnosePatiently is Diagnose with more time to read the source: with an empty build cache the go
// command compiles the imported packages.
func diagnosePatiently(e *evidence.Evidence) *Report {
	a := newAccount(e)
	a.src.limit = 8 * time.Minute
	return diagnose(a)
}

// goldenEvidence reads a program's files, and gives it its source if that lies beside them.
func goldenEvidence(t *testing.T, id string) *evidence.Evidence {
	t.Helper()
	e := keptEvidence(t, id, files...)
	if archive, err := txtar.ParseFile(filepath.Join("testdata", id, "source.txtar")); err == nil {
		e.Root = t.TempDir()
		profiletest.Unpack(t, archive, e.Root)
		if strconv.IntSize == 32 {
			t.Setenv("GOARCH", "amd64") // which the program ran on: structs have another layout here
		}
	}
	return e
}

// goldenText is a report in short: the ids of all findings, and in full the finding that the
// program stands for.
func goldenText(r *Report, id string) string {
	var b strings.Builder
	b.WriteString("found:")
	for _, f := range r.Findings {
		b.WriteString(" " + f.ID)
	}
	b.WriteByte('\n')
	for _, f := range r.Findings {
		if f.ID != id {
			continue
		}
		fmt.Fprintf(&b, "\n%s\nseverity: %s\n", f.Title, f.Severity)
		if f.Site.Func != "" {
			fmt.Fprintf(&b, "site: %s:%d\nowner: %s:%d\n", f.Site.Func, f.Site.Line, f.Owner.Func, f.Owner.Line)
		}
		fmt.Fprintf(&b, "gain: %.0f %% at the same GOGC, %.0f %% in the same memory, ± %.0f %%\n%s\n%s\n\n%s\n",
			100*f.Gain.SameGOGC, 100*f.Gain.SameMemory, 100*f.Gain.Error, f.Detail, f.Remedy.Text, f.Remedy.Snippet)
		break
	}
	return b.String()
}

// keptEvidence reads some of a program's files.
func keptEvidence(t *testing.T, id string, files ...string) *evidence.Evidence {
	t.Helper()
	e := &evidence.Evidence{Source: id, Main: "github.com/freehold-go/freehold/benchmarks"}
	for _, name := range files {
		f, err := os.Open(filepath.Join("testdata", id, name))
		if err != nil {
			t.Fatal(err)
		}
		err = e.Read(name, f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	return e
}
