// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// Version 2 refuses what version 1 takes: names that stand twice in an object, invalid UTF-8, and escapes of half a surrogate pair.

// textV2 is text for a string that must be UTF-8.
func (d *decoder) textV2(i int) (string, int) {
	s, next := d.text(i)
	// Without escapes and invalid bytes the result is that part of the data.
	if next < 0 || len(s) == next-1-i && (s == "" || unsafex.StringData(s) == unsafex.Add(unsafex.DataOf(d.data), uintptr(i))) {
		return s, next
	}
	if !d.isText(i, next-1) {
		return "", -1
	}
	return s, next
}

// isText reports whether the string from i to end, which has the grammar of one, is UTF-8. Otherwise decoding ends.
func (d *decoder) isText(i, end int) bool {
	b := d.input[i:end] // The copy may have lost the escapes.
	if !valid(b) {
		for len(b) > 0 {
			r, n := utf8.DecodeRune(b)
			if r == utf8.RuneError && n == 1 {
				break
			}
			b = b[n:]
		}
		d.stop(fmt.Errorf("arenajson: invalid UTF-8 in the string at offset %d, which version 2 refuses", end-len(b)))
		return false
	}
	for at := bytes.IndexByte(b, '\\'); at >= 0 && at < len(b); {
		if b[at] != '\\' {
			n := bytes.IndexByte(b[at:], '\\')
			if n < 0 {
				break
			}
			at += n
		}
		if at+1 >= len(b) || b[at+1] != 'u' {
			at += 2
			continue
		}
		r, next := escaped(b, at)
		if next < 0 || r == utf8.RuneError && utf16.IsSurrogate(hex4(b, at+2)) {
			d.stop(fmt.Errorf("arenajson: half a surrogate pair at offset %d, which version 2 refuses", i+at))
			return false
		}
		at = next
	}
	return true
}

// duplicate ends decoding: the name at i stands twice in its object.
func (d *decoder) duplicate(name string, i int) int {
	return d.stop(fmt.Errorf("arenajson: the name %q at offset %d stands twice in its object, which version 2 refuses", name, i))
}

// skipV2 is skip for a value that must have no name twice, and be UTF-8.
func (d *decoder) skipV2(i int) int {
	switch d.peek(i) {
	case '"':
		next := d.skipText(i + 1)
		if next >= 0 && !d.isText(i+1, next-1) {
			return -1
		}
		return next
	case '{':
		return d.skipObjectV2(i)
	case '[':
		return d.skipArrayV2(i)
	}
	return d.skip(i)
}

func (d *decoder) skipArrayV2(i int) int {
	if i = d.enter(i); i < 0 {
		return i
	}
	if d.peek(i) == ']' {
		return d.leave(i)
	}
	for {
		if i = d.skipV2(i); i < 0 {
			return i
		}
		if i = d.after(i); d.peek(i) != ',' {
			return d.close(i, ']')
		}
		i = d.space(i + 1)
	}
}

func (d *decoder) skipObjectV2(i int) int {
	if i = d.enter(i); i < 0 {
		return i
	}
	if d.peek(i) == '}' {
		return d.leave(i)
	}
	set := d.names.open()
	for {
		if d.peek(i) != '"' {
			return d.syntax()
		}
		next := d.skipV2(i)
		if next < 0 {
			return next
		}
		if name := d.nameAt(i, next); !d.names.insert(set, name) {
			return d.duplicate(name, i)
		}
		if i = d.colon(next); i < 0 {
			return i
		}
		if i = d.skipV2(i); i < 0 {
			return i
		}
		if i = d.after(i); d.peek(i) != ',' {
			d.names.close(set)
			return d.close(i, '}')
		}
		i = d.space(i + 1)
	}
}

// nameAt is the name that stands from i to next, in quotes, without its escapes. It does not change the data.
func (d *decoder) nameAt(i, next int) string {
	quoted := d.input[i:next]
	if bytes.IndexByte(quoted, '\\') < 0 {
		return view(quoted[1 : len(quoted)-1])
	}
	name, _ := unquote(quoted)
	return view(name)
}

// nameSets are the names that the objects around a place have. An object within another one has the next set.
type nameSets struct {
	sets []nameSet
	used int
}

// A nameSet has the names of an object: in a row, and once they are many, in a map.
type nameSet struct {
	row   []string
	index map[string]struct{}
}

const (
	rowNames  = 16      // So many names are compared one by one.
	keptNames = 1 << 10 // Room for so many is kept for the next object.
)

// open begins a set, which must be closed before the one that was opened before it.
func (n *nameSets) open() int {
	if n.used == len(n.sets) {
		n.sets = append(n.sets, nameSet{})
	}
	n.used++
	return n.used - 1
}

// insert adds a name, or reports false if the set has it.
func (n *nameSets) insert(set int, name string) bool {
	s := &n.sets[set]
	if len(s.index) == 0 {
		for _, old := range s.row {
			if old == name {
				return false
			}
		}
		s.row = append(s.row, name)
		if len(s.row) < rowNames {
			return true
		}
		if s.index == nil {
			s.index = make(map[string]struct{}, 4*rowNames)
		}
		for _, old := range s.row {
			s.index[old] = struct{}{}
		}
		return true
	}
	size := len(s.index)
	s.index[name] = struct{}{}
	return len(s.index) > size
}

// close ends a set and those opened after it.
func (n *nameSets) close(set int) {
	for ; n.used > set; n.used-- {
		s := &n.sets[n.used-1]
		if len(s.index) > keptNames {
			s.index = nil
		}
		clear(s.index)
		clear(s.row)
		s.row = s.row[:0]
	}
}

// emptied are the sets for the next document.
func (n *nameSets) emptied() nameSets {
	n.close(0)
	if len(n.sets) > keptNames {
		return nameSets{}
	}
	return *n
}
