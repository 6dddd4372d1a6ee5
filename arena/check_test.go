// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"testing"

	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/invariants"
)

// TestChecks breaks each invariant of an arena or of a store of its own and expects the check that
// stands for it to say so. Without checks nothing happens.
func TestChecks(t *testing.T) {
	chunked(t)
	if debugmode.Current().On() {
		t.Skip("a mode keeps values elsewhere")
	}
	for _, c := range []struct {
		name, want string
		harm       func(a *Arena)
		then       func(a *Arena)
	}{
		{"limit", "position", func(a *Arena) { a.words.chunk.limit = a.words.chunk.size + 8 }, cutWord},
		{"chunk of another arena", "has a chunk of arena 12345", func(a *Arena) { r := new(record); r.id.Store(12345); a.words.chunk.owner.Store(r) }, cutWord},
		{"whole values", "no whole values", func(a *Arena) { a.typed[0].chunk.used++ }, func(a *Arena) {
			_, _ = a.typed[0].cut(a.typed[0].desc.size, 1, false)
		}},
		{"whole words", "no whole words", func(*Arena) {}, func(a *Arena) { _, _ = a.words.cut(4, 4, true) }},
		{"no chunk", "have none has position 8", func(*Arena) { noChunk.used = 8 }, cutWord},
		{"size", "with size", func(a *Arena) { a.words.chunk.size = classBytes(a.words.chunk.class) + 8 }, cutWord},
		{"type", "of another type", func(a *Arena) { a.words.chunk.desc = a.typed[0].desc }, reset},
		{"index", "the index does not lead", func(a *Arena) { index.remove(a.words.chunk) }, reset},
		{"bytes held", "counted were", func(a *Arena) { a.rec.held.Add(8) }, reset},
		{"a lost chunk", "counted were", func(a *Arena) { a.words.chunk = &noChunk }, reset},
		{"rewind", "counted were", func(a *Arena) { a.rec.held.Add(8) }, func(a *Arena) { a.rewind("Rewind", Checkpoint{a.id, a.marks[0].serial}, false) }},
		{"free", "counted were", func(a *Arena) { a.rec.held.Add(8) }, (*Arena).Free},
		{"spare", "with position 8", func(a *Arena) {
			MakeSlice[int64](a, 10, 10)
			MakeSlice[int64](a, 10_000, 10_000) // A second chunk, too large to become one with the first: one is open after Reset, the other is spare.
			reset(a)
			a.words.spareLarge.used = 8
		}, func(a *Arena) { a.checkChunks() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !invariants.Enabled {
				t.Skip("the checks are not compiled in; see the build tag invariants")
			}
			defer func() { noChunk.used = 0 }()
			a := NewArena()
			New[int64](a)
			New[node](a)
			a.Checkpoint()
			c.harm(a)
			testenv.ExpectBroken(t, c.want, func() { c.then(a) })
		})
	}
}

func cutWord(a *Arena) { _, _ = a.words.cut(8, 8, true) }

func reset(a *Arena) { a.reset("Reset", Keep) }

func TestStoreChecks(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("the checks are not compiled in; see the build tag invariants")
	}
	chunkIn := func(s *chunkStore) (*shard, *chunk) {
		s.put(makeChunk(wordFlow, nil, 3))
		for i := range s.shards {
			if sh := &s.shards[i]; sh.bytes.Load() != 0 {
				return sh, sh.lists[shelf{nil, wordFlow, 3}]
			}
		}
		panic("the chunk is not in the store")
	}
	for _, c := range []struct {
		want string
		harm func(s *chunkStore, sh *shard, c *chunk)
	}{
		{"counted were", func(_ *chunkStore, sh *shard, _ *chunk) { sh.bytes.Add(8) }},
		{"-8 in all", func(s *chunkStore, _ *shard, _ *chunk) { s.kept.Store(-8) }},
		{"on a shelf of class 3", func(_ *chunkStore, _ *shard, c *chunk) { c.class++ }},
		{"has owner 7", func(_ *chunkStore, _ *shard, c *chunk) { r := new(record); r.id.Store(7); c.owner.Store(r) }},
		{"position 8", func(_ *chunkStore, _ *shard, c *chunk) { c.used = 8 }},
		{"an empty shelf of class 9", func(_ *chunkStore, sh *shard, _ *chunk) { sh.lists[shelf{nil, wordFlow, 9}] = nil }},
	} {
		s := &chunkStore{}
		s.timing.Store(true) // No clock.
		sh, kept := chunkIn(s)
		c.harm(s, sh, kept)
		testenv.ExpectBroken(t, c.want, func() { sh.checkShelves(s) })
	}
}
