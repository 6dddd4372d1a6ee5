// SPDX-License-Identifier: Apache-2.0

package sort

import (
	"bytes"
	"cmp"
	"fmt"
	"math/big"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mustParse reads a command line whose words stand between blanks.
func mustParse(t testing.TB, line string) *options {
	t.Helper()
	o, err := parse(strings.Fields(line))
	if err != nil {
		t.Fatalf("sort %s: %v", line, err)
	}
	return o
}

// The comparator of the tests works on strings, regular expressions and big.Rat, and has no part in
// common with the keys. It knows one key, as the fields and characters of -k say.

var (
	blankFields = regexp.MustCompile(`^[ \t\n]*[^ \t\n]*`)
	aNumber     = regexp.MustCompile(`^[ \t\n]*(-?)([0-9]*)(?:\.([0-9]*))?`)
	aUnit       = regexp.MustCompile(`^[ \t\n]*-?[0-9]*(?:\.[0-9]*)?([KkMGTPEZYRQ])`)
)

// fieldsOf returns the fields of a line. Without a separator the blanks in front belong to a field.
func fieldsOf(line string, tab int) (fields []string) {
	if tab >= 0 {
		return strings.Split(line, string([]byte{byte(tab)}))
	}
	for line != "" {
		f := blankFields.FindString(line)
		fields = append(fields, f)
		line = line[len(f):]
	}
	return fields
}

// modelValue is the value of text as -n reads it.
func modelValue(text string) *big.Rat {
	m := aNumber.FindStringSubmatch(text)
	r, ok := new(big.Rat).SetString("0" + m[2] + "." + m[3] + "0")
	if !ok {
		panic(text)
	}
	if m[1] == "-" {
		r.Neg(r)
	}
	return r
}

func modelUnit(text string) int {
	unit, value := 0, modelValue(text)
	if m := aUnit.FindStringSubmatch(text); m != nil {
		unit = strings.Index("KMGTPEZYRQ", strings.ToUpper(m[1])) + 1
	}
	return unit * value.Sign()
}

func modelMonth(text string) int {
	text = strings.TrimLeft(text, " \t\n")
	for i, m := range strings.Fields("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC") {
		if len(text) >= 3 && strings.EqualFold(text[:3], m) && strings.ToLower(text[:3]) == strings.ToLower(m) {
			return i + 1
		}
	}
	return 0
}

// modelText is what of text counts.
func modelText(text string, l letters) string {
	out := []byte{}
	for _, c := range []byte(text) {
		word := '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || strings.IndexByte(" \t\n", c) >= 0
		if l.dictionary && !word || l.printing && (c < 32 || c > 126) {
			continue
		}
		if l.fold && 'a' <= c && c <= 'z' {
			c -= 32
		}
		out = append(out, c)
	}
	return string(out)
}

func modelCompare(a, b string, l letters) (c int) {
	switch {
	case l.numeric:
		c = modelValue(a).Cmp(modelValue(b))
	case l.human:
		if l.fold {
			a, b = strings.ToUpper(a), strings.ToUpper(b)
		}
		c = cmp.Or(cmp.Compare(modelUnit(a), modelUnit(b)), modelValue(a).Cmp(modelValue(b)))
	case l.month:
		c = cmp.Compare(modelMonth(a), modelMonth(b))
	default:
		c = cmp.Compare(modelText(a, l), modelText(b, l))
	}
	if l.reverse {
		c = -c
	}
	return c
}

// FuzzKey compares the keys of two lines with the comparator: for one key of whole fields, whose
// letters are bits, and the comparison of whole lines behind it.
func FuzzKey(f *testing.F) {
	for _, s := range []string{"", "-0", "0.00", "-.5", "1K", "900", "-1M", "jan", "a\x00b", "a\x01", "a", "\xff", "b c", " 00012.50x", "99999999999999999999.1", strings.Repeat("9", 150), "." + strings.Repeat("0", 40) + "1"} {
		for _, r := range []string{"", "1", "-1", "b", "A", "a\x00", "\xff\xff", "9", "99999999999999999999", "." + strings.Repeat("0", 30) + "1"} {
			for bits := range uint16(8) {
				f.Add(s+","+r, r+","+s, bits*37)
			}
		}
	}
	f.Fuzz(func(t *testing.T, a, b string, bits uint16) {
		a, b = strings.ReplaceAll(a, "\n", ""), strings.ReplaceAll(b, "\n", "")
		kind := []letters{{}, {numeric: true}, {human: true}, {month: true}, {dictionary: true}, {printing: true}}[bits%6]
		kind.reverse, kind.fold = bits&64 != 0, bits&128 != 0
		o := order{eol: '\n', tab: -1, reverse: bits&256 != 0, stable: bits&512 != 0, unique: bits&1024 != 0}
		if bits&2048 != 0 {
			o.tab = ','
		}
		first := int(bits>>12) % 3
		o.keys = []key{{letters: kind, field: first, endField: first}}
		if bits&0x8000 != 0 {
			o.keys = nil
		}
		o.prepare()

		part := func(line string) string {
			if fields := fieldsOf(line, o.tab); first < len(fields) {
				return fields[first]
			}
			return ""
		}
		want := 0
		if o.keys != nil {
			want = modelCompare(part(a), part(b), kind)
		}
		if want == 0 && (o.keys == nil || !o.stable && !o.unique) {
			if want = cmp.Compare(a, b); o.reverse {
				want = -want
			}
		}
		keyA, keyB := o.appendKey(nil, []byte(a)), o.appendKey(nil, []byte(b))
		if got := bytes.Compare(keyA, keyB); got != want {
			t.Fatalf("%q and %q with %+v: %d, want %d\n%x\n%x", a, b, o, got, want, keyA, keyB)
		}
		k, v, _ := o.record(nil, []byte(a), 7)
		if line, _ := o.line(k, v, nil); string(line) != a {
			t.Fatalf("%q with %+v comes back as %q", a, o, line)
		}
	})
}

// TestSeveralKeys compares keys of several options with the comparator, option by option: the end of
// one key must not run into the next. Only the key without letters takes the r of the command.
func TestSeveralKeys(t *testing.T) {
	o := mustParse(t, "-t, -k1,1 -k2,2nr -k3,3f -k4,4h -r")
	r := rand.New(rand.NewPCG(1, 1))
	var lines []string
	for range 400 {
		lines = append(lines, fmt.Sprintf("%s,%s,%s,%s", []string{"", "a", "a\x00", "a\x01", "ab", "\xff"}[r.IntN(6)], []string{"", "0", "-0", "-1", "1", "1.5", "15"}[r.IntN(7)],
			[]string{"", "B", "b", "bc", "b\x00"}[r.IntN(5)], []string{"1K", "1000", "-1K", "2M", "0M", ""}[r.IntN(6)]))
	}
	want := slices.Clone(lines)
	slices.SortStableFunc(want, func(a, b string) int {
		x, y := strings.Split(a, ","), strings.Split(b, ",")
		for i, l := range []letters{{reverse: true}, {numeric: true, reverse: true}, {fold: true}, {human: true}} {
			if c := modelCompare(x[i], y[i], l); c != 0 {
				return c
			}
		}
		return -cmp.Compare(a, b)
	})
	slices.SortStableFunc(lines, func(a, b string) int {
		return bytes.Compare(o.appendKey(nil, []byte(a)), o.appendKey(nil, []byte(b)))
	})
	for i := range lines {
		if lines[i] != want[i] {
			t.Fatalf("line %d is %q, want %q", i, lines[i], want[i])
		}
	}
}
