// SPDX-License-Identifier: Apache-2.0

package freehold

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A word is one word of the variable FREEHOLD, and the field of Options that it stands for.
type word struct {
	name string
	form string // The value, as the user is told of it: "" or "[=N]".
	set  func(o *Options, value string, valued bool) error
	text func(o Options) string // The word and its value, "" if the field is zero.
}

// words are the known words, in the order in which they are listed to the user.
var words = []word{
	flag("heap", func(o *Options) *bool { return &o.Heap }),
	flag("nomemlimit", func(o *Options) *bool { return &o.NoMemLimit }),
	flag("noreuse", func(o *Options) *bool { return &o.NoReuse }),
	flag("guard", func(o *Options) *bool { return &o.Guard }),
	flag("leaks", func(o *Options) *bool { return &o.Leaks }),
	flag("pointers", func(o *Options) *bool { return &o.Pointers }),
	{
		name: "sample", form: "[=N]",
		set: func(o *Options, value string, valued bool) error {
			n, err := SampleDefault, error(nil)
			if valued {
				if n, err = strconv.Atoi(value); err != nil || n < 1 {
					return errors.New("want a whole number of at least 1")
				}
			}
			o.Sample = n
			return nil
		},
		text: func(o Options) string {
			switch {
			case o.Sample > 0:
				return "sample=" + strconv.Itoa(o.Sample)
			case o.Sample < 0:
				return "sample"
			}
			return ""
		},
	},
}

// flag is a word that switches something on.
func flag(name string, field func(*Options) *bool) word {
	return word{
		name: name,
		set: func(o *Options, _ string, valued bool) error {
			if valued {
				return errors.New("it takes no value")
			}
			*field(o) = true
			return nil
		},
		text: func(o Options) string {
			if *field(&o) {
				return name
			}
			return ""
		},
	}
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
			if err := w.set(&o, value, valued); err != nil {
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
		if text := w.text(more); text != "" && w.text(o) == "" {
			_, value, valued := strings.Cut(text, "=")
			_ = w.set(&o, value, valued) // text is what set takes.
		}
	}
	return o
}

// Words says for each mode, by its word in the variable FREEHOLD, whether it is in o: heap,
// nomemlimit, noreuse, guard, leaks, pointers and sample. Later versions may add modes. The
// map is the caller's.
func (o Options) Words() map[string]bool {
	in := map[string]bool{}
	for _, w := range words {
		in[w.name] = w.text(o) != ""
	}
	return in
}

// names lists the words that stand for o, with their values.
func (o Options) names() string {
	var list []string
	for _, w := range words {
		if text := w.text(o); text != "" {
			list = append(list, text)
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
