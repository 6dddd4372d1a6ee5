// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A tagV2 is what the tag of a field says by the rules of encoding/json/v2.
type tagV2 struct {
	name         string // The tag's, or the field's own.
	named        bool   // The tag has it.
	ignoreCase   bool
	strictCase   bool
	inline       bool
	unknown      bool
	omitzero     bool
	omitempty    bool
	stringNumber bool
	format       string
}

// A tagReader reads the tag of a field. It keeps the first error, and goes on.
type tagReader struct {
	field string
	rest  string
	err   error
}

func (r *tagReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("the json tag of the field %s %s", r.field, fmt.Sprintf(format, args...))
	}
}

// tagOf reads the tag of a field. ignored says that the field is none of the object's.
func tagOf(sf reflect.StructField) (tag tagV2, ignored bool, err error) {
	text, has := sf.Tag.Lookup("json")
	if text == "-" {
		return tag, true, nil
	}
	r := &tagReader{field: sf.Name, rest: text}
	if !sf.IsExported() && !sf.Anonymous {
		if has {
			r.fail("is on a field that is not exported; only - may be there")
		}
		return tag, true, r.err
	}
	tag.name = sf.Name
	r.name(&tag)
	r.options(&tag)
	if tag.named && tag.name == "-" && text[0] == '-' && r.err == nil {
		r.fail("gives the name -; write '-' for the name, or - alone to ignore the field")
	}
	return tag, false, r.err
}

// name reads the name, which is quoted or ends at a comma.
func (r *tagReader) name(tag *tagV2) {
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
		if name, n, err = tagWord(r.rest); err != nil {
			r.fail("is malformed: %v", err)
			ok = false
		}
	}
	if !utf8.ValidString(name) {
		r.fail("gives the name %q, which is no UTF-8", name)
		name = string([]rune(name))
	}
	if ok {
		tag.name, tag.named = name, true
	}
	r.rest = r.rest[n:]
}

// options reads what follows the name.
func (r *tagReader) options(tag *tagV2) {
	seen := make(map[string]bool)
	formatted := false
	for r.rest != "" {
		if r.rest[0] != ',' {
			r.fail("has %q where a comma should be", r.rest[0])
		} else if r.rest = r.rest[1:]; r.rest == "" {
			r.fail("ends with a comma")
			return
		}
		option, n, err := tagWord(r.rest)
		if err != nil {
			r.fail("is malformed: %v", err)
		}
		raw := r.rest[:n]
		r.rest = r.rest[n:]
		switch {
		case formatted:
			r.fail("has an option behind format, which must be the last")
		case strings.HasPrefix(raw, "'") && isWord(option):
			r.fail("quotes the option %s without need", option)
		}
		formatted = r.option(tag, option) || formatted
		if tag.ignoreCase && tag.strictCase {
			r.fail("has both case:ignore and case:strict")
		} else if seen[option] {
			r.fail("has the option %s twice", option)
		}
		seen[option] = true
	}
}

// option is one option, behind which its value may stand. It reports whether it is a whole format.
func (r *tagReader) option(tag *tagV2, option string) bool {
	switch option {
	case "case":
		r.casing(tag)
	case "inline":
		tag.inline = true
	case "unknown":
		tag.unknown = true
	case "omitzero":
		tag.omitzero = true
	case "omitempty":
		tag.omitempty = true
	case "string":
		tag.stringNumber = true
	case "format":
		value, _, ok := r.value("format")
		if ok {
			tag.format = value
		}
		return ok
	default:
		switch plain := strings.ReplaceAll(strings.ToLower(option), "_", ""); plain {
		case "case", "inline", "unknown", "omitzero", "omitempty", "string", "format":
			r.fail("has the option %s, which is to be written %s", option, plain)
		}
	}
	return false
}

func (r *tagReader) casing(tag *tagV2) {
	value, raw, ok := r.value("case")
	if !ok {
		return
	}
	if raw[0] == '\'' {
		r.fail("quotes the value of case without need")
	}
	switch value {
	case "ignore":
		tag.ignoreCase = true
	case "strict":
		tag.strictCase = true
	default:
		r.fail("has the unknown value case:%s", raw)
	}
}

// value is the value behind an option, and how it is written.
func (r *tagReader) value(option string) (value, raw string, ok bool) {
	if !strings.HasPrefix(r.rest, ":") {
		r.fail("has no value for the option %s", option)
		return "", "", false
	}
	r.rest = r.rest[1:]
	value, n, err := tagWord(r.rest)
	if err != nil {
		r.fail("has a malformed value for the option %s: %v", option, err)
		return "", "", false
	}
	raw, r.rest = r.rest[:n], r.rest[n:]
	return value, raw, true
}

// tagWord is the word that a text begins with, an identifier or a text in single quotes, and its length. If there is
// none, it is all up to the next comma.
func tagWord(text string) (word string, n int, err error) {
	comma := strings.IndexByte(text, ',')
	if comma < 0 {
		comma = len(text)
	}
	switch r, _ := utf8.DecodeRuneInString(text); {
	case text == "":
		return "", 0, errors.New("it ends too early")
	case r == '_' || unicode.IsLetter(r):
		n := strings.IndexFunc(text, func(r rune) bool { return !wordRune(r) })
		if n < 0 {
			n = len(text)
		}
		return text[:n], n, nil
	case r != '\'':
		return text[:comma], comma, fmt.Errorf("%q begins neither a word nor a quoted text", r)
	}
	quoted := []byte{'"'}
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			if text[i] != '\'' {
				quoted = append(quoted, '\\')
			}
			quoted = append(quoted, text[i])
		case c == '"':
			quoted = append(quoted, `\"`...)
		case c == '\'':
			word, err := strconv.Unquote(string(append(quoted, '"')))
			if err != nil {
				return text[:comma], comma, fmt.Errorf("%s is no quoted text", text[:i+1])
			}
			return word, i + 1, nil
		default:
			quoted = append(quoted, c)
		}
	}
	return text[:comma], comma, errors.New("the quote at its end is missing")
}

func wordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

// isWord reports whether s needs no quotes.
func isWord(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !wordRune(r) }) < 0
}
