package alloctest

// A stream is what remains of the bytes that drive a model.
type stream []byte

// byte takes the next byte, 0 at the end.
func (s *stream) byte() byte {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return b
}

// noise is a stream of n random bytes, always the same ones for a seed.
func noise(seed, n int) []byte {
	r := random(seed)
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.next(256))
	}
	return b
}
