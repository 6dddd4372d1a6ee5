// SPDX-License-Identifier: Apache-2.0

package sort

import (
	"bytes"
	"fmt"
)

// letters are the ordering options of a key, or of the whole command.
type letters struct {
	skipStart, skipEnd bool // b, which may stand at a key's start, its end, or both
	dictionary         bool // d: only blanks, letters and digits count
	printing           bool // i: only printable characters count
	fold               bool // f
	numeric            bool // n
	human              bool // h
	month              bool // M
	reverse            bool // r

	// Letters that are read, so that combinations that exclude each other have GNU sort's message,
	// and then refused.
	general, random, version bool
}

// set sets a letter. It reports whether the letter is an ordering option. Start and end say where a
// b applies.
func (l *letters) set(letter byte, start, end bool) bool {
	switch letter {
	case 'b':
		l.skipStart = l.skipStart || start
		l.skipEnd = l.skipEnd || end
	case 'd':
		l.dictionary, l.printing = true, false
	case 'f':
		l.fold = true
	case 'g':
		l.general = true
	case 'h':
		l.human = true
	case 'i':
		l.printing = !l.dictionary // d implies i
	case 'M':
		l.month = true
	case 'n':
		l.numeric = true
	case 'R':
		l.random = true
	case 'r':
		l.reverse = true
	case 'V':
		l.version = true
	default:
		return false
	}
	return true
}

// compatible returns an error if the letters name more than one kind of order.
func (l *letters) compatible() error {
	kinds := 0
	for _, is := range []bool{l.numeric, l.general, l.human, l.month, l.version || l.random || l.dictionary || l.printing} {
		if is {
			kinds++
		}
	}
	if kinds < 2 {
		return nil
	}
	text := ""
	for _, x := range []struct {
		is     bool
		letter string
	}{{l.dictionary, "d"}, {l.fold, "f"}, {l.general, "g"}, {l.human, "h"}, {l.printing, "i"}, {l.month, "M"}, {l.numeric, "n"}, {l.random, "R"}, {l.version, "V"}} {
		if x.is {
			text += x.letter
		}
	}
	return incompatible(text)
}

// supported returns an error if one of the letters is of an order that this command lacks.
func (l *letters) supported() error {
	name := ""
	switch {
	case l.general:
		name = "-g (--general-numeric-sort)"
	case l.random:
		name = "-R (--random-sort)"
	case l.version:
		name = "-V (--version-sort)"
	default:
		return nil
	}
	return fmt.Errorf("option %s is not supported", name)
}

func incompatible(letters string) error {
	return fmt.Errorf("options '-%s' are incompatible", letters)
}

// A key is one part of the order: a part of the line, and how it compares. Numbers count from 0.
type key struct {
	letters
	field, char       int      // the start; characters count from the start of the field
	endField, endChar int      // the end; an endChar of 0 is the end of the field, an endField of -1 the end of the line
	path              []string // of --json-key, in place of the positions
}

// setAll sets the ordering letters at the start of s and returns the rest.
func (l *letters) setAll(s string, start, end bool) string {
	for s != "" && l.set(s[0], start, end) {
		s = s[1:]
	}
	return s
}

// order is the order of lines. It turns the options into one key of bytes for each line: two lines
// compare as their keys do.
type order struct {
	keys    []key
	tab     int  // the separator of fields, or -1: fields begin with blanks
	eol     byte // behind each line
	reverse bool // of the comparison of whole lines
	stable  bool // no comparison of whole lines
	unique  bool // one line of those with equal keys

	tables []*[256]uint16 // of the keys that compare text: what a character compares as, or ignored
	layout layout
}

// A layout says how a line and its key lie in a record, so that a line is stored once.
type layout int

const (
	// lineIsKey is a record whose key is the line: there are no options, or those that change nothing.
	lineIsKey layout = iota
	// lineInKey is a record whose key ends with the line, for the comparison of whole lines. The value
	// is the length of the part before it.
	lineInKey
	// lineIsValue is a record whose key is that of the options, and whose value is the line.
	lineIsValue
)

// part returns the bytes of the line that the key compares.
func (o *order) part(line []byte, k *key) []byte {
	start, end := o.start(line, k), len(line)
	if k.endField >= 0 {
		end = o.end(line, k)
	}
	return line[start:max(start, end)]
}

// start returns where the key begins.
func (o *order) start(line []byte, k *key) int {
	at := 0
	for n := k.field; n > 0 && at < len(line); n-- {
		if at = o.fieldEnd(line, at); o.tab >= 0 && at < len(line) {
			at++
		}
	}
	if k.skipStart {
		at = skipBlanks(line, at)
	}
	return at + min(k.char, len(line)-at)
}

// end returns where the key ends. A separator belongs to no field; without -t the blanks in front of
// a field belong to it.
func (o *order) end(line []byte, k *key) int {
	at, fields := 0, k.endField
	if k.endChar == 0 {
		fields++
	}
	for n := fields; n > 0 && at < len(line); n-- {
		at = o.fieldEnd(line, at)
		if o.tab >= 0 && at < len(line) && (n > 1 || k.endChar > 0) {
			at++
		}
	}
	if k.endChar == 0 {
		return at
	}
	if k.skipEnd {
		at = skipBlanks(line, at)
	}
	return at + min(k.endChar, len(line)-at)
}

// fieldEnd returns the end of the field that begins at at: the next separator, or the end of the
// text behind the next blanks.
func (o *order) fieldEnd(line []byte, at int) int {
	if o.tab >= 0 {
		if n := bytes.IndexByte(line[at:], byte(o.tab)); n >= 0 {
			return at + n
		}
		return len(line)
	}
	at = skipBlanks(line, at)
	for at < len(line) && !isBlank(line[at]) {
		at++
	}
	return at
}

func skipBlanks(line []byte, at int) int {
	for at < len(line) && isBlank(line[at]) {
		at++
	}
	return at
}

// isBlank reports whether c separates fields. A newline does, in lines that end with NUL.
func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
