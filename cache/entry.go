// SPDX-License-Identifier: Apache-2.0

package cache

// An entry is bytes in a segment:
//
//	flags 1 | key length - 1: 1 or 2 | room w | value length w | deadlines 6 each, if any | key | value | unused room
//
// w is 1, 2 or 4 bytes. All but the value length, the deadline and the value stay as they were
// written until the segment is used again; those three change under the lock of the entry's bucket.
// Numbers are little-endian.
//
// A program that keeps a slice that View gave it, and writes to it, can change any byte of an entry. So
// no reader trusts a length: what would reach beyond the segment is cut. headRoom bytes at the end of each
// segment are not used, so that the head of whatever seems to be an entry lies in the segment.

const (
	flagWidth    = 3      // log2 of w.
	flagLongKey  = 1 << 2 // The key length has two bytes.
	flagDeadline = 1 << 3 // It expires.
	flagIdle     = 1 << 4 // It expires if it is not used.
	flagAbsent   = 1 << 5 // The loader said ErrNotFound.
	flagLayout   = 31

	mostKey      = 64 << 10
	deadlineSize = 6
	headRoom     = 32 // At least the longest head: 3 + 2*8 + 2*deadlineSize bytes. No entry has a w of 8, but seems to, if its flags were overwritten.
	mostDeadline = 1<<(8*deadlineSize) - 1
)

// keyAt is where the key begins, by the flags of the layout.
var keyAt = func() (at [flagLayout + 1]uint8) {
	for f := range at {
		at[f] = uint8(2 + f>>2&1 + 2<<(f&flagWidth) + (f>>3&1+f>>4&1)*deadlineSize)
	}
	return at
}()

// An entryShape says where the parts of an entry lie.
type entryShape struct {
	flags byte
	key   int // Offset of the key.
	value int // Offset of the value.
	size  int // Bytes of the entry.
	room  int // The longest value that fits.
}

// shapeFor is the shape of an entry with room for a value of n bytes. The size is a multiple of unit.
func shapeFor(key, n, unit int, flags byte) entryShape {
	switch {
	case n > 0xffff:
		flags |= 2
	case n > 0xff:
		flags |= 1
	}
	if key > 256 {
		flags |= flagLongKey
	}
	s := entryShape{flags: flags, key: int(keyAt[flags&flagLayout])}
	s.value = s.key + key
	s.size = (s.value + n + unit - 1) &^ (unit - 1)
	s.room = s.size - s.value
	return s
}

// shapeOf is the shape of the entry at the beginning of b.
func shapeOf(b []byte) entryShape {
	s := entryShape{flags: b[0], key: int(keyAt[b[0]&flagLayout])}
	s.value = s.key + keyLen(b)
	s.room = roomOf(b)
	s.size = int(min(uint(s.value+s.room), uint(len(b))))
	return s
}

// The value of an entry of Objects is its weight, an unsigned varint. Entries of Objects begin at multiples of
// pointerUnit, and have unused room up to the next one.
const pointerUnit = 32

func keyLen(b []byte) int {
	if b[0]&flagLongKey == 0 {
		return int(b[1]) + 1
	}
	return int(b[1]) + int(b[2])<<8 + 1
}

// keyOf is the key of the entry at the beginning of b.
func keyOf(b []byte) []byte {
	at := int(keyAt[b[0]&flagLayout])
	end := at + keyLen(b)
	if end > len(b) {
		return nil
	}
	return b[at:end:end]
}

// roomOf is the longest value for which an entry has room.
func roomOf(b []byte) int {
	at, w := roomAt(b)
	return readInt(b[at:], w)
}

// roomAt is where the room stands, and the bytes that it and the length behind it have.
func roomAt(b []byte) (at, w int) { return 2 + int(b[0]>>2&1), 1 << (b[0] & flagWidth) }

// valueOf is the value of the entry at the beginning of b. The caller holds the bucket's lock, or
// knows that nobody changes the entry.
func valueOf(b []byte) []byte {
	at, w := roomAt(b)
	n := readInt(b[at+w:], w)
	v := int(keyAt[b[0]&flagLayout]) + keyLen(b)
	if uint(v+n) > uint(len(b)) {
		return nil
	}
	return b[v : v+n : v+n]
}

// write writes a whole entry to b.
func (s entryShape) write(b, key, value []byte, t deadlines) {
	b[0] = s.flags
	b[1] = byte(len(key) - 1)
	if s.flags&flagLongKey != 0 {
		b[2] = byte((len(key) - 1) >> 8)
	}
	at, w := roomAt(b)
	writeInt(b[at:], w, s.room)
	writeInt(b[at+w:], w, len(value))
	setDeadlines(b, t)
	copy(b[s.key:], key)
	copy(b[s.value:], value)
}

// setValue replaces the value of an entry, which has room for it. The caller holds the bucket's lock.
func setValue(b, value []byte) {
	at, w := roomAt(b)
	writeInt(b[at+w:], w, len(value))
	copy(b[min(int(keyAt[b[0]&flagLayout])+keyLen(b), len(b)):], value)
}

// A record is a copy of an entry, or of parts of it.
type record struct {
	key, value []byte
	weighed
	until deadlines
}

// weighed is an object of Objects; the zero value if values are bytes.
type weighed struct {
	object any
	weight int64 // If it is to be stored.
}

// deadlines are when an entry expires: at a time, or if it is not used until then. They are in
// milliseconds of the engine's clock; 0 is never.
type deadlines struct{ at, idle int64 }

// flags are the flags of an entry with these deadlines.
func (t deadlines) flags() (f byte) {
	if t.at != 0 {
		f = flagDeadline
	}
	if t.idle != 0 {
		f |= flagIdle
	}
	return f
}

// first is the earlier one, 0 if there is none.
func (t deadlines) first() int64 {
	if t.at == 0 || t.idle != 0 && t.idle < t.at {
		return t.idle
	}
	return t.at
}

func deadlinesOf(b []byte) (t deadlines) {
	if b[0]&(flagDeadline|flagIdle) == 0 {
		return t
	}
	at, w := roomAt(b)
	at += 2 * w
	if b[0]&flagDeadline != 0 {
		t.at = readTime(b[at:])
		at += deadlineSize
	}
	if b[0]&flagIdle != 0 {
		t.idle = readTime(b[at:])
	}
	return t
}

// setDeadlines changes the deadlines of an entry, which has the same ones of them. The caller holds
// the bucket's lock.
func setDeadlines(b []byte, t deadlines) {
	at, w := roomAt(b)
	at += 2 * w
	if b[0]&flagDeadline != 0 {
		writeTime(b[at:], t.at)
		at += deadlineSize
	}
	if b[0]&flagIdle != 0 {
		writeTime(b[at:], t.idle)
	}
}

func readInt(b []byte, w int) (n int) {
	switch w {
	case 1:
		return int(b[0])
	case 2:
		return int(b[0]) | int(b[1])<<8
	}
	for i := range w {
		n |= int(b[i]) << (8 * i)
	}
	return n & (1<<31 - 1)
}

func writeInt(b []byte, w, n int) {
	for i := range w {
		b[i] = byte(n >> (8 * i))
	}
}

func readTime(b []byte) (t int64) {
	for i := range deadlineSize {
		t |= int64(b[i]) << (8 * i)
	}
	return t
}

func writeTime(b []byte, t int64) {
	for i := range deadlineSize {
		b[i] = byte(t >> (8 * i))
	}
}
