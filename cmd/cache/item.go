// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"encoding/binary"
)

// headSize is the size of what lies before the data of an item in the cache:
//
//	cas 8 | milliseconds of Unix time at which it expires, or 0, 7 | state 1 | flags 4 | seconds of Unix time of the last use 4
//
// Numbers are little-endian. The state is the lowest byte of its word.
const headSize = 24

// The bits of an item's state.
const (
	stateFetched = 1 << iota // A get has found it.
	stateStale               // md has marked it.
	stateWon                 // A client was told to load it anew.
	stateBinary              // Its key was in base64.
)

// seenEvery is how old the time of the last use gets before a get writes it anew, in seconds. It is
// memcached's.
const seenEvery = 60

// An item is what a client has stored.
type item struct {
	cas   uint64
	exp   int64 // Milliseconds of Unix time, 0 is never.
	state uint8
	flags uint32
	seen  uint32
	data  []byte
}

// itemOf splits a value of the cache. A value without a head is no item: a file that another program has
// saved may have such.
func itemOf(v []byte) (it item, ok bool) {
	if len(v) < headSize {
		return it, false
	}
	exp := binary.LittleEndian.Uint64(v[8:])
	return item{
		cas: binary.LittleEndian.Uint64(v), exp: int64(exp >> 8), state: uint8(exp),
		flags: binary.LittleEndian.Uint32(v[16:]), seen: binary.LittleEndian.Uint32(v[20:]), data: v[headSize:],
	}, true
}

// appendHead appends the head of an item.
func (it *item) appendHead(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, it.cas)
	b = binary.LittleEndian.AppendUint64(b, uint64(it.exp)<<8|uint64(it.state))
	b = binary.LittleEndian.AppendUint32(b, it.flags)
	return binary.LittleEndian.AppendUint32(b, it.seen)
}

// remaining is the number of seconds until the item expires, -1 is never. Parts of a second count as one,
// so that an item says at first what it was stored with.
func (it *item) remaining(now int64) int64 {
	if it.exp == 0 {
		return -1
	}
	return max(it.exp-now+999, 0) / 1000
}

// needsUse says that a get has to note the use of the item.
func (it *item) needsUse(now int64) bool {
	return it.state&stateFetched == 0 || now/1000-int64(it.seen) >= seenEvery
}

// unused is the number of seconds since the last use.
func (it *item) unused(now int64) int64 { return max(now/1000-int64(it.seen), 0) }

// used notes a use.
func (it *item) used(now int64) {
	it.state |= stateFetched
	it.seen = uint32(now / 1000)
}

const month = 60 * 60 * 24 * 30

// expiry is the time that an exptime of the protocol means: seconds from now on up to a month, or Unix
// time; a negative one has passed.
func expiry(exptime int32, now int64) int64 {
	switch {
	case exptime == 0:
		return 0
	case exptime < 0:
		return 1
	case exptime <= month:
		return now + int64(exptime)*1000
	}
	return int64(exptime) * 1000
}
