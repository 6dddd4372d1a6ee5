// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"sync"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// Sprintf formats as [fmt.Sprintf] does and returns the text as a string in a. The text takes just
// its bytes, and nothing of the Go heap but what fmt.Sprintf takes for the arguments. Methods of the
// arguments, such as String, may use a: the text is made after them. Sprintf panics as [New] does.
func Sprintf(a *Arena, format string, args ...any) string {
	s, err := sprintf("Sprintf", a, format, args...)
	must(err)
	return s
}

// TrySprintf is [Sprintf] that returns an error if there is no memory, instead of panicking.
func TrySprintf(a *Arena, format string, args ...any) (string, error) {
	return sprintf("TrySprintf", a, format, args...)
}

func sprintf(op string, a *Arena, format string, args ...any) (string, error) {
	if a == nil {
		return fmt.Sprintf(format, args...), nil
	}
	a.check(op)
	w := textWriters.Get().(*textWriter)
	w.op, w.a = op, a
	_, err := fmt.Fprintf(w, format, args...)
	text := w.text
	*w = textWriter{}
	textWriters.Put(w)
	return text, err
}

// A textWriter makes what it is given a string in an arena. Package fmt formats into a buffer of its
// own, which it uses again, and writes it once, at the end: no method of an argument runs later.
type textWriter struct {
	op   string
	a    *Arena
	text string
}

// textWriters spares each call an object on the Go heap.
var textWriters = sync.Pool{New: func() any { return new(textWriter) }}

// Write copies p to the arena, behind the text of earlier calls.
func (w *textWriter) Write(p []byte) (int, error) {
	text, err := concat(w.op, w.a, []string{w.text, unsafex.StringOf(unsafex.DataOf(p), len(p))})
	if err != nil {
		return 0, err
	}
	w.text = text
	return len(p), nil
}
