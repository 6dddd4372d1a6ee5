package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/benchmarks/internal/proof"
	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/doctor/collect"
)

// outcome is what came of one program.
type outcome struct {
	program
	report  *doctor.Report
	first   string // what stands first: settings or an id
	harmful []rejection
	rows    []row // settings that were measured
	changed *row  // the change that was measured
	kept    *kept
}

func (o *outcome) rightFirst() bool { return slices.Contains(o.right, o.first) }

// judge compares the report on a kept program with the measurements and the judgement.
func judge(ctx context.Context, keep string, p program) (*outcome, error) {
	o := &outcome{program: p, kept: new(kept)}
	if err := proof.ReadJSON(filepath.Join(keep, p.name, runsFile), o.kept); err != nil {
		return nil, err
	}
	v, err := diagnose(ctx, filepath.Join(keep, p.name))
	if err != nil {
		return nil, err
	}
	o.report, o.first, o.harmful = v, first(v), rejected(v, p)
	for _, f := range p.forms()[1:] {
		r, ok := o.kept.compare(f.name)
		if !ok {
			continue
		}
		if r.program = p.name; f.after {
			r.predict(v, p.applied)
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
	e, err := collect.From(ctx, []string{filepath.Join(dir, "profiles")}, nil, collect.Options{})
	if err != nil {
		return nil, err
	}
	e.Source = "the profiles of " + filepath.Base(dir)
	return doctor.Diagnose(ctx, e), nil
}

// first is what the report puts first. A finding about settings stands for the rows of settings.
func first(r *doctor.Report) string {
	if len(r.Findings) == 0 {
		if slices.ContainsFunc(r.Settings, func(s doctor.Setting) bool { return s.Proposed }) {
			return settings
		}
		return "none"
	}
	switch id := r.Findings[0].ID; id {
	case "gc-too-often", "limit-thrash":
		return settings
	default:
		return id
	}
}

// rejected are the remedies of the report that an expert rejects.
func rejected(v *doctor.Report, p program) (all []rejection) {
	for _, r := range p.harmful {
		if r.id == settings {
			if slices.ContainsFunc(v.Settings, func(s doctor.Setting) bool { return s.Proposed && s.GOGC != 0 && s.MemoryLimit == 0 }) {
				all = append(all, r)
			}
			continue
		}
		if slices.ContainsFunc(v.Findings, func(f doctor.Finding) bool {
			return f.ID == r.id && strings.Contains(f.Remedy.Text, r.remedy)
		}) {
			all = append(all, r)
		}
	}
	return all
}
