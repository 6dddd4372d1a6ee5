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
	if a == nil {
		return fmt.Sprintf(format, args...)
	}
	a.check("Sprintf")
	w := textWriters.Get().(*textWriter)
	w.a = a
	_, err := fmt.Fprintf(w, format, args...)
	text := w.text
	*w = textWriter{}
	textWriters.Put(w)
	must(err)
	return text
}

// A textWriter makes what it is given a string in an arena. Package fmt formats into a buffer of its
// own, which it uses again, and writes it once, at the end: no method of an argument runs later.
type textWriter struct {
	a    *Arena
	text string
}

// textWriters spares each call an object on the Go heap.
var textWriters = sync.Pool{New: func() any { return new(textWriter) }}

// Write copies p to the arena, behind the text of earlier calls.
func (w *textWriter) Write(p []byte) (int, error) {
	text, err := concat("Sprintf", w.a, []string{w.text, unsafex.StringOf(unsafex.DataOf(p), len(p))})
	if err != nil {
		return 0, err
	}
	w.text = text
	return len(p), nil
}
