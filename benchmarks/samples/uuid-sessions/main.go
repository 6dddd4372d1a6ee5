// Command uuid-sessions keeps 500,000 sessions in a map from the text of a UUID to a pointer.
//
// After the change the key is the UUID itself, an array of 16 bytes, and the session lies in the
// map by value: neither has a pointer, and the collector skips the map.
package main

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/google/uuid"

	"github.com/freehold-go/freehold/benchmarks/samples/layers"
	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

const sessions = 500_000

type session struct {
	user, seen uint64
	hits       uint32
}

func main() {
	load.Main(load.Sample{Ops: 1_200_000, Before: before, After: after})
}

// identifier is the UUID of session n: made from n, so that every run has the same.
func identifier(n int) (id uuid.UUID) {
	binary.LittleEndian.PutUint64(id[:], uint64(n)*0x9E3779B97F4A7C15)
	binary.LittleEndian.PutUint64(id[8:], uint64(n))
	return id
}

// text is the UUID of session n as it stands in a request.
func text(n uint64) []byte {
	id := identifier(int(n))
	buffer = buffer[:36]
	hex.Encode(buffer, id[:4])
	hex.Encode(buffer[9:], id[4:6])
	hex.Encode(buffer[14:], id[6:8])
	hex.Encode(buffer[19:], id[8:10])
	hex.Encode(buffer[24:], id[10:])
	for _, i := range []int{8, 13, 18, 23} {
		buffer[i] = '-'
	}
	return buffer
}

var buffer = make([]byte, 36)

// number is the session that the i-th request is about.
func number(i int) uint64 { return uint64(i) * 0x9E3779B97F4A7C15 >> 20 % sessions }

func before() load.Op {
	table := map[string]*session{}
	for n := range sessions {
		table[identifier(n).String()] = &session{user: uint64(n)}
	}
	find := func(n uint64) (uint64, uint64) {
		s := table[string(text(n))]
		s.hits++
		s.seen = n
		return s.user, uint64(s.hits)
	}
	return func(i int) { layers.Serve(number(i), find) }
}

func after() load.Op {
	table := map[uuid.UUID]session{}
	for n := range sessions {
		table[identifier(n)] = session{user: uint64(n)}
	}
	find := func(n uint64) (uint64, uint64) {
		id, err := uuid.ParseBytes(text(n))
		if err != nil {
			panic(err)
		}
		s := table[id]
		s.hits++
		s.seen = n
		table[id] = s
		return s.user, uint64(s.hits)
	}
	return func(i int) { layers.Serve(number(i), find) }
}
