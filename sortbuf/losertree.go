// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"bytes"
	"math"
	"math/bits"
)

// A loserTree finds the least of the heads of k sorted inputs with log2(k) comparisons: each inner
// node keeps the loser of the match that was played there, and only the winner goes up. 8 bytes of
// the key, behind the prefix that all keys have, decide most matches.
//
// The caller sets all heads and calls start. Then, again and again, it uses the head of winner,
// replaces it and calls replay.
type loserTree struct {
	compare func(a, b []byte) int // nil compares bytes.
	prefix  int
	heads   []head
	losers  []int32
	winner  int
	left    int // Heads that are not done.
}

type head struct {
	pre  uint64
	key  []byte
	done bool
}

// newLoserTree makes a tree of n inputs, whose heads are done.
func newLoserTree(n, prefix int, compare func(a, b []byte) int) *loserTree {
	k := 1 << bits.Len(uint(max(n, 1)-1))
	t := &loserTree{compare: compare, prefix: prefix, heads: make([]head, k), losers: make([]int32, k)}
	for i := range t.heads {
		t.heads[i] = head{pre: math.MaxUint64, done: true}
	}
	return t
}

// set replaces the head of an input.
func (t *loserTree) set(i int, key []byte) {
	h := &t.heads[i]
	h.key = key
	if t.compare == nil {
		h.pre = load8(key, t.prefix)
	}
}

// open sets the first head of an input.
func (t *loserTree) open(i int, key []byte) {
	t.heads[i] = head{}
	t.set(i, key)
	t.left++
}

// end says that an input has no more records.
func (t *loserTree) end(i int) {
	t.heads[i] = head{pre: math.MaxUint64, done: true}
	t.left--
}

// start plays all matches.
func (t *loserTree) start() {
	k := len(t.heads)
	winners := make([]int32, 2*k)
	for i := range k {
		winners[k+i] = int32(i)
	}
	for i := k - 1; i >= 1; i-- {
		a, b := winners[2*i], winners[2*i+1]
		if t.less(int(b), int(a)) {
			a, b = b, a
		}
		winners[i], t.losers[i] = a, b
	}
	t.winner = int(winners[1])
}

// replay plays the matches of the winner, whose head has changed.
func (t *loserTree) replay() {
	if t.compare != nil {
		t.replayCompare()
		return
	}
	w := t.winner
	for n := (w + len(t.heads)) / 2; n >= 1; n /= 2 {
		if l := int(t.losers[n]); t.less(l, w) {
			t.losers[n], w = int32(w), l
		}
	}
	t.winner = w
}

// replayCompare is replay with a comparator, without a call of less.
func (t *loserTree) replayCompare() {
	w := int32(t.winner)
	h := &t.heads[w]
	for n := (int(w) + len(t.heads)) / 2; n >= 1; n /= 2 {
		l := t.losers[n]
		other := &t.heads[l]
		if other.done {
			continue
		}
		if !h.done {
			if c := t.compare(other.key, h.key); c > 0 || c == 0 && w < l {
				continue
			}
		}
		t.losers[n], w, h = w, l, other
	}
	t.winner = int(w)
}

// less says whether the head of i comes before that of j. Of equal keys the earlier input's does.
func (t *loserTree) less(i, j int) bool {
	a, b := &t.heads[i], &t.heads[j]
	if a.pre != b.pre {
		return a.pre < b.pre
	}
	return t.lessSlow(i, j)
}

func (t *loserTree) lessSlow(i, j int) bool {
	a, b := &t.heads[i], &t.heads[j]
	if a.done || b.done {
		return !a.done
	}
	var c int
	if t.compare != nil {
		c = t.compare(a.key, b.key)
	} else {
		c = bytes.Compare(a.key, b.key)
	}
	return c < 0 || c == 0 && i < j
}
