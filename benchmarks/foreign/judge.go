package main

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/freehold-go/freehold/benchmarks/internal/proof"
	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/doctor/collect"
)

// outcome is what came of one program.
type outcome struct {
	program
	report  *doctor.Report
	again   *doctor.Report // on a second run's profiles, nil if there was none
	now     doctor.Advice  // the two lines that stand first
	code    doctor.Advice
	harmful []rejection
	rows    []row // settings that were measured
	changed *row  // the change that was measured
	kept    *kept
}

// rightFirst reports whether the two lines hold what an expert would do first.
func (o *outcome) rightFirst() bool {
	sets, changes := o.now.Finding != "", o.code.Finding != ""
	switch o.answer {
	case winsCode:
		return o.rightLine()
	case winsSetting:
		return o.rightSetting()
	case winsBoth:
		return o.rightLine() && o.rightSetting()
	case winsNothing:
		return !sets && !changes
	}
	return slices.ContainsFunc(o.right, func(right string) bool {
		switch right {
		case settings:
			return sets
		case "not-gc":
			return !changes
		}
		return o.code.Finding == right
	})
}

// aboutChange reports whether the line about the code is the line that the change edits.
func (o *outcome) aboutChange() bool {
	if o.answer != "" {
		return o.rightLine()
	}
	return o.code.Finding == o.applied.finding
}

// lineSlack is how many lines the doctor's line may lie from an expert's: a call may stand on several.
const lineSlack = 2

// rightLine reports whether the line about the code is the expert's.
func (o *outcome) rightLine() bool {
	file, number, _ := strings.Cut(o.advice.line, ":")
	line, err := strconv.Atoi(number)
	at := o.code.Site
	return err == nil && o.code.Finding != "" && path.Base(filepath.ToSlash(at.File)) == file && max(at.Line-line, line-at.Line) <= lineSlack
}

// rightSetting reports whether the line about the setting has the expert's, or a neighbour of it: half
// or twice the GOGC, or a limit that differs by at most a quarter.
func (o *outcome) rightSetting() bool {
	gogc, limit := settingsOf(strings.Fields(o.advice.now))
	for _, s := range o.report.Settings {
		if !s.Proposed || o.now.Finding == "" {
			continue
		}
		if limit > 0 {
			return s.MemoryLimit >= 0.75*limit && s.MemoryLimit <= 1.25*limit
		}
		return s.GOGC >= gogc/2 && s.GOGC <= 2*gogc
	}
	return false
}

// same reports whether two runs gave the same lines: the same setting, and the same line of code.
func (o *outcome) same() bool {
	now, code := lines(o.again)
	return now.Try == o.now.Try && code.Site == o.code.Site
}

// lines are the two lines that stand first, the one about the setting and the one about the code.
func lines(r *doctor.Report) (now, code doctor.Advice) {
	for _, v := range r.First {
		if v.Part == doctor.Now {
			now = v
		} else {
			code = v
		}
	}
	return now, code
}

// judge compares the report on a kept program with the measurements and the judgement.
func judge(ctx context.Context, keep string, p program) (*outcome, error) {
	o := &outcome{program: p, kept: new(kept)}
	if err := proof.ReadJSON(filepath.Join(keep, p.name, runsFile), o.kept); err != nil {
		return nil, err
	}
	v, err := diagnose(ctx, filepath.Join(keep, p.name, profilesDir))
	if err != nil {
		return nil, err
	}
	o.report, o.harmful = v, rejected(v, p)
	o.now, o.code = lines(v)
	if _, err := os.Stat(filepath.Join(keep, p.name, againDir)); err == nil {
		if o.again, err = diagnose(ctx, filepath.Join(keep, p.name, againDir)); err != nil {
			return nil, err
		}
	}
	for _, f := range p.forms()[1:] {
		r, ok := o.kept.compare(f.name)
		if !ok {
			continue
		}
		if r.program = p.name; f.after {
			if r.absent = !o.aboutChange(); !r.absent {
				r.predict(o.code, p.applied.sameMemory)
			}
			o.changed = &r
			continue
		}
		r.predictSetting(v, p.env, f.env)
		o.rows = append(o.rows, r)
	}
	return o, nil
}

// diagnose has the doctor read what a run kept, as freehold doctor FOLDER does.
func diagnose(ctx context.Context, dir string) (*doctor.Report, error) {
	e, err := collect.From(ctx, []string{dir}, nil, collect.Options{})
	if err != nil {
		return nil, err
	}
	e.Source = "the profiles of " + filepath.Base(filepath.Dir(dir))
	return doctor.Diagnose(ctx, e), nil
}

// rejected are the remedies of the report that an expert rejects. Information without an edit proposes
// nothing.
func rejected(v *doctor.Report, p program) (all []rejection) {
	for _, r := range p.harmful {
		if r.id == settings {
			if slices.ContainsFunc(v.Settings, func(s doctor.Setting) bool { return s.Proposed && s.GOGC != 0 && s.MemoryLimit == 0 }) {
				all = append(all, r)
			}
			continue
		}
		if slices.ContainsFunc(v.Findings, func(f doctor.Finding) bool {
			return f.ID == r.id && (f.Severity != doctor.SeverityInfo || f.Remedy.Snippet != "") && strings.Contains(f.Remedy.Text, r.remedy)
		}) {
			all = append(all, r)
		}
	}
	return all
}
