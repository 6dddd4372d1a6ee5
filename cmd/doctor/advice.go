// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// advise makes the two lines, the one first that saves more. There are none without CPU times.
func (a *account) advise(r *Report) []Advice {
	if r.Confidence == None {
		return []Advice{}
	}
	list := []Advice{a.adviseNow(r), a.adviseCode(r)}
	slices.SortStableFunc(list, func(x, y Advice) int { return cmp.Compare(y.Gain.Best(), x.Gain.Best()) })
	return list
}

// adviseNow is the line about the setting.
func (a *account) adviseNow(r *Report) Advice {
	now := Advice{Part: Now, Text: a.tinyHeap(r)}
	// A setting that is a mistake comes before one that could be better.
	best := mostOf(r.Findings, func(f *Finding) bool { return f.setting && f.ID != tooOftenID })
	if best == nil {
		best = mostOf(r.Findings, func(f *Finding) bool { return f.setting })
	}
	if best != nil {
		now.take(best)
		text, memory := firstSentence(best.Remedy.Text), ""
		if s, ok := proposedSetting(r.Settings); ok && (best.ID == tooOftenID || best.ID == limitID) {
			now.MoreBytes, memory = s.MoreBytes, " "+moreMemory(s)
		}
		now.Text += text + " " + now.saves() + memory + "."
		return now
	}
	for _, s := range slices.Backward(r.Settings) {
		if s.Gain.SameGOGC >= settingGain {
			now.Text += fmt.Sprintf("No setting is worth its memory: %s saves %s of CPU %s.", s.Name(), terminal.PercentError(s.Gain.SameGOGC, s.Gain.Error), moreMemory(s))
			return now
		}
	}
	switch {
	case a.pace.off() && a.pace.how != "":
		now.Text += "No setting saves CPU: the collector is off."
	default:
		now.Text += "No setting saves more than noise."
	}
	return now
}

// tinyFast is the number of collections a second from which the pace of a tiny heap needs a sentence.
const tinyFast = 50

// tinyHeap is a sentence on a heap that is collected often because it is tiny, "" for others.
func (a *account) tinyHeap(r *Report) string {
	if h := r.Heap; a.live+a.roots < smallestHeap && h.CyclesPerSecond >= tinyFast && !a.pace.limited {
		return fmt.Sprintf("Only %s are alive, so the heap is collected %s times a second. ", terminal.Bytes(a.live), terminal.Significant(h.CyclesPerSecond))
	}
	return ""
}

func moreMemory(s Setting) string { return "for " + s.Memory() + " more memory" }

// adviseCode is the line about the code: the finding that saves most, or what takes the time
// instead.
func (a *account) adviseCode(r *Report) Advice {
	code := Advice{Part: InCode}
	best := mostOf(r.Findings, func(f *Finding) bool { return !f.setting && f.Severity != SeverityInfo && f.own >= mediumGain })
	if best == nil {
		where, _ := a.elsewhere()
		code.Text = "No change of memory saves CPU: " + where + "."
		if !a.idle() {
			code.Text += " Look at that: go tool pprof -top, or -list FUNCTION."
		}
		return code
	}
	code.take(best)
	at := ""
	if code.Site.File != "" {
		at = fmt.Sprintf("%s:%d ", filepath.Base(filepath.ToSlash(code.Site.File)), code.Site.Line)
	}
	if code.Site.Func != "" {
		at += stack.ShortName(code.Site.Func)
	}
	code.Text = fmt.Sprintf("%s takes %s of CPU. %s %s.", cmp.Or(at, "This"), terminal.Percent(min(best.CPUShare, 1)), firstSentence(best.Remedy.Text), code.saves())
	return code
}

// take fills in what an Advice has from its finding.
func (v *Advice) take(f *Finding) {
	v.Finding, v.Gain, v.Try = f.ID, f.Gain, f.Remedy.Snippet
	v.Site = f.Owner
	if v.Site.Func == "" {
		v.Site = f.Site
	}
	best := f.Gain.Best()
	v.Vague = best <= f.Gain.Error || best+f.Gain.Error >= 1
}

// Gains in words.
const (
	muchGain = 0.3
	goodGain = 0.1
)

// saves says what the gain is: in figures, or in a word if the figures would say nothing.
func (v *Advice) saves() string {
	best := v.Gain.Best()
	switch {
	case !v.Vague:
		return "Saves " + terminal.PercentError(best, v.Gain.Error) + " of CPU"
	case best >= muchGain:
		return "Saves much of the CPU"
	case best >= goodGain:
		return "Saves a good part of the CPU"
	}
	return "Saves little"
}

// mostOf is the finding with the largest gain among those that has accepts, nil if none has a gain.
func mostOf(findings []Finding, has func(*Finding) bool) (best *Finding) {
	for i := range findings {
		if f := &findings[i]; has(f) && f.own > 0 && (best == nil || f.own > best.own) {
			best = f
		}
	}
	return best
}

// firstSentence is the beginning of a text up to its first full stop before a space.
func firstSentence(s string) string {
	if i := strings.Index(s, ". "); i >= 0 {
		return s[:i+1]
	}
	return s
}

// feasible is a gain whose interval ends below all of the CPU. An interval that reaches further is
// cut to the part that can be, and its middle is the gain.
func (g Gain) feasible() Gain {
	best := g.Best()
	if over := best + g.Error - mostGain; over > 0 && best < mostGain {
		part := 1 - over/2/best
		g.SameGOGC, g.SameMemory, g.Error = g.SameGOGC*part, g.SameMemory*part, g.Error-over/2
	}
	return g
}

// mostGain is the largest gain that a change can have: something must be left of a program.
const mostGain = 0.99
