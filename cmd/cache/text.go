// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"time"
)

// storage carries out set, add, replace, append, prepend and cas.
func (c *conn) storage(m mode, cas bool, line, rest []byte) (used int, ok bool) {
	c.tokens = appendTokens(c.tokens[:0], line[:min(len(line), mostLine)])
	args := c.tokens
	if len(args) < 4 {
		c.reply(badFormat)
		return 0, true
	}
	c.noreply = string(args[len(args)-1]) == "noreply"
	size, ok := parseLength(args[3])
	if !ok {
		c.reply(badFormat)
		return 0, true
	}
	key := args[0]
	flags, ok1 := parseUint32(args[1])
	exptime, ok2 := parseInt32(args[2])
	ch := change{mode: m, item: item{flags: flags, exp: expiry(exptime, c.s.now())}, must: cas}
	ok3 := true
	if cas {
		if ok3 = len(args) > 4; ok3 {
			ch.cas, ok3 = parseUint(args[4])
		}
	}
	if len(key) > mostKey || !ok1 || !ok2 || !ok3 {
		c.reply(badFormat)
		return c.drop(size), true
	}
	if int64(len(key))+headSize+int64(size) > c.s.o.MaxItem {
		if m == modeSet && !cas {
			c.remove(key) // Or the client would get the older one.
		}
		c.reply(c.failed(errTooLarge))
		return c.drop(size), true
	}
	value, ok := c.payload(size, rest)
	if !ok {
		return 0, false
	}
	c.counts[cmdSet]++
	c.s.prefixes.add(key, prefixSet, false)
	if value == nil {
		c.reply(badChunk)
		return int(size) + 2, true
	}
	ch.item.data = value
	r, _, _, err := c.store(key, &ch)
	if err != nil {
		c.reply(c.failed(err))
	} else {
		c.reply([...]string{stored: "STORED", notStored: "NOT_STORED", exists: "EXISTS", notFound: "NOT_FOUND"}[r])
	}
	return int(size) + 2, true
}

// drop makes the connection drop a value.
func (c *conn) drop(size int32) (used int) {
	c.skip = int(size) + 2
	return 0
}

// payload is the value of size bytes that was read behind a line. It is nil if the value does not end where
// it should, and ok is false if it was not read completely.
func (c *conn) payload(size int32, rest []byte) (value []byte, ok bool) {
	n := int(size)
	switch {
	case len(rest) < n+2:
		return nil, false
	case rest[n] != '\r' || rest[n+1] != '\n':
		return nil, true
	}
	return rest[:n], true
}

// touchCommand carries out touch.
func (c *conn) touchCommand(args [][]byte) {
	if len(args) < 2 || len(args[0]) > mostKey {
		c.reply(badFormat)
		return
	}
	exp, ok := parseInt32(args[1])
	if !ok {
		c.reply(badExptime)
		return
	}
	switch there, err := c.touch(args[0], exp, nil); {
	case err != nil:
		c.reply(c.failed(err))
	case there:
		c.reply("TOUCHED")
	default:
		c.reply("NOT_FOUND")
	}
}

// delete carries out delete.
func (c *conn) delete(args [][]byte) {
	if len(args) < 1 || len(args[0]) > mostKey {
		c.reply(badFormat)
		return
	}
	if len(args) > 1 && !c.noreply && string(args[1]) != "0" {
		c.reply(badFormat + ".  Usage: delete <key> [noreply]")
		return
	}
	c.s.prefixes.add(args[0], prefixDelete, false)
	if c.remove(args[0]) {
		c.counts[deleteHits]++
		c.reply("DELETED")
	} else {
		c.counts[deleteMisses]++
		c.reply("NOT_FOUND")
	}
}

// arithmetic carries out incr and decr.
func (c *conn) arithmetic(args [][]byte, down bool) {
	if len(args) < 2 || len(args[0]) > mostKey {
		c.reply(badFormat)
		return
	}
	delta, ok := parseUint(args[1])
	if !ok {
		c.reply("CLIENT_ERROR invalid numeric delta argument")
		return
	}
	it, r, err := c.add(args[0], &arithmetic{delta: delta, down: down})
	switch {
	case errors.Is(err, errNotNumber):
		c.reply(notNumeric)
	case err != nil:
		c.failed(err)
		c.reply("SERVER_ERROR out of memory")
	case r == notFound:
		c.reply("NOT_FOUND")
	default:
		c.reply(string(trimSpaces(it.data)))
	}
}

// flushAll carries out flush_all.
func (c *conn) flushAll(args [][]byte) {
	c.counts[cmdFlush]++
	after := int32(0)
	if len(args) > 0 && !(len(args) == 1 && c.noreply) {
		var ok bool
		if after, ok = parseInt32(args[0]); !ok {
			c.reply(badExptime)
			return
		}
	}
	delay := time.Duration(0)
	if now := c.s.now(); after > 0 {
		delay = time.Duration(expiry(after, now)-now) * time.Millisecond
	}
	c.s.flushAfter(delay)
	c.reply("OK")
}

// verbosity carries out verbosity, which changes nothing.
func (c *conn) verbosity(args [][]byte) {
	if len(args) == 0 || len(args) == 1 && c.noreply {
		c.reply("ERROR")
		return
	}
	if _, ok := parseUint32(args[0]); !ok {
		c.reply(badFormat)
		return
	}
	c.reply("OK")
}

// memLimit carries out cache_memlimit, whose argument is in MiB.
func (c *conn) memLimit(args [][]byte) {
	if len(args) == 0 {
		c.reply("ERROR")
		return
	}
	n, ok := parseUint32(args[0])
	switch {
	case !ok:
		c.reply("ERROR")
	case n < 8:
		c.reply("MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m")
	case n > 1e9/2, int64(n)<<20 < leastMemory(c.s.o.MaxItem), c.s.cache.Resize(int64(n)<<20) != nil:
		c.reply("MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust")
	default:
		c.reply("OK")
	}
}

// shutdown carries out shutdown.
func (c *conn) shutdown(args [][]byte) {
	switch {
	case !c.s.o.Shutdown:
		c.reply("ERROR: shutdown not enabled")
	case len(args) > 0 && string(args[0]) != "graceful":
		c.reply("CLIENT_ERROR invalid shutdown mode")
	default:
		c.ended = true
		c.s.requestStop()
	}
}

// requestStop asks for a graceful stop.
func (s *server) requestStop() {
	select {
	case s.stopAsked <- struct{}{}:
	default:
	}
}
