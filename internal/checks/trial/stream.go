// SPDX-License-Identifier: Apache-2.0

package trial

// A Stream is what remains of the bytes that drive a model.
type Stream []byte

// Byte takes the next byte, 0 at the end.
func (s *Stream) Byte() byte {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return b
}

// Noise is a stream of n random bytes, always the same ones for a seed.
func Noise(seed, n int) []byte {
	r := Random(seed)
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Next(256))
	}
	return b
}

// Random is a small generator (xorshift64). Each goroutine has its own, so that a failure does not
// depend on the order in which goroutines run.
type Random uint64

// Next returns a number in 0..n-1.
func (r *Random) Next(n int) int {
	x := *r
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	*r = x
	return int(uint64(x) >> 33 % uint64(n))
}
