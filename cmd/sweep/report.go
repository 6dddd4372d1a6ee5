// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/freehold-go/freehold/cmd/compare/child"
	"github.com/freehold-go/freehold/cmd/compare/pairs"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// ReportVersion is the version of the report's JSON. It changes when a field changes its meaning or goes away, not when one is added.
const ReportVersion = 1

// A Report is the result of Run. Its JSON is a stable contract, described in docs/sweep.md.
type Report struct {
	Version int `json:"version"`
	// Command is the program, as one would start it.
	Command     string `json:"command"`
	Environment string `json:"environment"`
	// Rounds is the number of rounds that count; the ratios of each row have as many pairs.
	Rounds      int  `json:"rounds"`
	Interrupted bool `json:"interrupted"`
	// Baseline is the setting that the others are compared with.
	Baseline Setting `json:"baseline"`
	// Rows are in the order of the peak RSS, and of the CPU time where it is equal.
	Rows []Row `json:"rows"`
	// Knee is the index of the row beyond which more memory saves little, and Best that of the row within the bound of memory that takes the
	// least CPU time; both are -1 if there is none.
	Knee int `json:"knee"`
	Best int `json:"best"`
	// KneeAlso are the indexes of the rows that could be the knee as well, as far as these rounds tell.
	KneeAlso []int `json:"knee_also"`
	// Memory is the bound that was asked for, in bytes, or 0.
	Memory int64 `json:"memory"`
	// Verdict is the answer in one line, and Paste has the lines that put it to use.
	Verdict string      `json:"verdict"`
	Paste   [][2]string `json:"paste"`
	Notes   []string    `json:"notes"`
}

// A Row is what one setting costs.
type Row struct {
	Setting
	// CPU and Wall are medians in seconds, PeakRSS in bytes, 0 if the system does not report it.
	CPU     float64 `json:"cpu"`
	Wall    float64 `json:"wall"`
	PeakRSS float64 `json:"peak_rss"`
	// CPURatio and RSSRatio compare the row with the baseline: GOGC=100, unless settings were given.
	CPURatio Ratio `json:"cpu_ratio"`
	RSSRatio Ratio `json:"rss_ratio"`
	// Collections is the number of collections of a run that the program did not ask for.
	Collections int `json:"collections"`
	// Dominated says that another row takes less of both, or as much of one and less of the other.
	Dominated bool `json:"dominated"`
	// The values of the rounds.
	CPUs  []float64 `json:"cpus"`
	Walls []float64 `json:"walls"`
	RSSs  []float64 `json:"rsss"`
}

// A Ratio has the bounds of its 95 % interval; they are 0 if there are too few rounds.
type Ratio struct {
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// The rule for the knee: doubling the memory must save a tenth of the CPU time.
const worth = 0.10

// alike is how much two figures may differ and still count as the same.
const alike = 0.01

func newReport(o *Options, p program, rows []*row, done int, interrupted bool) *Report {
	r := &Report{
		Version: ReportVersion, Command: p.command(), Rounds: done, Interrupted: interrupted, Memory: o.Memory, Knee: -1, Best: -1, KneeAlso: []int{}, Notes: []string{}, Paste: [][2]string{},
		Environment: child.Machine(), Baseline: rows[0].setting,
	}
	for _, one := range rows {
		first := rows[0]
		r.Rows = append(r.Rows, Row{
			Setting: one.setting, Collections: one.cycles,
			CPU: terminal.Median(one.cpu[:done]), Wall: terminal.Median(one.wall[:done]), PeakRSS: terminal.Median(one.rss[:done]),
			CPURatio: ratio(first.cpu[:done], one.cpu[:done]), RSSRatio: ratio(first.rss[:done], one.rss[:done]),
			CPUs: one.cpu[:done], Walls: one.wall[:done], RSSs: one.rss[:done],
		})
	}
	why := noEffect(rows)
	byMemory(r.Rows)
	if why == "" {
		markDominated(r.Rows)
	}
	if why != "" {
		r.Notes = append(r.Notes, why)
	} else if r.Rows[0].PeakRSS > 0 {
		r.Knee = knee(r.Rows)
		r.Best = best(r.Rows, float64(o.Memory))
		r.doubt()
	}
	if done < leastRounds {
		r.Notes = append(r.Notes, fmt.Sprintf("%d rounds are too few for intervals; %d are the fewest", done, leastRounds))
	}
	r.decide()
	return r
}

// byMemory sorts rows by the peak RSS, and by the CPU time where it is equal.
func byMemory(rows []Row) {
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.PeakRSS, b.PeakRSS), cmp.Compare(a.CPURatio.Ratio, b.CPURatio.Ratio))
	})
}

func markDominated(rows []Row) {
	for i := range rows {
		rows[i].Dominated = slices.ContainsFunc(rows, func(other Row) bool { return other.dominates(&rows[i]) })
	}
}

func ratio(a, b []float64) Ratio {
	i, ok := pairs.Ratio(a, b, pairs.Usual)
	if !ok {
		return Ratio{}
	}
	if !i.Known() {
		return Ratio{Ratio: i.Ratio}
	}
	return Ratio(i)
}

// dominates reports whether r takes less than other of CPU time or memory, and not more of the other one.
func (r *Row) dominates(other *Row) bool {
	if r.CPURatio.Ratio == 0 || other.CPURatio.Ratio == 0 {
		return false
	}
	cpu, rss := r.CPURatio.Ratio/other.CPURatio.Ratio, 1.0
	if other.RSSRatio.Ratio > 0 {
		rss = r.RSSRatio.Ratio / other.RSSRatio.Ratio
	}
	return cpu <= 1 && rss <= 1 && (cpu < 1-alike || rss < 1-alike)
}

// knee is the row beyond which more memory saves little. It goes along the lower hull of the CPU time over the logarithm of the memory, as
// long as the next step saves a tenth of the CPU time for each doubling.
func knee(rows []Row) int {
	var hull []int
	for i := range rows {
		if rows[i].Dominated || rows[i].CPURatio.Ratio == 0 {
			continue
		}
		for len(hull) >= 2 && saving(rows, hull[len(hull)-2], hull[len(hull)-1]) <= saving(rows, hull[len(hull)-2], i) {
			hull = hull[:len(hull)-1]
		}
		hull = append(hull, i)
	}
	if len(hull) == 0 {
		return -1
	}
	at := hull[0]
	for k := 1; k < len(hull); k++ {
		if saving(rows, hull[k-1], hull[k]) < -math.Log2(1-worth) {
			break
		}
		at = hull[k]
	}
	return at
}

// How the doubt about the knee is found: a row that is the knee in a tenth of the resamples could be it.
const (
	resamples = 200
	doubtful  = resamples / 10
	mostDoubt = 100 // of more rounds than these the knee is taken as certain; resamples would take seconds
)

// doubt finds the rows that could be the knee as well, by the bootstrap (B. Efron, Bootstrap methods: another look at the jackknife, 1979):
// it draws as many rounds as there are, with repetition, and looks for the knee again.
func (r *Report) doubt() {
	if r.Rounds < leastRounds || r.Rounds > mostDoubt {
		return
	}
	random := rand.New(rand.NewPCG(1, 2)) // the same report for the same rounds
	first := slices.IndexFunc(r.Rows, func(row Row) bool { return row.Setting == r.Baseline })
	drawn := make([]int, r.Rounds)
	draw := func(values []float64) []float64 {
		list := make([]float64, len(drawn))
		for i, round := range drawn {
			list[i] = values[round]
		}
		return list
	}
	was := map[Setting]int{}
	for range resamples {
		for i := range drawn {
			drawn[i] = random.IntN(r.Rounds)
		}
		rows := make([]Row, len(r.Rows))
		cpu, rss := draw(r.Rows[first].CPUs), draw(r.Rows[first].RSSs)
		for i := range r.Rows {
			again := draw(r.Rows[i].RSSs)
			rows[i] = Row{Setting: r.Rows[i].Setting, PeakRSS: terminal.Median(again), CPURatio: ratio(cpu, draw(r.Rows[i].CPUs)), RSSRatio: ratio(rss, again)}
		}
		byMemory(rows)
		markDominated(rows)
		if at := knee(rows); at >= 0 {
			was[rows[at].Setting]++
		}
	}
	var names []string
	for i := range r.Rows {
		if s := r.Rows[i].Setting; i != r.Knee && was[s] >= doubtful {
			r.KneeAlso = append(r.KneeAlso, i)
			names = append(names, s.String())
		}
	}
	if len(names) > 0 {
		r.Notes = append(r.Notes, "the runs scatter: as far as they tell, the knee could also be "+strings.Join(names, " or ")+"; more -rounds tell more")
	}
}

// saving is how many times the CPU time halves from one row to another for each doubling of the memory.
func saving(rows []Row, from, to int) float64 {
	doublings := math.Log2(rows[to].RSSRatio.Ratio / rows[from].RSSRatio.Ratio)
	return math.Log2(rows[from].CPURatio.Ratio/rows[to].CPURatio.Ratio) / max(doublings, alike)
}

// best is the row within a bound of memory that takes the least CPU time.
func best(rows []Row, bound float64) int {
	at := -1
	for i := range rows {
		if bound > 0 && rows[i].CPURatio.Ratio > 0 && slices.Max(rows[i].RSSs) <= bound && (at < 0 || rows[i].CPURatio.Ratio < rows[at].CPURatio.Ratio) {
			at = i
		}
	}
	return at
}

// noEffect says why the settings change nothing, if they do not: no collection ran under any, or the goals of the heap are alike, although
// GOGC differed by four times at least.
func noEffect(rows []*row) string {
	most, asked, shown, peak := 0, span{}, span{}, 0.0
	for _, r := range rows {
		most = max(most, r.cycles)
		n, err := strconv.ParseFloat(r.setting.GOGC, 64)
		if err == nil && n > 0 && n <= 100 {
			peak = max(peak, r.peak)
		}
		if err == nil && n > 0 && r.gogc > 0 {
			asked.add(n)
			shown.add(r.gogc)
		}
	}
	switch {
	case most == 0 && peak > large:
		return fmt.Sprintf("the setting does not take: no collection ran although the process took %s. The program switches the collector off (debug.SetGCPercent(-1)), or it is no Go program", terminal.Bytes(peak))
	case most == 0:
		return "no collection ran under any setting: the program's heap is small, or it is no Go program; no setting changes what it costs"
	case asked.high >= 4*asked.low && asked.low > 0 && shown.high < 1.5*shown.low:
		return fmt.Sprintf("the setting does not take: by the heap's goals GOGC was %.0f to %.0f, whatever the environment had. The program sets GOGC itself (debug.SetGCPercent): change it there",
			shown.low, shown.high)
	}
	return ""
}

// large is the memory at which a Go program with GOGC=100 has collected.
const large = 128 << 20

// A span is the least and the largest of some figures.
type span struct{ low, high float64 }

func (s *span) add(v float64) {
	if s.low == 0 || v < s.low {
		s.low = v
	}
	s.high = max(s.high, v)
}

// decide writes the verdict.
func (r *Report) decide() {
	at := r.Knee
	switch {
	case r.Knee < 0 && len(r.Notes) > 0:
		r.Verdict = r.Notes[0]
		return
	case r.Knee < 0:
		r.Verdict = "the memory is not known on this system, so there is no knee"
		return
	case r.Memory > 0 && r.Best < 0:
		r.Verdict = fmt.Sprintf("no setting stays within %s; the least is %s with %s", terminal.Bytes(float64(r.Memory)), terminal.Bytes(slices.Max(r.Rows[0].RSSs)), r.Rows[0].Setting)
		return
	case r.Memory > 0:
		at = r.Best
		r.Verdict = fmt.Sprintf("%s takes the least CPU time within %s: ", r.Rows[at].Setting, terminal.Bytes(float64(r.Memory)))
	default:
		r.Verdict = fmt.Sprintf("%s is the knee: beyond it, twice the memory saves less than %s of the CPU time; ", r.Rows[at].Setting, terminal.Percent(worth))
	}
	row := &r.Rows[at]
	r.Verdict += fmt.Sprintf("%s of the CPU time and %s of the memory of %s", terminal.Percent(row.CPURatio.Ratio), terminal.Percent(row.RSSRatio.Ratio), r.Baseline)
	r.Paste = append(r.Paste, row.Setting.paste(r.Command)...)
	if row.GOGC == "off" {
		r.Notes = append(r.Notes, "with GOGC=off the collector runs near the limit alone: if live data come close to it, collections follow one another and take the CPU. Leave room above what the program took here, or let gctune set both")
	}
}

// WriteJSON writes the report as one indented JSON object.
func (r *Report) WriteJSON(out io.Writer) error { return terminal.WriteJSON(out, "sweep", r) }
