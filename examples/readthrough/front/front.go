// SPDX-License-Identifier: Apache-2.0

// Package front keeps values of Redis in the process that asks for them, in plain Go and with
// freehold.
package front

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"
)

// A Front answers for keys, and asks Redis for those that it does not keep. Any number of goroutines
// may use it.
type Front interface {
	// Get appends the value of a key to dst. The error is ErrNil if Redis has none.
	Get(ctx context.Context, dst, key []byte) ([]byte, error)
	// Loads is the number of times that it asked Redis.
	Loads() int64
	Close()
}

// ErrNil says that Redis has no value for a key.
var ErrNil = errors.New("front: no value")

// ValueSize is the size of each value in bytes.
const ValueSize = 1 << 10

// AppendKey appends key i.
func AppendKey(b []byte, i uint64) []byte { return strconv.AppendUint(append(b, "page:"...), i, 10) }

// appendValue appends the value of a key, which only the embedded server and Fill know.
func appendValue(b, key []byte) []byte {
	x := uint64(crc32.ChecksumIEEE(key)) | 1
	for range ValueSize / 8 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b
}

// A Load is a number of requests, from several goroutines, for keys of which few are popular. Another
// Seed gives other requests for keys of the same popularity.
type Load struct {
	Keys, Requests, Goroutines int
	Seed                       uint64
}

// Bounds are the upper bounds of the buckets of a Latency. The last bucket has none.
var Bounds = [...]time.Duration{
	100 * time.Microsecond, 200 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2 * time.Millisecond,
	5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond,
}

// A Latency counts requests by the time that they took.
type Latency [len(Bounds) + 1]int

func (l *Latency) add(d time.Duration) {
	i := 0
	for i < len(Bounds) && d > Bounds[i] {
		i++
	}
	l[i]++
}

// Run sends the requests, until one fails. Each response is built on the Go heap, as a service's would
// be. The sum is that of all responses, in any order.
func (l Load) Run(ctx context.Context, f Front) (sum uint64, latency Latency, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var wait sync.WaitGroup
	for g := range l.Goroutines {
		wait.Go(func() {
			n := l.Requests / l.Goroutines
			if g < l.Requests%l.Goroutines {
				n++
			}
			s, own, e := l.some(ctx, f, g, n)
			mu.Lock()
			defer mu.Unlock()
			sum += s
			for i := range latency {
				latency[i] += own[i]
			}
			if e != nil {
				cancel(e)
			}
		})
	}
	wait.Wait()
	return sum, latency, context.Cause(ctx)
}

// some is the part of one goroutine.
func (l Load) some(ctx context.Context, f Front, g, n int) (sum uint64, latency Latency, err error) {
	keys := rand.NewZipf(rand.New(rand.NewPCG(uint64(g), l.Seed)), 1.01, 1, uint64(l.Keys-1))
	var key []byte
	for range n {
		key = AppendKey(key[:0], keys.Uint64())
		began := time.Now()
		response := make([]byte, 0, 2*ValueSize)
		response = append(response, "200 OK\n"...)
		response, err = f.Get(ctx, response, key)
		latency.add(time.Since(began))
		if err != nil {
			return sum, latency, err
		}
		sum += uint64(crc32.ChecksumIEEE(response))
	}
	return sum, latency, nil
}
