package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// An answer names what wins, and its line is in the driver.
func TestAdvice(t *testing.T) {
	for _, p := range programs {
		if p.answer == "" {
			if p.advice != (advice{}) || p.gains != nil {
				t.Errorf("%s has advice or gains, and no answer", p.name)
			}
			continue
		}
		a := p.advice
		setting, code := a.now != "", a.line != "" && p.applied != nil
		switch p.answer {
		case winsCode:
			setting = false // it may be there, as the smaller part
		case winsNothing:
			code = false // a line whose cost is not memory
		}
		if want := map[answer][2]bool{winsCode: {false, true}, winsSetting: {true, false}, winsBoth: {true, true}, winsNothing: {}}[p.answer]; want != [2]bool{setting, code} {
			t.Errorf("%s: the answer is %q, the advice %+v, the change %v", p.name, p.answer, a, p.applied)
		}
		if (a.line == "") != (a.do == "") || (a.line == "") != (a.text == "") {
			t.Errorf("%s: the line, its text and what to do belong together: %+v", p.name, a)
		}
		if a.line != "" && !strings.Contains(lineOf(t, p), a.text) {
			t.Errorf("%s: %s is %q; want %q in it", p.name, a.line, lineOf(t, p), a.text)
		}
		checkGains(t, p)
	}
}

// lineOf is the text of the line that the advice names.
func lineOf(t *testing.T, p program) string {
	file, number, _ := strings.Cut(p.advice.line, ":")
	text, err := os.ReadFile(filepath.Join("programs", p.folder(), file))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(lines) {
		t.Fatalf("%s: %q is no line", p.name, p.advice.line)
	}
	return lines[n-1]
}

// checkGains checks that each form of the program has a measured gain, and nothing else has one.
func checkGains(t *testing.T, p program) {
	t.Helper()
	for _, f := range p.forms()[1:] {
		if !slices.ContainsFunc(p.gains, func(g gain) bool { return g.form == f.name }) {
			t.Errorf("%s: the gain of %s is not measured", p.name, f.name)
		}
	}
	for _, g := range p.gains {
		if !slices.ContainsFunc(p.forms(), func(f form) bool { return f.name == g.form && f.name != formBase }) {
			t.Errorf("%s has a gain of %q, which is no form of it", p.name, g.form)
		}
		if g.rounds < 5 || g.low > g.saves || g.saves > g.high || g.high >= 100 {
			t.Errorf("%s: %+v", p.name, g)
		}
	}
}

// The examination has fourteen programs, of four kinds, and none of their modules is known from
// another group.
func TestExamination(t *testing.T) {
	known, kinds := map[string]bool{}, map[answer]int{}
	for _, p := range programs {
		if p.answer == "" {
			known[p.module] = true
		}
	}
	for _, p := range examination {
		if kinds[p.answer]++; known[p.module] {
			t.Errorf("%s: %s is known already", p.name, p.module)
		}
	}
	if len(examination) != 14 || len(kinds) != 4 || kinds[""] > 0 {
		t.Errorf("%d programs: %v", len(examination), kinds)
	}
}
