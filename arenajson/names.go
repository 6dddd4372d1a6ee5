// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"math/bits"
	"unicode"
	"unicode/utf8"
)

// names finds the field of a struct by a name in a document: the field with exactly that name or else the first
// one whose name differs in upper and lower case only. Its table is open; the hash of a name does not depend
// on the case of its letters, so that all candidates for a name stand behind each other.
type names struct {
	slots    []nameSlot // A power of two, at least a quarter of them empty.
	shift    int
	skipping map[string]int // The fields that skip dashes and underscores, by names without, or ambiguous.
}

const ambiguous = -2

type nameSlot struct {
	hash  uint64
	field int32 // Its index, counted from 1; 0 if the slot is empty.
}

func namesOf(fields []field) names {
	size := 1 << bits.Len(uint(len(fields)*4/3))
	n := names{slots: make([]nameSlot, size), shift: 64 - bits.Len(uint(size-1))}
	for i := range fields {
		h := foldedHash([]byte(fields[i].name))
		at := n.first(h)
		for n.slots[at].field != 0 {
			at = (at + 1) % size
		}
		n.slots[at] = nameSlot{h, int32(i + 1)}
		if !fields[i].skipping {
			continue
		}
		if n.skipping == nil {
			n.skipping = make(map[string]int)
		}
		short := string(shortened(nil, []byte(fields[i].name)))
		if _, ok := n.skipping[short]; ok {
			n.skipping[short] = ambiguous
		} else {
			n.skipping[short] = i
		}
	}
	return n
}

// first is where the search for a hash begins.
func (n *names) first(hash uint64) int {
	if n.shift == 64 {
		return 0
	}
	return int(hash >> n.shift)
}

// find is the index of the field for a name, or -1, or ambiguous.
func (n *names) find(fields []field, name []byte) int {
	hash, folded := foldedHash(name), -1
	for at := n.first(hash); ; at = (at + 1) & (len(n.slots) - 1) {
		s := &n.slots[at]
		if s.field == 0 {
			if n.skipping != nil {
				if same, ok := n.skipping[string(shortened(nil, name))]; ok {
					return same
				}
			}
			return folded
		}
		if s.hash != hash {
			continue
		}
		i := int(s.field - 1)
		if fields[i].name == string(name) {
			return i
		}
		if fields[i].folds && (folded < 0 || fields[i].order < fields[folded].order) && equalFold(fields[i].name, name) {
			folded = i
		}
	}
}

const hashFactor = 0x9e3779b97f4a7c15 // 2^64 by the golden ratio.

// foldedHash is a hash of name that is equal for names that equalFold finds equal.
func foldedHash(name []byte) uint64 {
	h, i := uint64(len(name)), 0
	var high uint64
	for ; i+8 <= len(name); i += 8 {
		w := word(name, i)
		high |= w
		h = (bits.RotateLeft64(h, 29) ^ upper(w)) * hashFactor
	}
	var last uint64
	for j := i; j < len(name); j++ {
		last = last<<8 | uint64(name[j])
	}
	if (high|last)&highs != 0 {
		return foldedHash(fold(name))
	}
	h = (bits.RotateLeft64(h, 29) ^ upper(last)) * hashFactor
	return h ^ h>>32
}

// upper is w, bytes of ASCII, with small letters made large ones.
func upper(w uint64) uint64 {
	low := w &^ highs
	small := (low + (0x80-'a')*ones) &^ (low + (0x7f-'z')*ones) & highs
	return w - small>>2
}

// fold is name in ASCII if it can be: every letter is replaced by the smallest that differs from it in case
// only, which is the large letter for those of ASCII. Other letters become numbers, in ASCII too, so that
// foldedHash ends.
func fold(name []byte) []byte {
	var out []byte
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRune(name[i:])
		i += size
		r = smallest(r)
		for ; r >= utf8.RuneSelf; r >>= 6 {
			out = append(out, byte(r&0x3f))
		}
		out = append(out, byte(r))
	}
	return out
}

// shortened appends a name without its dashes and underscores, and with each letter replaced by the smallest one that differs from it
// in case only.
func shortened(out, name []byte) []byte {
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRune(name[i:])
		if i += n; r != '_' && r != '-' {
			out = utf8.AppendRune(out, smallest(r))
		}
	}
	return out
}

// smallest is the smallest of the letters that differ from r in case only.
func smallest(r rune) rune {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
}

// equalFold reports whether the name of a field and one in a document differ in case only. Invalid bytes are equal
// to each other, as in encoding/json.
func equalFold(field string, name []byte) bool {
	i, j := 0, 0
	for i < len(field) && j < len(name) {
		a, b := rune(field[i]), rune(name[j])
		n, m := 1, 1
		if a >= utf8.RuneSelf {
			a, n = utf8.DecodeRuneInString(field[i:])
		}
		if b >= utf8.RuneSelf {
			b, m = utf8.DecodeRune(name[j:])
		}
		if a != b && smallest(a) != smallest(b) {
			return false
		}
		i, j = i+n, j+m
	}
	return i == len(field) && j == len(name)
}
