// SPDX-License-Identifier: Apache-2.0

package cache

// mostWants is the number of keys of a batch, at most.
const mostWants = 64

// get adds the keys of a get or gets to the batch.
func (c *conn) get(kind uint8, line []byte) {
	key, rest := nextToken(line)
	if len(key) == 0 || len(line) > mostKey && longKey(line) {
		c.runBatch()
		c.reply(badFormat)
		return
	}
	for len(key) > 0 {
		var following []byte
		following, rest = nextToken(rest)
		c.want(key, want{kind: kind, last: len(following) == 0})
		key = following
	}
}

// metaGet adds an mg to the batch, or carries it out.
func (c *conn) metaGet(line []byte) {
	w := want{kind: wantMeta}
	var key []byte
	key, w.flags = nextToken(line)
	if len(key) > 0 && len(key) <= mostKey && plainMeta(&w) {
		c.want(key, w)
		return
	}
	c.runBatch()
	if !c.ended {
		c.metaGetSlow(key, w.flags)
	}
}

// want adds a key to the batch.
func (c *conn) want(key []byte, w want) {
	b := &c.batch
	b.wants = append(b.wants, w)
	if b.keys = append(b.keys, key); len(b.keys) == mostWants {
		c.runBatch()
	}
}

// runBatch answers the gets of the batch.
//
// GetMany's function must not wait and not call the cache. So it stops before an answer that needs one of
// these: if the answers have to be written first, or if an item that md has marked is to be won. This is
// done here, and GetMany starts again behind it.
func (c *conn) runBatch() {
	b := &c.batch
	if len(b.wants) == 0 {
		return
	}
	b.now = c.s.now()
	for b.next = 0; b.next < len(b.wants) && !c.ended; {
		b.from, b.stop = b.next, false
		c.s.cache.GetMany(b.keys[b.from:], b.hit)
		if !b.stop {
			c.missUntil(len(b.wants))
		} else if len(c.out) < mostOut {
			c.metaGetSlow(b.keys[b.next], b.wants[b.next].flags)
			b.next++
		} else {
			c.flush()
		}
	}
	for _, i := range b.used {
		c.use(b.keys[i])
	}
	b.wants, b.keys, b.used = b.wants[:0], b.keys[:0], b.used[:0]
}

// missUntil answers for the wants before i, of which the cache has none.
func (c *conn) missUntil(i int) {
	for b := &c.batch; b.next < i; b.next++ {
		w := &b.wants[b.next]
		c.countGet(b.keys[b.next], false)
		if w.kind == wantMeta {
			c.metaMiss(b.keys[b.next], w.flags, w.quiet, false)
		} else if w.last {
			c.out = append(c.out, "END\r\n"...)
		}
	}
}

// onHit answers for a want that the cache has. It is GetMany's callback.
func (c *conn) onHit(i int, value []byte) {
	b := &c.batch
	if i += b.from; b.stop {
		return
	}
	it, ok := itemOf(value)
	if !ok || it.exp != 0 && it.exp <= b.now {
		return // The next one that is there, or the end, answers for it.
	}
	c.missUntil(i)
	w, key := &b.wants[i], b.keys[i]
	if b.stop = len(c.out) >= mostOut || w.kind == wantMeta && it.state&(stateStale|stateWon) == stateStale; b.stop {
		return
	}
	b.next = i + 1
	c.countGet(key, true)
	if !w.noUse && it.needsUse(b.now) {
		b.used = append(b.used, i)
	}
	if w.kind == wantMeta {
		c.metaHit(&it, key, w.flags, w.value, false, 0, b.now, false)
		return
	}
	c.value(&it, key, w.kind == wantGets)
	if w.last {
		c.out = append(c.out, "END\r\n"...)
	}
}

// value answers with an item.
func (c *conn) value(it *item, key []byte, cas bool) {
	out := append(append(c.out, "VALUE "...), key...)
	out = appendUint(append(out, ' '), uint64(it.flags))
	out = appendUint(append(out, ' '), uint64(len(it.data)))
	if cas {
		out = appendUint(append(out, ' '), it.cas)
	}
	out = append(append(out, "\r\n"...), it.data...)
	c.out = append(out, "\r\n"...)
}

// getAndTouch carries out gat and gats.
func (c *conn) getAndTouch(kind uint8, line []byte) {
	c.noreply = false // The last token is a key.
	first, rest := nextToken(line)
	key, after := nextToken(rest)
	if len(key) == 0 || longKey(rest) {
		c.reply(badFormat)
		return
	}
	exp, ok := parseInt32(first)
	if !ok {
		c.reply(badExptime)
		return
	}
	for ; len(key) > 0 && !c.ended; key, after = nextToken(after) {
		there, err := c.touch(key, exp, func(it item) { c.value(&it, key, kind == wantGets) })
		if err != nil {
			c.counts[storeNoMemory]++ // The client has the value; the cache has it no more.
		}
		c.countGet(key, there)
		if len(c.out) >= mostOut {
			c.flush()
		}
	}
	c.out = append(c.out, "END\r\n"...)
}
