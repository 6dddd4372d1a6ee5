// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"math/bits"
	"slices"
	"sort"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// A ledger finds the copies of variables by the addresses of the variables, and notices when two
// variables overlap. It serves the copy in one pass.
//
// The ledger divides the address space into lines of 512 bytes. Variables that were allocated one
// after the other share a line, so that most look-ups use the line of the look-up before. A line
// has two parts:
//
//   - the words of 8 bytes that belong to a variable, one bit each, and for words of which only
//     some bytes belong to one, as happens with strings, the bytes. Values in interfaces have bits
//     of their own, because they may overlap each other;
//   - for each word the twins of the variables that begin in it, as a list.
type ledger struct {
	table   []line // Open addressing by number. A power of 2, at most half full.
	lines   int
	last    *line // The line that was used last, or noLine.
	lowest  line  // The line of the addresses below 512, where no memory is. Pointers of C may have such an address to say something.
	starts  [][]firsts
	begun   int // How many starts are used.
	partial []byteMasks
	wide    []span // Of whole words, in order: large variables, few of whose lines are in table, and memory for copies.
	narrow  span   // Of addresses, without any of wide.
	twins   [][]twin
	copies  [][]unsafex.Ptr // Of the twins.
	count   uint32
	region  uintptr // A part of the address space that has no package-level variables.
}

const (
	lineBits  = 9
	lineBytes = 1 << lineBits
	lineWords = lineBytes / 8
)

type line struct {
	number uintptr // The line's first address by lineBytes. 0: no line.
	whole  uint64  // Words that belong to variables.
	partly uint64  // Of these, those of which only some bytes do.
	boxes  uint64  // Words that belong to values in interfaces.
	starts *firsts // Nil: no variable begins here.
	masks  uint32  // One more than the index of its byteMasks. 0: none.
}

// firsts has one more than the number of a twin for each word of a line. 0: none.
type firsts [lineWords]uint32

// byteMasks has the bytes that belong to variables for each word of a line.
type byteMasks [lineWords]byte

// A twin is one variable, or several in a row, that has a copy. It holds numbers only, so that the
// collector does not scan it; the ledger has the addresses of the copies apart.
type twin struct {
	src  uintptr
	key  uintptr // Of the type of the unit.
	room uint32  // Units.
	live uint32  // Units that are copied.
	next uint32  // One more than the number of another twin that begins in the same word.
	kind blockKind
}

// noLine is the last line of a ledger without lines. No address has its number.
var noLine = line{number: ^uintptr(0)}

const (
	fewLines    = 64
	startsPiece = 64
	twinPiece   = 256
	mostUnits   = 1<<32 - 1 // Of a twin.
	wideBytes   = 16 << 10  // Of a large variable.
)

// open makes an empty ledger usable.
func (l *ledger) open() {
	if l.table == nil {
		l.table = make([]line, fewLines)
	}
	l.last, l.narrow, l.region = &noLine, span{0, ^uintptr(0)}, noRegion
}

const noRegion = ^uintptr(0)

// close empties the ledger and keeps its memory for the next clone, within limits.
func (l *ledger) close() {
	const mostTwins = 1 << 19
	if l.count > mostTwins {
		*l = ledger{}
		return
	}
	for i, n := 0, int(l.count); n > 0; i, n = i+1, n-twinPiece {
		clear(l.copies[i][:min(n, twinPiece)])
	}
	if len(l.table) > max(fewLines, 16*l.lines) { // Clearing it would cost a small clone too much.
		l.table = make([]line, fewLines)
	} else {
		clear(l.table)
	}
	l.partial, l.wide = l.partial[:0], l.wide[:0]
	l.lines, l.begun, l.count, l.last, l.lowest = 0, 0, 0, nil, line{}
}

// line is the line of an address.
func (l *ledger) line(addr uintptr) *line {
	if n := addr >> lineBits; l.last.number == n {
		return l.last
	}
	return l.lineSlow(addr >> lineBits)
}

func (l *ledger) lineSlow(number uintptr) *line {
	if number == 0 {
		l.last = &l.lowest
		return l.last
	}
	if l.lines >= len(l.table)/2 {
		l.grow()
	}
	ln := l.slot(number)
	if ln.number == 0 {
		ln.number = number
		l.lines++
		ln.whole = l.wideIn(number << lineBits)
	}
	l.last = ln
	return ln
}

// slot is where the line of that number is or belongs.
func (l *ledger) slot(number uintptr) *line {
	mask := uint64(len(l.table) - 1)
	for i := uint64(number) * golden >> 32; ; i++ {
		ln := &l.table[i&mask]
		if ln.number == number || ln.number == 0 {
			return ln
		}
	}
}

func (l *ledger) grow() {
	old := l.table
	l.table = make([]line, 4*len(old))
	for i := range old {
		if old[i].number != 0 {
			*l.slot(old[i].number) = old[i]
		}
	}
}

// first is where the list of the twins that begin at an address, or in the same word, has its head.
func (l *ledger) first(addr uintptr) *uint32 {
	ln := l.line(addr)
	if ln.starts == nil {
		l.begin(ln)
	}
	return &ln.starts[addr%lineBytes/8]
}

// begin gives a line its starts.
func (l *ledger) begin(ln *line) {
	i := l.begun
	if i/startsPiece == len(l.starts) {
		l.starts = append(l.starts, make([]firsts, startsPiece))
	}
	l.begun++
	ln.starts = &l.starts[i/startsPiece][i%startsPiece]
	*ln.starts = firsts{}
}

// find is the twin in a list for the variable of that type at addr, and its copy. The twin is nil
// if there is none. A map at addr is the same one for all types that it is converted to.
func (l *ledger) find(first *uint32, addr uintptr, d *typeDesc, kind blockKind) (*twin, unsafex.Ptr) {
	for i := *first; i != 0; {
		t := &l.twins[(i-1)/twinPiece][(i-1)%twinPiece]
		if t.src == addr && (t.key == d.key || kind == isMap) && (t.kind == kind || kind == isMemory && t.kind == isShared) {
			return t, l.copies[(i-1)/twinPiece][(i-1)%twinPiece]
		}
		i = t.next
	}
	return nil, nil
}

// add puts a twin on a list.
func (l *ledger) add(first *uint32, addr uintptr, d *typeDesc, kind blockKind, room, live uint32, dst unsafex.Ptr) {
	i := l.count
	if int(i/twinPiece) == len(l.twins) {
		l.twins = append(l.twins, make([]twin, twinPiece))
		l.copies = append(l.copies, make([]unsafex.Ptr, twinPiece))
	}
	t := &l.twins[i/twinPiece][i%twinPiece]
	t.src, t.key, t.room, t.live, t.next, t.kind = addr, d.key, room, live, *first, kind
	l.copies[i/twinPiece][i%twinPiece] = dst
	l.count++
	*first = l.count
}

// claim notes that the n bytes at addr belong to one variable, and says whether none did to
// another.
func (l *ledger) claim(addr, n uintptr) bool {
	if ln, off := l.last, addr%lineBytes; ln.number == addr>>lineBits && (off|n)%8 == 0 && off+n <= lineBytes {
		words := ^uint64(0) >> (lineWords - n/8) << (off / 8)
		free := ln.whole&words == 0
		ln.whole |= words
		return free
	}
	return l.claimSlow(addr, n)
}

func (l *ledger) claimSlow(addr, n uintptr) bool { return l.claimLines(addr, n, (*ledger).claimIn) }

// claimLines claims the n bytes at addr, line by line by the function, or by claimWide if they are many.
func (l *ledger) claimLines(addr, n uintptr, claimIn func(l *ledger, ln *line, off, n uintptr) bool) bool {
	if n >= wideBytes {
		return l.claimWide(addr, n)
	}
	for {
		ln, off := l.line(addr), addr%lineBytes
		k := min(n, lineBytes-off)
		if !claimIn(l, ln, off, k) {
			return false
		}
		if n -= k; n == 0 {
			return true
		}
		addr += k
	}
}

// claimWide is claim for a large variable. It makes no lines except those of which the variable has
// a part only, because the ledger would become as large as the variable.
func (l *ledger) claimWide(addr, n uintptr) bool {
	lines := span{(addr + lineBytes - 1) &^ (lineBytes - 1), (addr + n) &^ (lineBytes - 1)}
	if head := lines.from - addr; head != 0 && !l.claimIn(l.line(addr), lineBytes-head, head) {
		return false
	}
	if tail := (addr + n) % lineBytes; tail != 0 && !l.claimIn(l.line(addr+n), 0, tail) {
		return false
	}
	for number := lines.from >> lineBits; number < lines.end>>lineBits; number++ {
		if ln := l.slot(number); ln.number != 0 {
			if ln.whole != 0 {
				return false
			}
			ln.whole = ^uint64(0)
		}
	}
	return l.widen(lines)
}

// claimRest notes that the n bytes at addr are for copies, and says whether neither a variable nor a
// value in an interface was found there.
func (l *ledger) claimRest(addr, n uintptr) bool {
	rest := span{(addr + 7) &^ 7, (addr + n) &^ 7}
	if unsafex.Size[uintptr]() < 8 && !l.claimHalves(addr, addr+n) {
		return false
	}
	if rest.from >= rest.end { // No whole word, as at the end of a chunk of values of three bytes.
		return true
	}
	from, to := rest.from>>lineBits, (rest.end-1)>>lineBits
	if to-from < uintptr(len(l.table)) {
		for number := from; number <= to; number++ {
			if ln := l.slot(number); ln.number != 0 && !ln.claimPart(rest) {
				return false
			}
		}
		return l.widen(rest)
	}
	for i := range l.table {
		if ln := &l.table[i]; ln.number >= from && ln.number <= to && !ln.claimPart(rest) {
			return false
		}
	}
	return l.widen(rest)
}

// claimHalves is claimRest for the half words at both ends of a rest, which on 32-bit systems may each hold a
// pointer. Bytes in other parts of a word are plain data. So is a value in an interface that has half a word:
// a pointer stands in the interface itself.
func (l *ledger) claimHalves(from, end uintptr) bool {
	return (from%8 != 4 || l.claimIn(l.line(from), from%lineBytes, 4)) && (end%8 != 4 || l.claimIn(l.line(end), (end-4)%lineBytes, 4))
}

// claimPart is claimRest for the part of the rest that lies in a line.
func (ln *line) claimPart(rest span) bool {
	addr := ln.number << lineBits
	from := max(addr, rest.from)
	words := wordsAt(from-addr, min(addr+lineBytes, rest.end)-from)
	free := (ln.whole|ln.boxes)&words == 0
	ln.whole |= words
	return free
}

// claimBox notes that a value in an interface has the n bytes at addr, and says whether they belong to no
// variable. Large values count as variables: they may not overlap each other.
func (l *ledger) claimBox(addr, n uintptr) bool { return l.claimLines(addr, n, (*ledger).claimBoxIn) }

// claimBoxIn is claimBox within a line.
func (l *ledger) claimBoxIn(ln *line, off, n uintptr) bool {
	ln.boxes |= wordsAt(off, n)
	return l.isFree(ln, off, n)
}

// isFree says whether n bytes in a line belong to no variable.
func (l *ledger) isFree(ln *line, off, n uintptr) bool {
	taken := ln.whole & wordsAt(off, n)
	if taken&^ln.partly != 0 {
		return false
	}
	for ; taken != 0; taken &= taken - 1 {
		word := uintptr(bits.TrailingZeros64(taken))
		from, end := max(off, 8*word)-8*word, min(off+n, 8*word+8)-8*word
		if l.partial[ln.masks-1][word]&(byte(0xFF)<<from&(byte(0xFF)>>(8-end))) != 0 {
			return false
		}
	}
	return true
}

// widen puts a span among the wide ones, and says whether it overlaps none.
func (l *ledger) widen(s span) bool {
	i := l.wideFrom(s.from)
	if i < len(l.wide) && l.wide[i].from < s.end {
		return false
	}
	l.wide = slices.Insert(l.wide, i, s)
	l.narrow = span{}
	return true
}

// wideFrom is the index of the first wide span that ends behind addr.
func (l *ledger) wideFrom(addr uintptr) int {
	return sort.Search(len(l.wide), func(i int) bool { return l.wide[i].end > addr })
}

// wideIn is the words of the line at addr that belong to wide spans.
func (l *ledger) wideIn(addr uintptr) (words uint64) {
	end := addr + lineBytes
	if addr >= l.narrow.from && end <= l.narrow.end {
		return 0
	}
	i := l.wideFrom(addr)
	l.narrow = span{0, ^uintptr(0)}
	if i > 0 {
		l.narrow.from = l.wide[i-1].end
	}
	if i < len(l.wide) {
		l.narrow.end = l.wide[i].from
	}
	for ; i < len(l.wide) && l.wide[i].from < end; i++ {
		from := max(addr, l.wide[i].from)
		words |= wordsAt(from-addr, min(end, l.wide[i].end)-from)
	}
	return words
}

// wordsAt is the words of a line that have some of the n bytes at off.
func wordsAt(off, n uintptr) uint64 {
	return ^uint64(0) << (off / 8) & (^uint64(0) >> (lineWords - 1 - (off+n-1)/8))
}

// claimIn is claim within a line.
func (l *ledger) claimIn(ln *line, off, n uintptr) bool {
	words := wordsAt(off, n)
	if (off|n)%8 == 0 {
		free := ln.whole&words == 0
		ln.whole |= words
		return free
	}
	if ln.masks == 0 {
		l.partial = append(l.partial, byteMasks{})
		ln.masks = uint32(len(l.partial))
	}
	first, last := off/8, (off+n-1)/8
	head, tail := byte(0xFF)<<(off%8), byte(0xFF)>>(7-(off+n-1)%8)
	if first == last {
		return l.claimBytes(ln, first, head&tail)
	}
	inner := words &^ (1<<first | 1<<last)
	free := ln.whole&inner == 0
	ln.whole |= inner
	return free && l.claimBytes(ln, first, head) && l.claimBytes(ln, last, tail)
}

// claimBytes is claim within a word.
func (l *ledger) claimBytes(ln *line, word uintptr, mask byte) bool {
	bit := uint64(1) << word
	taken := &l.partial[ln.masks-1][word]
	if ln.whole&bit != 0 && (ln.partly&bit == 0 || *taken&mask != 0) {
		return false
	}
	*taken |= mask
	ln.whole |= bit
	ln.partly |= bit
	return true
}
