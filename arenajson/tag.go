// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A tag is what the tag of a field says.
type tag struct {
	name      string // The tag's, or the field's own.
	named     bool   // The tag has it.
	casing    casing
	embed     bool
	omitzero  bool
	omitempty bool
	quoted    bool // Has the option string.
	format    string
}

// casing says which names of a document are that of a field: by default by version 1 in any case, by version 2 the exact one.
type casing uint8

const (
	ignoreCase casing = 1 << iota
	strictCase
)

// A tagReader reads the tag of a field. It keeps the first error, and goes on: version 1 takes what there is.
type tagReader struct {
	field string
	rest  string
	err   error
}

func (r *tagReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("Go struct field %s "+format, append([]any{r.field}, args...)...)
	}
}

const malformed = "has malformed `json` tag: "

// tagOf reads the tag of a field. ignored says that the field is none of the object's.
func tagOf(sf reflect.StructField) (t tag, ignored bool, err error) {
	text, has := sf.Tag.Lookup("json")
	if text == "-" {
		return t, true, nil
	}
	r := &tagReader{field: sf.Name, rest: text}
	if !sf.IsExported() && !sf.Anonymous {
		if has {
			return t, true, fmt.Errorf("unexported Go struct field %s cannot have non-ignored `json:%q` tag", sf.Name, text)
		}
		return t, true, nil
	}
	t.name = sf.Name
	r.name(&t)
	r.options(&t)
	return t, false, r.err
}

// name reads the name, which ends at a comma.
func (r *tagReader) name(t *tag) {
	if r.rest == "" || r.rest[0] == ',' {
		return
	}
	n := strings.IndexAny(r.rest, ",\\'\"`")
	if n < 0 {
		n = len(r.rest)
	}
	name, ok := r.rest[:n], true
	if n < len(r.rest) && r.rest[n] != ',' {
		var err error
		if name, n, err = tagWord(r.rest, false); err != nil {
			r.fail(malformed+"%v", err)
			ok = false
		}
	}
	if !utf8.ValidString(name) {
		r.fail("has JSON object name %q with invalid UTF-8", name)
		name = string([]rune(name))
	}
	if ok {
		t.name, t.named = name, true
	}
	r.rest = r.rest[n:]
}

// options reads what follows the name.
func (r *tagReader) options(t *tag) {
	seen := make(map[string]bool)
	for r.rest != "" {
		if r.rest[0] != ',' {
			r.fail(malformed+"invalid character %q before next option (expecting ',')", r.rest[0])
		} else if r.rest = r.rest[1:]; r.rest == "" {
			r.fail(malformed + "invalid trailing ',' character")
			return
		}
		option, n, err := tagWord(r.rest, false)
		if err != nil {
			r.fail(malformed+"%v", err)
		}
		raw := r.rest[:n]
		r.rest = r.rest[n:]
		switch {
		case t.format != "":
			r.fail("has `format` tag option that was not specified last")
		case strings.HasPrefix(raw, "'") && strings.TrimFunc(option, wordRune) == "":
			r.fail("has unnecessarily quoted appearance of `%s` tag option; specify `%s` instead", raw, option)
		}
		r.option(t, option)
		if t.casing == ignoreCase|strictCase {
			r.fail("cannot have both `case:ignore` and `case:strict` tag options")
		} else if seen[option] {
			r.fail("has duplicate appearance of `%s` tag option", raw)
		}
		seen[option] = true
	}
}

// option is one option, behind which its value may stand.
func (r *tagReader) option(t *tag, option string) {
	flags := map[string]*bool{"embed": &t.embed, "omitzero": &t.omitzero, "omitempty": &t.omitempty, "string": &t.quoted}
	switch flag := flags[option]; {
	case flag != nil:
		*flag = true
	case option == "case":
		value, raw, ok := r.value("case", false, "; specify `case:ignore` or `case:strict` instead")
		if c := map[string]casing{"ignore": ignoreCase, "strict": strictCase}[value]; c != 0 {
			t.casing |= c
		} else if ok {
			r.fail("has unknown `case:%s` tag value", raw)
		}
	case option == "format":
		if value, _, ok := r.value("format", true, ""); ok && value == "" {
			r.fail("cannot have empty value for `format` tag option")
		} else if ok {
			t.format = value
		}
	default:
		plain := strings.ReplaceAll(strings.ToLower(option), "_", "")
		if plain == "case" || plain == "format" || flags[plain] != nil {
			r.fail("has invalid appearance of `%s` tag option; specify `%s` instead", option, plain)
		}
	}
}

// value is the value behind an option, and how it is written.
func (r *tagReader) value(option string, quoted bool, advice string) (value, raw string, ok bool) {
	if !strings.HasPrefix(r.rest, ":") {
		r.fail("is missing value for `%s` tag option%s", option, advice)
		return "", "", false
	}
	r.rest = r.rest[1:]
	value, n, err := tagWord(r.rest, quoted)
	if err != nil {
		r.fail("has malformed value for `%s` tag option: %v", option, err)
		return "", "", false
	}
	raw, r.rest = r.rest[:n], r.rest[n:]
	return value, raw, true
}

// tagWord is the word that a text begins with, an identifier or, if that is allowed, a text in single quotes, and its length. If
// there is none, it is all up to the next comma.
func tagWord(text string, quoted bool) (word string, n int, err error) {
	comma := strings.IndexByte(text, ',')
	if comma < 0 {
		comma = len(text)
	}
	all := text[:comma]
	switch r, _ := utf8.DecodeRuneInString(text); {
	case text == "":
		return all, comma, io.ErrUnexpectedEOF
	case r == '_' || unicode.IsLetter(r):
		n := len(text) - len(strings.TrimLeftFunc(text, wordRune))
		return text[:n], n, nil
	case !quoted:
		return all, comma, fmt.Errorf("invalid character %q at start of option (expecting Unicode letter)", r)
	case r != '\'':
		return all, comma, fmt.Errorf("invalid character %q at start of option (expecting Unicode letter or single quote)", r)
	}
	out := []byte{'"'}
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			if i++; text[i] != '\'' {
				out = append(out, '\\')
			}
			out = append(out, text[i])
		case c == '"':
			out = append(out, `\"`...)
		case c == '\'':
			word, err := strconv.Unquote(string(append(out, '"')))
			if err != nil {
				return all, comma, fmt.Errorf("invalid single-quoted string: %s", text[:i+1])
			}
			return word, i + 1, nil
		default:
			out = append(out, c)
		}
	}
	return all, comma, fmt.Errorf("single-quoted string not terminated: %s...", text[:min(len(text), 10)])
}

func wordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }
