package bench

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// isTerminal says whether w is a terminal, which gets colours and a progress line that overwrites itself.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// A progressLine tells what is being measured: one line that is rewritten on a terminal, a line now and then in a log.
type progressLine struct {
	out      io.Writer
	terminal bool
	last     time.Time
}

// logEvery keeps a log of a full run readable.
const logEvery = 10 * time.Second

func (p *progressLine) show(e event) {
	line := fmt.Sprintf("[%d/%d] pass %d, %.0f s: %s, %s, %s", e.done, e.total, e.pass+1, e.elapsed.Seconds(),
		e.job.w.Name, e.job.w.placeText(e.job.n, e.job.input.Name), e.job.c.Name)
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%s", line)
		return
	}
	if time.Since(p.last) >= logEvery {
		p.last = time.Now()
		fmt.Fprintln(p.out, line)
	}
}

func (p *progressLine) end() {
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
