// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

func TestWidth(t *testing.T) {
	for columns, want := range map[string]int{"": 110, "nonsense": 110, "-3": 110, "80": 80, "20": 60, "500": 140} {
		t.Setenv("COLUMNS", columns)
		if got := Width(&bytes.Buffer{}); got != want {
			t.Errorf("COLUMNS=%q: width %d, want %d", columns, got, want)
		}
	}
}

// TestLog: an output that is no terminal gets neither colours nor a line that rewrites itself.
func TestLog(t *testing.T) {
	var b bytes.Buffer
	if Is(&b) || Colours(&b) {
		t.Error("a buffer is taken for a terminal")
	}
	synctest.Test(t, func(t *testing.T) { // whose clock stands still but for Sleep
		p := NewProgress(&b)
		p.Show("first")
		time.Sleep(logEvery - 1)
		p.Show("too soon")
		p.Say("kept")
		time.Sleep(1)
		p.Show("later")
		p.End()
	})
	if got, want := b.String(), "first\nkept\nlater\n"; got != want {
		t.Errorf("the log is %q, want %q", got, want)
	}
}

// A line that is rewritten must not wrap, however narrow the terminal is.
func TestProgressFits(t *testing.T) {
	for columns, want := range map[string]string{"5": "0123", "12": "0123456789", "10": "012345678", "500": "0123456789"} {
		t.Setenv("COLUMNS", columns)
		var b bytes.Buffer
		p := &Progress{out: &b, terminal: true}
		p.Show("0123456789")
		if got := b.String(); got != "\r\x1b[K"+want {
			t.Errorf("in %s columns: %q, want %q", columns, got, want)
		}
	}
}
