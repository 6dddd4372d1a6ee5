// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/cmd/compare/child"
)

// variants prepares both sides for the package.
func (w *workshop) variants(ctx context.Context, pkg, dir string, o *Options) (both [2]*variant, notes []string, err error) {
	path, versions, _ := o.module()
	for i := range both {
		v := &variant{name: "compare: " + sideNames[i], dir: dir}
		var labels []string
		release := of(o.Go, i)
		if o.GoLine {
			v.goLine = release
		}
		if of(versions, i) != "" {
			labels = append(labels, path+" "+of(versions, i))
		}
		o.progress(v.name + ": preparing " + strings.TrimSpace(strings.Join(append(slices.Clone(labels), release), " ")))
		if err := v.moduleFiles(ctx, filepath.Join(w.temp, sideNames[i]+".mod"), path, of(versions, i)); err != nil {
			return both, nil, err
		}
		if v.uses, err = v.modules(ctx, pkg, o.Bench != ""); err != nil {
			return both, nil, err
		}
		if release != "" {
			labels = append(labels, release)
			if err := v.use(ctx, release); err != nil {
				return both, nil, err
			}
		}
		if i == 1 && len(o.Env) > 0 {
			labels, v.env = append(labels, strings.Join(o.Env, " ")), append(v.env, o.Env...)
		}
		v.label = strings.Join(labels, ", ")
		both[i] = v
	}
	return both, differences(both[0].uses, both[1].uses), nil
}

// versionContests prepares the contests of one program in two versions.
func (w *workshop) versionContests(ctx context.Context, o *Options) ([]*contest, []string, error) {
	if o.Bench != "" {
		dir, err := child.GoOutput(ctx, "", nil, "list", "-f", "{{.Dir}}", "--", o.A)
		if err != nil {
			return nil, nil, fmt.Errorf("compare: %q is no package: %w", o.A, err)
		}
		both, notes, err := w.variants(ctx, ".", dir, o)
		if err != nil {
			return nil, nil, err
		}
		var binaries [2]*testBinary
		for i, v := range both {
			o.progress(v.name + ": building the tests with " + v.label)
			if binaries[i], err = w.build(ctx, i, ".", v); err != nil {
				return nil, nil, err
			}
			binaries[i].pkg = o.A
			o.label(i, v.label)
		}
		contests, more, err := benchContests(ctx, binaries, o)
		return contests, append(notes, more...), err
	}
	env, args, err := child.ParseWords(o.A)
	if err != nil {
		return nil, nil, fmt.Errorf("compare: %q: %w", o.A, err)
	}
	name, err := child.GoOutput(ctx, "", nil, "list", "-f", "{{.Name}}", "--", args[0])
	isMain := err == nil && name == "main"
	if !isMain && (len(o.Go) > 0 || o.With != "") {
		return nil, nil, fmt.Errorf("compare: %q is no main package; -go and -with build what they compare: name a package such as ./cmd/program, or with -bench one that has benchmarks", args[0])
	}
	both, notes := [2]*variant{{name: "compare: A"}, {name: "compare: B", env: o.Env, label: strings.Join(o.Env, " ")}}, []string(nil)
	if isMain {
		if both, notes, err = w.variants(ctx, args[0], "", o); err != nil {
			return nil, nil, err
		}
	}
	var sides [2]side
	for i, v := range both {
		program := args[0]
		if isMain {
			o.progress(v.name + ": building " + args[0] + " with " + v.label)
			program = filepath.Join(w.temp, sideNames[i]+".exe")
			if _, err := v.goCommand(ctx, slices.Concat([]string{"build", "-o", program}, v.flags, []string{"--", args[0]})...); err != nil {
				return nil, nil, fmt.Errorf("%s: build %s: %w", v.name, args[0], err)
			}
		}
		o.label(i, v.label)
		sides[i] = &commandSide{child.Process{Name: v.name, Args: append([]string{program}, args[1:]...), Env: append(slices.Clone(env), v.run()...)}}
	}
	return []*contest{{per: "process", pair: inTurn(sides), traces: true, warm: true}}, notes, nil
}

// label notes in the report what is special about a side.
func (o *Options) label(i int, text string) {
	if text == "" {
		text = "as it is"
	}
	o.labels[i] = text
}
