package bench

import "fmt"

// line is what the progress line says of an event.
func (e event) line() string {
	return fmt.Sprintf("[%d/%d] pass %d, %.0f s: %s, %s, %s", e.done, e.total, e.pass+1, e.elapsed.Seconds(),
		e.job.w.Name, e.job.w.PlaceText(e.job.n, e.job.input.Name), e.job.c.Name)
}
