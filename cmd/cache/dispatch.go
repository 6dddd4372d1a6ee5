// SPDX-License-Identifier: Apache-2.0

package cache

import "bytes"

// command carries out a command. rest is what was read behind its line, and used what the command takes
// of it. If it is not enough, ok is false, and nothing was done.
func (c *conn) command(line, rest []byte) (used int, ok bool) {
	cmd, args := line, []byte(nil)
	if i := bytes.IndexByte(line, ' '); i >= 0 {
		cmd, args = line[:i], line[i:]
	}
	c.noreply = false
	switch string(cmd) {
	case "get":
		c.get(wantGet, args)
		return 0, true
	case "gets":
		c.get(wantGets, args)
		return 0, true
	case "mg":
		c.metaGet(args)
		return 0, true
	}
	c.runBatch() // The answers keep the order of the commands, and so does what they do.
	if c.ended {
		return 0, true
	}
	switch string(cmd) {
	case "set":
		return c.storage(modeSet, false, args, rest)
	case "add":
		return c.storage(modeAdd, false, args, rest)
	case "replace":
		return c.storage(modeReplace, false, args, rest)
	case "append":
		return c.storage(modeAppend, false, args, rest)
	case "prepend":
		return c.storage(modePrepend, false, args, rest)
	case "cas":
		return c.storage(modeSet, true, args, rest)
	case "ms":
		return c.metaSet(args, rest)
	}
	c.other(string(cmd), args)
	return 0, true
}

// other carries out a command without a value.
func (c *conn) other(cmd string, line []byte) {
	c.tokens = appendTokens(c.tokens[:0], line[:min(len(line), mostLine)])
	args := c.tokens
	if n := len(args); n > 0 && string(args[n-1]) == "noreply" {
		c.noreply = true
	}
	switch cmd {
	case "gat":
		c.getAndTouch(wantGet, line)
	case "gats":
		c.getAndTouch(wantGets, line)
	case "touch":
		c.touchCommand(args)
	case "delete":
		c.delete(args)
	case "incr":
		c.arithmetic(args, false)
	case "decr":
		c.arithmetic(args, true)
	case "md":
		c.metaDelete(line)
	case "ma":
		c.metaArithmetic(line)
	case "me":
		c.metaDebug(args)
	case "mn":
		c.noreply = false
		c.reply("MN")
	case "stats":
		c.stats(args)
	case "flush_all":
		c.flushAll(args)
	case "version":
		c.noreply = false
		c.reply("VERSION " + c.s.o.Version)
	case "verbosity":
		c.verbosity(args)
	case "cache_memlimit":
		c.memLimit(args)
	case "quit":
		c.ended = true
	case "shutdown":
		c.shutdown(args)
	default:
		if n := len(args); n > 0 && bytes.HasPrefix(args[n-1], []byte("HTTP/")) {
			c.ended = true // A web page makes a browser send this. What follows may hold commands.
			return
		}
		c.reply("ERROR")
	}
}
