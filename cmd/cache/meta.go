// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
)

const (
	mostFlags  = 20 // Tokens of a meta command.
	mostOpaque = 32 // Bytes of the token O, with its letter.
)

// A meta is what the flags of a meta command say.
type meta struct {
	key      []byte
	binary   bool // The key was in base64.
	value    bool
	quiet    bool
	noUse    bool
	stale    bool // I
	empty    bool // x
	must     bool // C
	cas      uint64
	setCas   bool // E
	newCas   uint64
	setExp   bool // T
	exp      int64
	create   bool // N
	expNew   int64
	recache  int64 // R, in seconds
	flags    uint32
	mode     byte
	delta    uint64
	first    uint64 // J
	badFlags string // The error.
}

// state is the state of an item that is created.
func (m *meta) state() uint8 {
	if m.binary {
		return stateBinary
	}
	return 0
}

// parseMeta reads the flags of a meta command.
func (c *conn) parseMeta(key, flags []byte, now int64) (m meta) {
	m.key, m.delta = key, 1
	if len(key) == 0 || len(key) > mostKey {
		m.badFlags = badFormat
		return m
	}
	c.tokens = appendTokens(c.tokens[:0], flags[:min(len(flags), mostLine)])
	if 2+len(c.tokens) > mostFlags {
		m.badFlags = "CLIENT_ERROR options flags are too long"
		return m
	}
	var seen [128]bool
	for _, t := range c.tokens {
		letter, arg := t[0], t[1:]
		if letter >= 127 || seen[letter] {
			m.badFlags = "CLIENT_ERROR duplicate flag"
			return m
		}
		seen[letter] = true
		if bad := c.metaFlag(&m, letter, arg, now); bad != "" {
			m.badFlags = bad
			return m
		}
	}
	return m
}

// metaFlag reads a flag, and returns the error.
func (c *conn) metaFlag(m *meta, letter byte, arg []byte, now int64) string {
	ok := true
	seconds := func(exp *int64) {
		var n int32
		n, ok = parseInt32(arg)
		*exp = expiry(n, now)
	}
	switch letter {
	case 'k', 's', 't', 'c', 'f', 'h', 'l', 'P', 'L':
	case 'b':
		n, err := base64.StdEncoding.Decode(c.decoded[:], m.key) // The key has at most mostKey bytes.
		if err != nil || n == 0 {
			return "CLIENT_ERROR error decoding key"
		}
		m.key, m.binary = c.decoded[:n], true
	case 'v':
		m.value = true
	case 'q':
		m.quiet = true
	case 'u':
		m.noUse = true
	case 'I':
		m.stale = true
	case 'x':
		m.empty = true
	case 'O':
		if len(arg)+1 > mostOpaque {
			return "CLIENT_ERROR opaque token too long"
		}
	case 'M':
		if len(arg) > 0 {
			m.mode = arg[0]
		}
	case 'N':
		m.create = true
		seconds(&m.expNew)
	case 'T':
		m.setExp = true
		seconds(&m.exp)
	case 'R':
		seconds(&m.recache)
		m.recache = (m.recache - now + 999) / 1000
	case 'F':
		m.flags, ok = parseUint32(arg)
		if !ok {
			return badFormat
		}
	case 'C':
		m.must = true
		m.cas, ok = parseUint(arg)
	case 'E':
		m.setCas = true
		m.newCas, ok = parseUint(arg)
	case 'J':
		if m.first, ok = parseUint(arg); !ok {
			return "CLIENT_ERROR invalid numeric initial value"
		}
	case 'D':
		if m.delta, ok = parseUint(arg); !ok {
			return "CLIENT_ERROR invalid numeric delta value"
		}
	default:
		return "CLIENT_ERROR invalid flag"
	}
	if !ok {
		return "CLIENT_ERROR bad token in command line format"
	}
	return ""
}

// plainMeta says whether mg with these flags neither changes an item nor fails, so that it can be part
// of a batch.
func plainMeta(w *want) bool {
	seen := uint64(0)
	count := 2
	for t, rest := nextToken(w.flags); len(t) > 0; t, rest = nextToken(rest) {
		switch t[0] {
		case 'k', 's', 't', 'c', 'f', 'P', 'L':
		case 'O':
			if len(t) > mostOpaque {
				return false
			}
		case 'v':
			w.value = true
		case 'q':
			w.quiet = true
		case 'u':
			w.noUse = true
		default:
			return false
		}
		bit := uint64(1) << (t[0] - 'A')
		if count++; count > mostFlags || seen&bit != 0 {
			return false
		}
		seen |= bit
	}
	return true
}

// show appends what flags ask for, as far as letters has them, in their order.
func (c *conn) show(letters string, it *item, size int, key, flags []byte, binary bool, exp, now int64) {
	out := c.out
	for t, rest := nextToken(flags); len(t) > 0; t, rest = nextToken(rest) {
		if strings.IndexByte(letters, t[0]) < 0 {
			continue
		}
		switch t[0] {
		case 'T':
			it.exp = exp
			continue
		case 'O':
			out = append(append(out, ' '), t...)
			continue
		}
		out = append(out, ' ', t[0])
		switch t[0] {
		case 'k':
			if !binary {
				out = append(out, key...)
				break
			}
			out = append(base64.StdEncoding.AppendEncode(out, key), " b"...)
		case 's':
			out = appendUint(out, uint64(size))
		case 'c':
			out = appendUint(out, it.cas)
		case 'f':
			out = appendUint(out, uint64(it.flags))
		case 't':
			out = strconv.AppendInt(out, it.remaining(now), 10)
		case 'l':
			out = strconv.AppendInt(out, it.unused(now), 10)
		case 'h':
			out = append(out, '0'+it.state&stateFetched)
		}
	}
	c.out = out
}

// metaMiss answers an mg for which there is no item.
func (c *conn) metaMiss(key, flags []byte, quiet, binary bool) {
	if !quiet {
		c.out = append(c.out, "EN"...)
		c.show("Ok", nil, 0, key, flags, binary, 0, 0)
		c.out = append(c.out, "\r\n"...)
	}
}

// metaHit answers an mg. exp is what the flag T says.
func (c *conn) metaHit(it *item, key, flags []byte, value, binary bool, exp, now int64, won bool) {
	if value {
		c.out = appendUint(append(c.out, "VA "...), uint64(len(it.data)))
	} else {
		c.out = append(c.out, "HD"...)
	}
	c.show("sktcfOlhT", it, len(it.data), key, flags, binary || it.state&stateBinary != 0, exp, now)
	if it.state&stateWon != 0 {
		c.out = append(c.out, " Z"...)
	}
	if it.state&stateStale != 0 {
		c.out = append(c.out, " X"...)
	}
	if won {
		c.out = append(c.out, " W"...)
	}
	c.out = append(c.out, "\r\n"...)
	if value {
		c.out = append(append(c.out, it.data...), "\r\n"...)
	}
}

// metaGetSlow carries out an mg that may change the item.
func (c *conn) metaGetSlow(key, flags []byte) {
	now := c.s.now()
	m := c.parseMeta(key, flags, now)
	if m.badFlags != "" {
		c.reply(m.badFlags)
		return
	}
	defer c.s.lock(m.key).Unlock()
	it, ok := c.load(m.key, now)
	won, changed := false, false
	switch {
	case !ok && !m.create:
		c.countGet(m.key, false)
		c.metaMiss(m.key, flags, m.quiet, m.binary)
		return
	case !ok:
		it = item{cas: m.newCas, exp: m.expNew, state: m.state(), seen: uint32(now / 1000)}
		if !m.setCas {
			it.cas = c.s.nextCas()
		}
		won, changed = true, true
		c.countGet(m.key, false)
	default:
		c.countGet(m.key, true)
		if m.must && m.cas == it.cas {
			m.value = false
		}
		left := it.remaining(now)
		if m.setExp {
			left = (&item{exp: m.exp}).remaining(now)
			changed = true
		}
		won = it.state&stateWon == 0 && (it.state&stateStale != 0 || left >= 0 && left < m.recache)
	}
	shown := it // As it was before. The flags t and T take effect in their order.
	if m.setExp && ok {
		it.exp = m.exp
	}
	if won {
		it.state |= stateWon
		changed = true
	}
	if !m.noUse && ok && it.needsUse(now) {
		it.used(now)
		changed = true
	}
	if changed && c.put(m.key, it, now, it.data) != nil {
		c.counts[storeNoMemory]++
		if !ok { // Nobody has won.
			c.metaMiss(m.key, flags, m.quiet, m.binary)
			return
		}
	}
	c.metaHit(&shown, m.key, flags, m.value, m.binary, m.exp, now, won)
}

// metaSet carries out ms.
func (c *conn) metaSet(line, rest []byte) (used int, ok bool) {
	key, flags := nextToken(line)
	length, flags := nextToken(flags)
	size, ok := parseLength(length)
	if len(key) == 0 || !ok {
		c.reply(badFormat)
		return 0, true
	}
	m := c.parseMeta(key, flags, c.s.now())
	ch := change{
		item: item{cas: m.newCas, exp: m.exp, state: m.state(), flags: m.flags}, newCas: m.setCas,
		cas: m.cas, must: m.must, stale: m.stale, create: m.create,
	}
	switch m.mode {
	case 0, 'S', 's':
		ch.mode = modeSet
	case 'E', 'e':
		ch.mode = modeAdd
	case 'R', 'r':
		ch.mode = modeReplace
	case 'A', 'a':
		ch.mode = modeAppend
	case 'P', 'p':
		ch.mode = modePrepend
	default:
		m.badFlags = "CLIENT_ERROR invalid mode for ms M token"
	}
	if ch.mode >= modeAppend {
		ch.item.exp = m.expNew
		ch.must = m.must && m.cas != 0
	}
	if m.badFlags == "" && int64(len(m.key))+headSize+int64(size) > c.s.o.MaxItem {
		c.remove(m.key)
		m.badFlags = c.failed(errTooLarge)
	}
	if m.badFlags != "" {
		c.reply(m.badFlags)
		return c.drop(size), true
	}
	value, ok := c.payload(size, rest)
	if !ok {
		return 0, false
	}
	c.counts[cmdSet]++
	if value == nil {
		c.reply(badChunk)
		return int(size) + 2, true
	}
	ch.item.data = value
	r, cas, n, err := c.store(m.key, &ch)
	if err != nil {
		c.reply(c.failed(err))
		return int(size) + 2, true
	}
	if r == stored && m.quiet {
		return int(size) + 2, true
	}
	if r != stored {
		n = int(size)
	}
	c.out = append(c.out, [...]string{stored: "HD", notStored: "NS", exists: "EX", notFound: "NF"}[r]...)
	c.show("Okcs", &item{cas: cas}, n, m.key, flags, m.binary, 0, 0)
	c.reply("")
	return int(size) + 2, true
}

// metaDelete carries out md.
func (c *conn) metaDelete(line []byte) {
	c.noreply = false
	now := c.s.now()
	key, flags := nextToken(line)
	m := c.parseMeta(key, flags, now)
	if m.badFlags != "" {
		c.reply(m.badFlags)
		return
	}
	defer c.s.lock(m.key).Unlock()
	it, ok := c.load(m.key, now)
	code := "HD"
	switch {
	case !ok:
		c.counts[deleteMisses]++
		code = "NF"
	case m.must && it.cas != m.cas:
		c.counts[deleteMisses]++
		code = "EX"
	case !m.empty && !m.stale:
		c.counts[deleteHits]++
		c.s.cache.Delete(m.key)
	default:
		if m.empty {
			it = item{cas: it.cas, exp: m.exp, state: m.state(), flags: m.flags, seen: uint32(now / 1000)}
			c.counts[deleteHits]++
		}
		if m.stale {
			if m.setExp {
				it.exp = m.exp
			}
			it.state = it.state&^stateWon | stateStale
			if !m.setCas {
				it.cas = c.s.nextCas()
			}
		}
		if m.setCas {
			it.cas = m.newCas
		}
		if err := c.put(m.key, it, now, it.data); err != nil {
			c.failed(err)
			c.reply("SERVER_ERROR out of memory")
			return
		}
	}
	if m.quiet && code == "HD" {
		return
	}
	c.out = append(c.out, code...)
	c.show("Ok", nil, 0, m.key, flags, m.binary, 0, 0)
	c.reply("")
}

// metaArithmetic carries out ma.
func (c *conn) metaArithmetic(line []byte) {
	c.noreply = false
	now := c.s.now()
	key, flags := nextToken(line)
	m := c.parseMeta(key, flags, now)
	if len(key) == 0 {
		c.reply(badFormat)
		return
	}
	if m.badFlags != "" { // One error for all, as memcached.
		c.reply("CLIENT_ERROR invalid or duplicate flag")
		return
	}
	if strings.IndexByte("\x00Ii+Dd-", m.mode) < 0 {
		c.reply("CLIENT_ERROR invalid mode for ma M token")
		return
	}
	it, r, err := c.add(m.key, &arithmetic{
		delta: m.delta, down: m.mode == 'D' || m.mode == 'd' || m.mode == '-', must: m.must && m.cas != 0, cas: m.cas,
		newCas: m.setCas, setCas: m.newCas, create: m.create, first: m.first, expNew: m.expNew, setExp: m.setExp, exp: m.exp,
	})
	switch {
	case errors.Is(err, errNotNumber):
		c.reply(notNumeric)
		return
	case err != nil:
		c.failed(err)
		c.reply("SERVER_ERROR out of memory")
		return
	case r == stored && m.quiet:
		return
	}
	number := trimSpaces(it.data)
	letters := "ctOkT"
	switch {
	case r == notFound:
		c.out = append(c.out, "NF"...)
		letters = "Ok"
	case r == exists:
		c.out = append(c.out, "EX"...)
		letters = "Ok"
	case m.value:
		c.out = appendUint(append(c.out, "VA "...), uint64(len(number)))
	default:
		c.out = append(c.out, "HD"...)
	}
	c.show(letters, &it, 0, m.key, flags, m.binary, m.exp, now)
	if r == stored && m.value {
		c.out = append(append(c.out, "\r\n"...), number...)
	}
	c.reply("")
}

// metaDebug carries out me.
func (c *conn) metaDebug(args [][]byte) {
	c.noreply = false
	if len(args) == 0 || len(args[0]) > mostKey {
		c.reply(badFormat)
		return
	}
	key, now := args[0], c.s.now()
	c.counts[cmdMeta]++
	if len(args) > 1 && string(args[1]) == "b" {
		n, err := base64.StdEncoding.Decode(c.decoded[:], key)
		if err != nil || n == 0 {
			c.reply(badFormat)
			return
		}
		key = c.decoded[:n]
	}
	defer c.s.lock(key).Unlock()
	it, ok := c.load(key, now)
	if !ok {
		c.reply("EN")
		return
	}
	out := append(c.out, "ME "...)
	if it.state&stateBinary != 0 {
		out = base64.StdEncoding.AppendEncode(out, key)
	} else {
		out = append(out, key...)
	}
	out = strconv.AppendInt(append(out, " exp="...), it.remaining(now), 10)
	out = strconv.AppendInt(append(out, " la="...), it.unused(now), 10)
	out = appendUint(append(out, " cas="...), it.cas)
	out = append(out, " fetch="...)
	if it.state&stateFetched != 0 {
		out = append(out, "yes"...)
	} else {
		out = append(out, "no"...)
	}
	out = append(out, " cls=1 size="...)
	c.out = appendUint(out, uint64(len(key)+headSize+len(it.data)))
	c.reply("")
}
