// SPDX-License-Identifier: Apache-2.0

package freehold

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A word is one word of the variable FREEHOLD, and the field of Options that it stands for.
type word struct {
	name string
	form string // the text behind the name: "" or "=N"
	set  func(o *Options, value string) error
	get  func(o Options) string // the value in o, "" if it is the zero value
}

// words are the known words, in the order in which they are listed to the user.
var words = []word{
	flag("heap", func(o *Options) *bool { return &o.Heap }),
	flag("nomemlimit", func(o *Options) *bool { return &o.NoMemLimit }),
	flag("noreuse", func(o *Options) *bool { return &o.NoReuse }),
	flag("guard", func(o *Options) *bool { return &o.Guard }),
	flag("poison", func(o *Options) *bool { return &o.Poison }),
	flag("leaks", func(o *Options) *bool { return &o.Leaks }),
	flag("pointers", func(o *Options) *bool { return &o.Pointers }),
	number("sample", "N", 1, func(o *Options) *int { return &o.Sample }),
	number("samplerate", "R", 0, func(o *Options) *int { return &o.SampleRate }),
	number("guardmaps", "N", 1, func(o *Options) *int { return &o.GuardMaps }),
	{
		name: "evidence", form: "=DIR",
		set: func(o *Options, value string) error {
			if value == "" {
				return errors.New("want a folder")
			}
			o.Evidence = value
			return nil
		},
		get: func(o Options) string { return o.Evidence },
	},
	{
		name: "guardbytes", form: "=SIZE",
		set: func(o *Options, value string) (err error) {
			o.GuardBytes, err = parseSize(value)
			return err
		},
		get: func(o Options) string {
			if o.GuardBytes == 0 {
				return ""
			}
			return strconv.FormatInt(o.GuardBytes, 10)
		},
	},
}

var errNoValue = errors.New("it takes no value")

// flag is a word that switches something on.
func flag(name string, field func(*Options) *bool) word {
	return word{
		name: name,
		set: func(o *Options, value string) error {
			if value != "" {
				return errNoValue
			}
			*field(o) = true
			return nil
		},
		get: func(o Options) string {
			if *field(&o) {
				return "true"
			}
			return ""
		},
	}
}

// number is a word with a whole number of at least least. Where 0 is one, it means "no bound",
// which the field says as -1.
func number(name, form string, least int, field func(*Options) *int) word {
	return word{
		name: name, form: "=" + form,
		set: func(o *Options, value string) error {
			n, err := strconv.Atoi(value)
			if err != nil || n < least {
				return fmt.Errorf("want a whole number of at least %d", least)
			}
			if n == 0 {
				n = -1
			}
			*field(o) = n
			return nil
		},
		get: func(o Options) string {
			if n := *field(&o); n != 0 {
				return strconv.Itoa(max(n, 0))
			}
			return ""
		},
	}
}

// parseSize reads a number of bytes: digits, and K, M, G or T for powers of 1024, which may be
// followed by iB or B.
func parseSize(s string) (int64, error) {
	number, shift := strings.TrimSuffix(strings.TrimSuffix(s, "B"), "i"), 0
	for i, unit := range []string{"K", "M", "G", "T"} {
		if rest, found := strings.CutSuffix(number, unit); found {
			number, shift = rest, 10*(i+1)
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 || n > math.MaxInt64>>shift {
		return 0, errors.New("want a number of bytes, such as 1048576, 512M or 4GiB")
	}
	return n << shift, nil
}

// parseWords returns the options that the comma-separated words of s stand for, the unknown words,
// and an error for each word with a wrong value.
func parseWords(s string) (o Options, unknown []string, bad []error) {
next:
	for text := range strings.SplitSeq(s, ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		name, value, valued := strings.Cut(text, "=")
		for _, w := range words {
			if w.name != name {
				continue
			}
			err := errNoValue
			if valued == (w.form != "") {
				err = w.set(&o, value)
			} else if !valued {
				err = errors.New("it needs a value, as in " + w.name + w.form)
			}
			if err != nil {
				bad = append(bad, fmt.Errorf("%s ignored: %w", text, err))
			}
			continue next
		}
		unknown = append(unknown, text)
	}
	return o, unknown, bad
}

// with adds more to o. Fields set in o stay.
func (o Options) with(more Options) Options {
	for _, w := range words {
		if v := w.get(more); v != "" && w.get(o) == "" {
			if w.form == "" {
				v = ""
			}
			_ = w.set(&o, v) // get gave the value
		}
	}
	return o
}

// Words says for each mode, by its word in the variable FREEHOLD, whether it is in o: heap,
// nomemlimit, noreuse, guard, poison, leaks, pointers and sample. The other words only adjust
// these. Later versions may add modes. The map is the caller's.
func (o Options) Words() map[string]bool {
	in := map[string]bool{"sample": o.Sample > 0}
	for _, w := range words {
		if w.form == "" {
			in[w.name] = w.get(o) != ""
		}
	}
	return in
}

// names lists the words that stand for o, with their values.
func (o Options) names() string {
	var list []string
	for _, w := range words {
		switch v := w.get(o); {
		case v != "" && w.form != "":
			list = append(list, w.name+"="+v)
		case v != "":
			list = append(list, w.name)
		}
	}
	return strings.Join(list, ", ")
}

// knownWords lists all words for the user.
func knownWords() string {
	var list []string
	for _, w := range words {
		list = append(list, w.name+w.form)
	}
	return strings.Join(list, ", ")
}
