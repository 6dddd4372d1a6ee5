// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"

	"github.com/freehold-go/freehold/cmd/terminal"
)

// line is the text of the progress line for an event.
func (e event) line() string {
	return fmt.Sprintf("[%d/%d] pass %d, %s: %s, %s, %s", e.done, e.total, e.pass+1, terminal.Elapsed(e.elapsed),
		e.job.w.Name, e.job.w.PlaceText(e.job.n, e.job.input.Name), e.job.c.Name)
}
