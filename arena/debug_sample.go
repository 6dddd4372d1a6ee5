// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"math"
	"math/rand/v2"

	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// Sampling leaves the fast paths as they are. Points are drawn along the memory that a bump cuts,
// each a random distance behind the last, and the limit of the current chunk never lies beyond the
// next one: so the value that reaches a point takes the slow way. A large value reaches points more
// often than a small one, and is taken in proportion less often. So each value is sampled with the
// same chance, whatever its size.

// samplePoint is how many bytes lie between two points on average, for each value that passes
// between two samples. Values smaller than this are sampled less often, in proportion to their
// size.
const samplePoint = 8

// A sampler draws the points of one bump.
type sampler struct {
	left uintptr // Bytes to the next point, from seen on.
	seen uintptr // The position of the current chunk up to which bytes are counted.
}

// allocSampled is alloc where one value in some goes to guarded pages. Values of types with
// pointers or bools stay in chunks.
func (in *state) allocSampled(op string, d *typeDesc, n int, size uintptr, zero bool) (unsafex.Ptr, error) {
	if d.flow == typedFlow {
		return in.cut(d, size, zero)
	}
	b := in.bumpFor(d)
	if b.sample == nil {
		b.sample = &sampler{left: in.debug.gap()}
	}
	b.look()
	if size >= b.sample.left {
		b.sample.left = in.debug.gap()
		if in.debug.takes(size) && debugmode.HoldSample(size) {
			v := value{size: size, desc: d, name: typeName(op, d, n), alloc: debugmode.Callers(0)}
			// Where the limit refuses it, it may well fit in the chunk that is there.
			if err := in.allocGuarded(&v); err == nil && v.at != nil {
				in.debug.values = append(in.debug.values, v)
				b.arm()
				return v.at, nil
			}
			debugmode.DropSample(size)
		}
	} else {
		b.sample.left -= size
	}
	p, err := in.cut(d, size, zero)
	b.arm()
	return p, err
}

// look counts the bytes that the fast paths have cut since the last look. It runs before values are
// made or freed.
func (b *bump) look() {
	if b.sample == nil {
		return
	}
	if used := b.chunk.used; used > b.sample.seen {
		b.sample.left -= min(used-b.sample.seen, b.sample.left)
	}
	b.sample.seen = 0
}

// arm makes the value that reaches the next point take the slow path, and no value before it.
func (b *bump) arm() {
	if c := b.chunk; b.sample != nil && c != &noChunk {
		b.sample.seen = c.used
		if b.flow == byteFlow { // The limit of words is no farther than they are zero; see zeroed.
			c.limit = c.size
		}
		c.limit = min(c.limit, c.used+max(b.sample.left, 1)-1) // A value that ends at the point has reached it.
	}
}

// mean is the average distance between points.
func (s *debugState) mean() float64 { return samplePoint * float64(s.config.Sample) }

// gap is a random distance to the next point: exponential, so that points are independent of each
// other. Where every value is sampled it is the least.
func (s *debugState) gap() uintptr {
	if s.config.Sample == 1 {
		return 1
	}
	return uintptr(min(1+rand.ExpFloat64()*s.mean(), 1<<30))
}

// takes says whether a value that has reached a point is sampled: so often that of all values one
// in config.Sample is. A value of so many bytes reaches one with the chance that the divisor is.
func (s *debugState) takes(size uintptr) bool {
	if s.config.Sample == 1 {
		return true
	}
	chance := -math.Expm1(-samplePoint/s.mean()) / -math.Expm1(-float64(max(size, samplePoint))/s.mean())
	return rand.Float64() < chance
}
