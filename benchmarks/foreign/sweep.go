package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/benchmarks/internal/proof"
	"github.com/freehold-go/freehold/cmd/sweep"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// How well freehold sweep finds the knee: each program is swept as users sweep it, and once more with as many rounds as the truth
// takes. What the second sweep says is the truth.

// swept are the programs, by their names in the lists. A command may have other arguments.
var swept = []struct {
	program string
	args    []string // in place of the list's; nil for those
	stuck   bool     // the program sets GOGC itself: the sweep must say so, and nothing more is measured
}{
	{program: "staticcheck"},
	{program: "hugo"},
	{program: "compile"},
	{program: "gin"},
	{program: "esbuild", args: []string{"--bundle", "--minify", "--sourcemap", "--outdir=out", "--log-level=error", "src/entry0.tsx"}, stuck: true},
}

const (
	truthRounds = 30
	sweepFile   = "sweep.json"
	truthFile   = "sweep-truth.json"
)

var sweepMarks = proof.Marks{Begin: "<!-- tables: go run ./foreign -sweep -->\n", End: "<!-- end of tables of swept programs -->\n"}

// sweepAll sweeps what was not swept yet in the kept folder, and reports whether a bar is missed.
func (h *harness) sweepAll() (missed bool, err error) {
	var outcomes []*sweepOutcome
	for _, s := range swept {
		i := slices.IndexFunc(programs, func(p program) bool { return p.name == s.program })
		p := programs[i]
		if !h.run.MatchString(p.name) {
			continue
		}
		o := &sweepOutcome{name: p.name, stuck: s.stuck}
		if o.usual, err = h.sweep(p, s.args, sweepFile, sweep.Options{}); err == nil && !s.stuck {
			o.truth, err = h.sweep(p, s.args, truthFile, sweep.Options{Rounds: truthRounds, Settings: o.settings()})
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", p.name, err)
		}
		outcomes = append(outcomes, o)
	}
	if len(outcomes) == 0 {
		return false, fmt.Errorf("-run %s: no program that is swept has such a name", h.run)
	}
	text, bars := sweepTables(outcomes)
	return proof.Publish(text, text, bars, sweepMarks, h.doc)
}

// sweep reads the report that is kept, or makes it.
func (h *harness) sweep(p program, args []string, file string, o sweep.Options) (r *sweep.Report, err error) {
	path := filepath.Join(h.dir(p), file)
	if err := proof.ReadJSON(path, &r); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if err := h.ready(p); err != nil {
		return nil, err
	}
	binary, err := h.binary(p)
	if err != nil {
		return nil, err
	}
	if p.kind == command {
		if args == nil {
			args = p.command.args(h.input(p))
		}
		// A linter that finds something fails, and none of these knows its folder by an argument.
		const script = `cd "$0" || exit; "$@"; code=$?; case " $CODES " in *" $code "*) exit 0; esac; exit $code`
		o.Command = slices.Concat(p.env, []string{"CODES=" + strings.Trim(fmt.Sprint(p.command.exits), "[]"), "sh", "-c", script, h.input(p), binary}, args)
		if len(p.env) > 0 {
			o.Prepare = "rm -rf '" + cache(p.name) + "'"
		}
	} else {
		address := filepath.Join(h.dir(p), "address")
		o.Command = slices.Concat(p.env, []string{binary, "-serve", address})
		o.Load = fmt.Sprintf("'%s' -load '%s'", binary, address)
	}
	o.Say = func(line string) { fmt.Fprintf(os.Stderr, "%s: %s\n", p.name, line) }
	if r, err = sweep.Run(h.ctx, o); err != nil {
		return nil, err
	}
	if r.Interrupted {
		return nil, errors.New("interrupted")
	}
	return r, proof.WriteJSON(path, r)
}

// ready builds a program and makes its input, if they are not there.
func (h *harness) ready(p program) error {
	binary, err := h.binary(p)
	if err != nil {
		return err
	}
	if _, err := os.Stat(binary); errors.Is(err, fs.ErrNotExist) {
		if err := h.build(p); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(h.dir(p), 0o777); err != nil {
		return err
	}
	if _, err := os.Stat(h.input(p)); err == nil {
		return nil
	}
	return h.makeInput(p)
}

// A sweepOutcome is what both sweeps of a program say.
type sweepOutcome struct {
	name         string
	stuck        bool
	usual, truth *sweep.Report // truth is nil if the program is stuck
}

// settings are those of the usual sweep, the one first that the others are compared with.
func (o *sweepOutcome) settings() []sweep.Setting {
	list := []sweep.Setting{o.usual.Baseline}
	for _, r := range o.usual.Rows {
		if r.Setting != o.usual.Baseline {
			list = append(list, r.Setting)
		}
	}
	return list
}

// right reports whether the usual sweep has the knee of the truth, or a neighbour whose interval overlaps; or says that the program
// is stuck. Rows that the user sees as dominated are nobody's neighbours.
func (o *sweepOutcome) right() bool {
	if o.stuck {
		return o.usual.Knee < 0 && strings.HasPrefix(o.usual.Verdict, "the setting does not take")
	}
	if o.usual.Knee < 0 || o.truth.Knee < 0 {
		return o.usual.Knee == o.truth.Knee
	}
	found, want := o.usual.Rows[o.usual.Knee].Setting, o.truth.Rows[o.truth.Knee].Setting
	if found == want {
		return true
	}
	choices := slices.DeleteFunc(slices.Clone(o.usual.Rows), func(r sweep.Row) bool { return r.Dominated })
	i, k := index(choices, found), index(choices, want)
	if k < 0 || i-k != 1 && k-i != 1 {
		return false
	}
	a, b := o.truth.Rows[index(o.truth.Rows, found)].CPURatio, o.truth.Rows[o.truth.Knee].CPURatio
	return a.Low <= b.High && b.Low <= a.High
}

func index(rows []sweep.Row, s sweep.Setting) int {
	return slices.IndexFunc(rows, func(r sweep.Row) bool { return r.Setting == s })
}

// cells counts the ratios of CPU time and memory, and those whose interval in the usual sweep has the truth.
func (o *sweepOutcome) cells() (inside, all int) {
	if o.truth == nil {
		return 0, 0
	}
	for _, u := range o.usual.Rows {
		if u.Setting == o.usual.Baseline {
			continue
		}
		t := o.truth.Rows[index(o.truth.Rows, u.Setting)]
		for _, c := range [][2]sweep.Ratio{{u.CPURatio, t.CPURatio}, {u.RSSRatio, t.RSSRatio}} {
			all++
			// The report shows three digits: what is equal in them is no miss.
			if rounded(c[0].Low) <= rounded(c[1].Ratio) && rounded(c[1].Ratio) <= rounded(c[0].High) {
				inside++
			}
		}
	}
	return inside, all
}

func rounded(ratio float64) float64 { return math.Round(ratio * 1000) }

// sweepTables writes a row for each program, and the bars.
func sweepTables(outcomes []*sweepOutcome) (string, []proof.Bar) {
	var w bytes.Buffer
	right, inside, all := 0, 0, 0
	var wrong []string
	fmt.Fprintf(&w, "| program | knee of a sweep | it could also be | knee of %d rounds | CPU time and memory there | cells inside |\n|---|---|---|---|---|---|\n", truthRounds)
	for _, o := range outcomes {
		in, n := o.cells()
		inside, all = inside+in, all+n
		if o.right() {
			right++
		} else {
			wrong = append(wrong, o.name)
		}
		if o.truth == nil {
			fmt.Fprintf(&w, "| %s | none: %s | – | – | – | – |\n", o.name, o.usual.Verdict)
			continue
		}
		there := "–"
		if o.truth.Knee >= 0 {
			row := &o.truth.Rows[o.truth.Knee]
			there = fmt.Sprintf("%s, %s", terminal.Percent(row.CPURatio.Ratio), terminal.Percent(row.RSSRatio.Ratio))
		}
		var also []string
		for _, i := range o.usual.KneeAlso {
			also = append(also, o.usual.Rows[i].Setting.String())
		}
		fmt.Fprintf(&w, "| %s | %s | %s | %s | %s | %d of %d |\n", o.name, kneeOf(o.usual), cmp.Or(strings.Join(also, "; "), "–"), kneeOf(o.truth), there, in, n)
	}
	bars := []proof.Bar{proof.NewBar("the knee, or a neighbour whose interval overlaps; a program that sets GOGC itself is called so", proof.Of(right, len(outcomes), wrong), right == len(outcomes))}
	if all > 0 {
		bars = append(bars, proof.NewBar("nine of ten cells inside", fmt.Sprintf("%d of %d", inside, all), 10*inside >= 9*all))
	}
	fmt.Fprintln(&w)
	proof.WriteBars(&w, bars)
	return w.String(), bars
}

func kneeOf(r *sweep.Report) string {
	if r.Knee < 0 {
		return "none"
	}
	return r.Rows[r.Knee].Setting.String()
}
