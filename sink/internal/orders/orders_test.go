// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEvents(t *testing.T) {
	const n = 2000
	g, total := New(1), 0
	var buf []byte
	for i := range n {
		buf = g.AppendValue(buf[:0], i)
		total += len(buf)
		var e struct {
			ID    string `json:"event_id"`
			Type  string `json:"event_type"`
			Time  int64  `json:"timestamp"`
			Items []any
		}
		if err := json.Unmarshal(buf, &e); err != nil {
			t.Fatalf("event %d: %v in %s", i, err, buf)
		}
		if bytes.ContainsRune(buf, '\n') || !utf8.Valid(buf) || len(e.ID) != 31 || !strings.HasPrefix(e.Type, "order_") || e.Time < Time(i) || e.Time > Time(i)+999 || len(e.Items) < 2 {
			t.Fatalf("event %d is %s", i, buf)
		}
	}
	if mean := total / n; mean < 1450 || mean > 1600 {
		t.Errorf("an event has %d bytes on average, want some 1,525", mean)
	}
}

// Event i is the same whatever was made before it.
func TestEventsAreFunctions(t *testing.T) {
	a, b := New(7), New(7)
	for i := range 20 {
		a.AppendValue(nil, i)
		a.AppendKey(nil, i)
	}
	if x, y := a.AppendValue(nil, 3), b.AppendValue(nil, 3); !bytes.Equal(x, y) {
		t.Errorf("%s\nis not\n%s", x, y)
	}
	if x, y := string(a.AppendKey(nil, 3)), string(b.AppendKey(nil, 3)); x != y || len(x) != len("user-12345678") {
		t.Errorf("the key is %q and %q", x, y)
	}
	if x, y := a.AppendValue(nil, 4), New(8).AppendValue(nil, 4); bytes.Equal(x, y) {
		t.Error("seeds 7 and 8 make the same event")
	}
}

func TestNoAllocation(t *testing.T) {
	g, buf := New(1), make([]byte, 0, 4096)
	i := 0
	if n := testing.AllocsPerRun(100, func() {
		buf = g.AppendKey(g.AppendValue(buf[:0], i), i)
		i++
	}); n != 0 {
		t.Errorf("%v allocations per event", n)
	}
}

func TestAppendPadded(t *testing.T) {
	for want, n := range map[string]uint64{"00000": 0, "00009": 9, "00010": 10, "00099": 99, "01234": 1234, "99998": 99998, "00100": 100} {
		if got := string(appendPadded(nil, n, 5)); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func BenchmarkEvent(b *testing.B) {
	g, buf := New(1), make([]byte, 0, 4096)
	for i := range b.N {
		buf = g.AppendValue(buf[:0], i)
	}
}
