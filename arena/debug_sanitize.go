// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// This file reports values in chunks on the Go heap to sanitizers; offheap reports values in its
// blocks.

// watched says whether the value is reported to the sanitizer. Valgrind sees the collector's reads,
// too, so that values with pointers, which the collector goes on reading, must stay allowed there;
// and it takes for red zones what others of one type may lie in.
func (v *value) watched() bool {
	return sanitize.Enabled && v.in == inChunk && (sanitize.Kind != "valgrind" || v.desc.flow != typedFlow)
}

// announce reports a new value to the sanitizer, and the fences around it if it has some. Values of
// one type with pointers or bools lie side by side, because the collector takes them for an array.
func (in *state) announce(v *value) {
	if !v.watched() {
		return
	}
	addr := unsafex.PtrAddr(v.at)
	debugmode.Add(v.block(in.self.id))
	sanitize.Fresh(addr, v.size, true)
	if v.desc.flow != typedFlow {
		sanitize.Poison(addr-fence, fence)
		sanitize.Poison(addr+v.size, fence)
	}
}

// forbid reports to the sanitizer that no code may touch the value any more. op is the function
// that freed it.
func (v *value) forbid(op string) {
	if v.watched() {
		addr := unsafex.PtrAddr(v.at)
		debugmode.Freed(addr, op, 0)
		sanitize.Freed(addr, v.size)
	}
}

// allow makes the chunk's memory accessible to the sanitizer again, because the collector gets it.
func (c *chunk) allow() {
	if sanitize.Enabled {
		sanitize.Unpoison(unsafex.PtrAddr(c.base), c.size)
	}
}
