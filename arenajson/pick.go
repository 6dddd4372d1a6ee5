// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"math/bits"

	"github.com/freehold-go/freehold/arena"
)

// Pick reads a document from the first byte to the last and parses only the values at some paths. It costs little more
// than to check the document, and two thirds of what [Parse] costs.
//
// A path is the names of members, from the outermost object to the value; an empty path leads to the whole
// document. Pick sets values[i] to what Get(paths[i]...) of the parsed document returns: the last member counts
// if a name stands twice, and the zero Value is for what the document does not have. values must be as long as paths.
//
// The input is copied to a once, as Parse does, unless [Options.AliasInput] is set. If the input is no JSON, or a limit
// of a refuses memory, the error is that of Parse, and all values are zero.
func Pick(a *arena.Arena, data []byte, values []Value, paths [][]string, o ...Options) error {
	values = values[:len(paths):len(values)] // It panics if values is shorter, whatever its capacity.
	clear(values)
	d, err := newDecoder(a, data, o)
	if err != nil {
		return err
	}
	if d.copyInput() {
		p := picker{values: values, paths: paths, plain: plainPaths(paths)}
		i := d.space(0)
		switch {
		case d.strict && d.skip(i) < 0:
		case len(paths) <= mostPicked:
			i = d.pick(&p, i, 0, 1<<len(paths)-1)
		default:
			i = d.pickFrom(&p, i)
		}
		if i >= 0 && !d.stopped && !d.ends(i) {
			d.syntax()
		}
	}
	err, _, stopped := d.end()
	if stopped {
		clear(values)
		return err
	}
	return nil
}

// picker is what one call of Pick looks for. A set of paths is a word with a bit for each.
type picker struct {
	values []Value
	paths  [][]string
	plain  bool // See plainPaths.
}

// mostPicked is the number of paths that fit in a set. Documents are parsed as a whole for more.
const mostPicked = 64

// plainPaths reports whether all names have ASCII characters alone. Then a name of the document without escapes is
// one of them if and only if it has the same bytes. Otherwise an invalid byte of the document may stand for U+FFFD.
func plainPaths(paths [][]string) bool {
	var all byte
	for _, path := range paths {
		for _, name := range path {
			for i := range len(name) {
				all |= name[i]
			}
		}
	}
	return all < 0x80
}

// pick is the index behind the value at i, or -1. The first depth names of the paths in the set lead to the value.
func (d *decoder) pick(p *picker, i, depth int, set uint64) int {
	for rest := set; rest != 0; rest &= rest - 1 {
		if len(p.paths[bits.TrailingZeros64(rest)]) == depth {
			return d.pickWhole(p, i, depth, set)
		}
	}
	if set == 0 || d.peek(i) != '{' {
		return d.scanner.skip(i) // Checked by the rules of the version before.
	}
	if i = d.enter(i); i < 0 {
		return i
	}
	if d.peek(i) == '}' {
		return d.leave(i)
	}
	for {
		within, at := d.pickName(p, i, depth, set)
		if at < 0 {
			return at
		}
		if within == 0 {
			i = d.scanner.skip(at)
		} else {
			i = d.pick(p, at, depth+1, within)
		}
		if i < 0 {
			return i
		}
		i = d.after(i)
		if d.peek(i) != ',' {
			return d.close(i, '}')
		}
		i = d.space(i + 1)
	}
}

// pickName reads the name at i. It returns the paths of the set that go on with it, and the index of the
// member's value, or -1. A member before this one that has the same name counts no more.
func (d *decoder) pickName(p *picker, i, depth int, set uint64) (within uint64, value int) {
	if d.peek(i) != '"' {
		return 0, d.syntax()
	}
	begin := i + 1
	var name string
	if i = plain(d.data, begin); p.plain && d.peek(i) == '"' {
		name, i = view(d.data[begin:i]), i+1
	} else if name, i = d.text(begin); i < 0 {
		return 0, i
	}
	for rest := set; rest != 0; rest &= rest - 1 {
		k := bits.TrailingZeros64(rest)
		if p.paths[k][depth] == name {
			within |= 1 << k
			p.values[k] = Value{}
		}
	}
	return within, d.colon(i)
}

// pickWhole parses the value at i, to which one of the paths in the set leads, and returns the index behind it, or -1.
func (d *decoder) pickWhole(p *picker, i, depth int, set uint64) int {
	v, next := d.tree(i)
	if next < 0 {
		return next
	}
	for rest := set; rest != 0; rest &= rest - 1 {
		k := bits.TrailingZeros64(rest)
		p.values[k] = v.descend(p.paths[k][depth:])
	}
	return next
}

// pickFrom is pick for any number of paths, at the beginning of the document.
func (d *decoder) pickFrom(p *picker, i int) int {
	v, next := d.tree(i)
	if next < 0 {
		return next
	}
	for k, path := range p.paths {
		p.values[k] = v.descend(path)
	}
	return next
}

// descend is Get for names.
func (v Value) descend(path []string) Value {
	for _, name := range path {
		v = v.member(name)
	}
	return v
}
