// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"strings"
	"testing"
)

var sinkText string

// builds are the ways to make a text of 13 bytes from two parts.
var builds = []struct {
	name  string
	build func(a *Arena, x, y string) string
}{
	{"+", func(_ *Arena, x, y string) string { return x + y }},
	{"strings.Builder", func(_ *Arena, x, y string) string {
		var b strings.Builder
		b.WriteString(x)
		b.WriteString(y)
		return b.String()
	}},
	{"Builder of the nil arena", func(_ *Arena, x, y string) string {
		b := NewBuilder(nil)
		_, _ = b.WriteString(x)
		_, _ = b.WriteString(y)
		return b.String()
	}},
	{"Builder", func(a *Arena, x, y string) string {
		b := NewBuilder(a)
		_, _ = b.WriteString(x)
		_, _ = b.WriteString(y)
		return b.String()
	}},
	{"Concat", func(a *Arena, x, y string) string { return Concat(a, x, y) }},
}

// BenchmarkBuild builds texts of 13 bytes from two parts, a thousand before the arena is reset. The
// bound writes them to one slice of bytes.
func BenchmarkBuild(b *testing.B) {
	x, y := strings.Repeat("x", 6), strings.Repeat("y", 7)
	const texts = 1000
	for _, w := range builds {
		b.Run(w.name, func(b *testing.B) {
			a := NewArena()
			defer a.Free()
			for i := 0; b.Loop(); i++ {
				if sinkText = w.build(a, x, y); i%texts == 0 {
					a.Reset(Keep)
				}
			}
		})
	}
	b.Run("one Builder", func(b *testing.B) {
		a := NewArena()
		defer a.Free()
		t := NewBuilder(a)
		for i := 0; b.Loop(); i++ {
			_, _ = t.WriteString(x)
			_, _ = t.WriteString(y)
			sinkText = t.String()
			t.Reset()
			if i%texts == 0 {
				a.Reset(Keep)
			}
		}
	})
	b.Run("bound", func(b *testing.B) {
		buf := make([]byte, 0, 13*texts)
		for b.Loop() {
			if len(buf) == cap(buf) {
				buf = buf[:0]
			}
			buf = append(append(buf, x...), y...)
		}
	})
}
