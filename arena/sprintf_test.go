// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/offheap"
)

// A told is an argument whose text is that of a function.
type told func() string

func (f told) String() string { return f() }

// TestSprintf: the text is that of package fmt, and lies in the arena.
func TestSprintf(t *testing.T) {
	type args = []any
	long := strings.Repeat("long ", 5000)
	for name, a := range withNil() {
		for _, c := range []struct {
			format string
			args   args
		}{
			{"", nil}, {"plain", nil}, {"%d and %s", args{17, "x"}}, {"%s", args{long}}, {"%v %+v", args{point{1, 2}, args{1, "x"}}},
			{"%q|%x|%8.3f|%-5t|%c", args{"é", []byte("xyz"), 3.14159, true, 'ü'}}, {"%d", nil}, {"%z", args{1}}, {"none", args{2}},
			{"%v", args{told(func() string { panic("no text") })}},
		} {
			want := fmt.Sprintf(c.format, c.args...)
			for range 3 {
				s := Sprintf(a, c.format, c.args...)
				if s != want {
					t.Errorf("%s: %q gives %.60q, want %.60q", name, c.format, s, want)
				}
				if a != nil && !chunkless() && s != "" && !a.Owns(s) {
					t.Errorf("%s: %q is not in the arena", name, c.format)
				}
			}
		}
		a.Free()
	}
}

// TestSprintfArguments: the methods of arguments may use the arena.
func TestSprintfArguments(t *testing.T) {
	for _, k := range kinds {
		a := k.make()
		var made []string
		use := func(text string) told {
			return func() string {
				s := Sprintf(a, "<%s>", String(a, text))
				made = append(made, s)
				return s
			}
		}
		if s := Sprintf(a, "%v %d %v", use("one"), 5, use("two")); s != "<one> 5 <two>" || fmt.Sprint(made) != "[<one> <two>]" {
			t.Errorf("%s: %q, with %q on the way", k.name, s, made)
		}
		reset := told(func() string {
			a.Reset(GiveBack)
			return "reset"
		})
		if s := Sprintf(a, "%v, %d", reset, 5); s != "reset, 5" {
			t.Errorf("%s: %q", k.name, s)
		}
		free := told(func() string {
			a.Free()
			return "free"
		})
		wantPanic(t, k.name, func() { Sprintf(a, "%v", free) }, "arena: Sprintf on arena", "was freed", "_test.go:")
		wantPanic(t, k.name, func() { Sprintf(a, "%v", told(func() string { t.Error("formats for a freed arena"); return "" })) }, "arena: Sprintf on arena", "was freed")
	}
}

func TestSprintfLimit(t *testing.T) {
	for _, a := range []*Arena{NewWith(Options{Limit: 64 << 10}), NewFixed(64 << 10), NewWith(Options{Limit: 64 << 10, Shared: true})} {
		long := strings.Repeat("x", 1<<20)
		if s, err := tried(func() string { return Sprintf(a, "%s", long) }); s != "" || !errors.Is(err, offheap.ErrLimit) {
			t.Errorf("a text beyond the limit: %d bytes, %v", len(s), err)
		}
		if v := panicOf(func() { Sprintf(a, "%s", long) }); !isLimit(v) {
			t.Errorf("a text beyond the limit: %v", v)
		}
		if s := Sprintf(a, "%d", 5); s != "5" {
			t.Errorf("%q after a refusal", s)
		}
		a.Free()
	}
}

// TestSprintfGarbage: a text takes nothing of the Go heap.
func TestSprintfGarbage(t *testing.T) {
	chunked(t)
	reusing(t)
	if debugmode.Current().On() || sanitize.Race {
		t.Skip("a mode keeps values elsewhere, or the race detector makes sync.Pool drop objects")
	}
	a := NewArena()
	defer a.Free()
	args := []any{"some text", 12345, 2.5}
	if n := testing.AllocsPerRun(1000, func() {
		Sprintf(a, "%s and %d and %f, which together are longer than any buffer on a stack needs to be", args...)
		a.Reset(Keep)
	}); n >= 1 {
		t.Errorf("a text takes %v objects of the Go heap", n)
	}
}

// TestTextWriter: a text that comes in parts is put together.
func TestTextWriter(t *testing.T) {
	a := NewArena()
	defer a.Free()
	w := &textWriter{a: a}
	buf := []byte("one ")
	for range 2 {
		if n, err := w.Write(buf); n != 4 || err != nil {
			t.Error(n, err)
		}
		copy(buf, "two ")
	}
	if copy(buf, "xxxx"); w.text != "one two " {
		t.Errorf("%q", w.text)
	}
}
