// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"slices"
)

// Run compares A and B until the interval of each comparison is tight, or the budget ends. If ctx
// is cancelled, the report holds the measurements until then, and says so. An error is one line,
// followed by the end of a failing program's output if there is one.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.prepare(); err != nil {
		return nil, err
	}
	finding, err := o.chooseFinding()
	if err != nil {
		return nil, err
	}
	w, err := newWorkshop()
	if err != nil {
		return nil, err
	}
	defer w.close()
	contests, notes, err := w.contests(ctx, &o)
	if err == nil {
		err = run(ctx, contests, &o)
	}
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	contests = slices.DeleteFunc(contests, func(c *contest) bool { return c == nil }) // one that was interrupted while it was prepared
	return newReport(&o, contests, notes, finding, ctx.Err() != nil), nil
}

// contests prepares the contests.
func (w *workshop) contests(ctx context.Context, o *Options) ([]*contest, []string, error) {
	switch o.kind() {
	case KindVersions:
		return w.versionContests(ctx, o)
	case KindServers:
		c, err := serverContest(ctx, o)
		return []*contest{c}, nil, err
	case KindBenchmarks:
		var binaries [2]*testBinary
		for i, what := range [2]string{o.A, o.B} {
			var err error
			if binaries[i], err = w.binary(ctx, i, what, o); err != nil {
				return nil, nil, err
			}
		}
		return benchContests(ctx, binaries, o)
	case KindRevisions:
		binaries, err := w.revisions(ctx, o)
		if err != nil {
			return nil, nil, err
		}
		return benchContests(ctx, binaries, o)
	}
	var sides [2]side
	for i, line := range [2]string{o.A, o.B} {
		var err error
		if sides[i], err = newCommandSide(sideNames[i], line); err != nil {
			return nil, nil, err
		}
	}
	return []*contest{{per: "process", pair: inTurn(sides), traces: true, warm: true}}, nil, nil
}

// revisions makes the test binaries of two revisions.
func (w *workshop) revisions(ctx context.Context, o *Options) (binaries [2]*testBinary, err error) {
	r, err := openRepository(ctx, o.Package)
	if err != nil {
		return binaries, err
	}
	names, commits := [2]string{o.A, o.B}, [2]string{}
	for i, name := range names {
		if name == WorkingTree {
			continue
		}
		if commits[i], err = r.commit(ctx, name); err != nil {
			return binaries, err
		}
	}
	if err := r.checkDirty(ctx, names, commits); err != nil {
		return binaries, err
	}
	for i := range names {
		if binaries[i], err = w.revision(ctx, i, r, names[i], commits[i], o); err != nil {
			return binaries, err
		}
	}
	return binaries, nil
}
