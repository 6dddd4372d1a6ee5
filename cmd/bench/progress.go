// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"fmt"
	"time"

	"github.com/freehold-go/freehold/cmd/terminal"
)

// line is the text of the progress line for an event.
func (e event) line() string {
	return fmt.Sprintf("[%d/%d] pass %d, %s%s: %s, %s, %s", e.done, e.total, e.pass+1, terminal.Elapsed(e.elapsed), e.left(),
		e.job.w.Name, e.job.w.PlaceText(e.job.n, e.job.input.Name), e.job.c.Name)
}

// left says how long the run still takes, if its passes take as long as those that are done.
func (e event) left() string {
	if e.pass == 0 {
		return "" // The workloads differ, so their first pass says nothing of the others.
	}
	began := e.done - 1
	return ", " + terminal.Elapsed(e.elapsed*time.Duration(e.total-began)/time.Duration(began)) + " left"
}

// outlook says how long a run takes, before it begins.
func (p *plan) outlook() string {
	if p.limited {
		return fmt.Sprintf("bench: the quick selection, at most %v. Ctrl-C reports what was measured.", quickLimit)
	}
	var all time.Duration
	for _, j := range p.jobs {
		all += time.Duration(p.passesOf(j)) * cmp.Or(j.w.Child, usualChild)
	}
	return fmt.Sprintf("bench: %d child processes in %d passes, about %s on an idle machine. Ctrl-C reports what was measured.", p.children(), p.passes, terminal.Elapsed(all))
}
