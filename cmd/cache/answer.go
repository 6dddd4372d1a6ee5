// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"time"
)

// The errors of the protocol that several commands have.
const (
	badFormat   = "CLIENT_ERROR bad command line format"
	badChunk    = "CLIENT_ERROR bad data chunk"
	badExptime  = "CLIENT_ERROR invalid exptime argument"
	tooLarge    = "SERVER_ERROR object too large for cache"
	outOfMemory = "SERVER_ERROR out of memory storing object"
	notNumeric  = "CLIENT_ERROR cannot increment or decrement non-numeric value"
)

// errTooLarge says that an item is larger than the limit.
var errTooLarge = errors.New("cache: object too large")

var errNotNumber = errors.New("cache: cannot increment or decrement non-numeric value")

// reply answers with a line, unless the client wants none.
func (c *conn) reply(line string) {
	if !c.noreply {
		c.out = append(append(c.out, line...), "\r\n"...)
	}
}

// failed is the answer to a command that could not store.
func (c *conn) failed(err error) string {
	if errors.Is(err, errTooLarge) {
		c.counts[storeTooLarge]++
		return tooLarge
	}
	c.counts[storeNoMemory]++
	return outOfMemory
}

// countGet counts a get of a key.
func (c *conn) countGet(key []byte, hit bool) {
	c.counts[cmdGet]++
	if hit {
		c.counts[getHits]++
	} else {
		c.counts[getMisses]++
	}
	c.s.prefixes.add(key, prefixGet, hit)
}

// flush writes the answers.
func (c *conn) flush() {
	if len(c.out) > 0 {
		_ = c.nc.SetWriteDeadline(time.Now().Add(c.s.writeTimeout))
		n, err := c.nc.Write(c.out)
		c.counts[bytesWritten] += int64(n)
		if err != nil {
			c.ended = true
		}
	}
	c.out = c.out[:0]
	c.s.counts.add(&c.counts)
}
