// SPDX-License-Identifier: Apache-2.0

package objectkey

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestAppend(t *testing.T) {
	o := Object{"orders", 7, []byte("dt=2026-01-31/type=order"), 1234}
	none := Object{"orders", 7, nil, 1234}
	for _, e := range []struct{ template, grouped, flat string }{
		{Default, "orders/dt=2026-01-31/type=order/0007-00000000000000001234.gz", "orders/0007-00000000000000001234.gz"},
		{"{group}/{topic}-{partition}-{offset}", "dt=2026-01-31/type=order/orders-7-1234", "orders-7-1234"},
		{"in/{group}/{topic}/{partition}/{offset}", "in/dt=2026-01-31/type=order/orders/7/1234", "in/orders/7/1234"},
		{"{topic}/{partition:02}+{offset:05}/{group}{extension}", "orders/07+01234/dt=2026-01-31/type=order.gz", "orders/07+01234/.gz"},
		{"topics/{topic}/{partition}/x{group}/{offset}{extension}", "topics/orders/7/xdt=2026-01-31/type=order/1234.gz", "topics/orders/7/x/1234.gz"},
	} {
		tm, err := Parse(e.template, true, ".gz")
		if err != nil {
			t.Error(err)
			continue
		}
		if a, b := string(tm.Append(nil, o)), string(tm.Append([]byte("x"), none)); a != e.grouped || b != "x"+e.flat {
			t.Errorf("%s makes %s and %s, want %s and %s", e.template, a, b, e.grouped, e.flat)
		}
		if p := string(tm.Prefix(nil, "orders")); !strings.HasPrefix(e.grouped, p) || !strings.HasPrefix(e.flat, p) {
			t.Errorf("%s has the prefix %s", e.template, p)
		}
	}
	tm, _ := Parse("{topic}/{partition:04}/{offset:05}", false, "")
	if got := string(tm.Append(nil, Object{"t", math.MaxInt32, nil, math.MaxInt64})); got != "t/2147483647/9223372036854775807" {
		t.Error(got)
	}
}

func TestParse(t *testing.T) {
	for _, e := range []struct {
		template string
		grouped  bool
		want     string // of the error
	}{
		{"{partition}/{offset}", false, "{topic} is missing"}, {"{topic}/{offset}", false, "{partition} is missing"}, {"{topic}/{partition}", false, "{offset} is missing"},
		{"{topic}/{partition}/{offset}", true, "{group} is missing"}, {"", false, "{topic} is missing"},
		{"{topic}/{partition}{offset}", false, "two objects could have one key"}, {"{topic}{partition}/{offset}", false, "in front of {partition}"},
		{"{partition}-{topic}-{offset}", false, ""}, {"{topic}-{topic}-{partition}-{offset}", false, "in front of {topic}"}, {"{topic}/{group}{partition}/{offset}", true, "in front of {partition}"},
		{"{topic}/{group}0{partition}/{offset}", true, "in front of {partition}"}, {"{topic}-{group}/{partition}/{offset}", true, "behind {topic}"},
		{"{topic}/{group}/{group}/{partition}/{offset}", true, "{group} stands there twice"}, {"{topic}/{group}/{partition}/{offset}", false, ""},
		{"/{topic}/{partition}/{offset}", false, "empty name"}, {"{topic}//{partition}/{offset}", false, "empty name"}, {"{topic}/../{partition}/{offset}", false, "leads out"},
		{"{topic}/./{partition}/{offset}", false, "leads out"}, {"{topic}/{partition}/{offset}/", false, "empty name"}, {"{topic}/{partition}/{offset}\n", false, "control character"},
		{"{topic}/{partition}/{offset", false, "without its }"}, {"{topic}/{partition}/offset}", false, "without its {"}, {"{topic}/{part}/{offset}", false, "no place is called {part}"},
		{"{topic}/{partition:4}/{offset}", false, "the width is a zero"}, {"{topic}/{partition:0}/{offset}", false, "the width"}, {"{topic}/{partition}/{offset:021}", false, "the width"},
		{"{topic:03}/{partition}/{offset}", false, "alone have a width"}, {"{topic}/{partition}/{offset:}", false, "the width"},
	} {
		_, err := Parse(e.template, e.grouped, ".gz")
		if e.want == "" && err != nil || e.want != "" && (err == nil || !strings.Contains(err.Error(), e.want)) {
			t.Errorf("%s, grouped %v: %v, want %q", e.template, e.grouped, err, e.want)
		}
	}
}

func TestCheck(t *testing.T) {
	tm, err := Parse("{topic}/{group}/{topic}+{partition}+{offset}", true, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := tm.Check("orders"); err != nil {
		t.Error(err)
	}
	if err := tm.Check(strings.Repeat("t", 249)); err == nil {
		t.Error("keys of 1,042 bytes are no error")
	}
}

// Templates that Parse takes make different keys of different objects.
func TestUnambiguous(t *testing.T) {
	var objects []Object
	for _, topic := range []string{"a", "0", "a-0", "1-0", "a.b", "10", "-", "a0"} {
		for _, group := range []string{"", "a", "0", "0-1", "a/0", "a-0/1-0", "1/10", "-", "0/a/0-1"} {
			for _, p := range []int32{0, 1, 10, 101} {
				for _, offset := range []int64{0, 1, 10, 11, 1000} {
					objects = append(objects, Object{topic, p, []byte(group), offset})
				}
			}
		}
	}
	pieces := []string{"{topic}", "{partition}", "{group}", "{offset}", "{partition:02}", "{offset:03}", "/", "/", "/", "-", "-", ".", "0", "x", "=", "{extension}"}
	r, accepted := rand.New(rand.NewPCG(1, 1)), 0
	for accepted < 100 {
		text := ""
		for range 4 + r.IntN(8) {
			text += pieces[r.IntN(len(pieces))]
		}
		grouped := r.IntN(3) > 0
		tm, err := Parse(text, grouped, ".0")
		if err != nil {
			continue
		}
		accepted++
		seen := map[string]string{}
		for _, o := range objects {
			if !grouped && len(o.Group) > 0 {
				continue
			}
			key, is := string(tm.Append(nil, o)), fmt.Sprintf("%s|%d|%s|%d", o.Topic, o.Partition, o.Group, o.Offset)
			if other, ok := seen[key]; ok {
				t.Fatalf("%s makes %s of %s and of %s", text, key, is, other)
			}
			seen[key] = is
		}
	}
}

func TestNoAllocation(t *testing.T) {
	tm, err := Parse(Default, true, ".jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	buf, o := make([]byte, 0, 256), Object{"orders", 7, []byte("dt=2026-01-31"), 123456}
	if n := testing.AllocsPerRun(100, func() { buf = tm.Append(buf[:0], o) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Default, true)
	f.Fuzz(func(t *testing.T, text string, grouped bool) {
		tm, err := Parse(text, grouped, ".gz")
		if err != nil {
			return
		}
		a := string(tm.Append(nil, Object{"t", 1, nil, 11}))
		b := string(tm.Append(nil, Object{"t", 11, nil, 1}))
		if a == b || strings.HasPrefix(a, "/") || strings.Contains(a, "//") {
			t.Errorf("%q makes %q and %q", text, a, b)
		}
	})
}
