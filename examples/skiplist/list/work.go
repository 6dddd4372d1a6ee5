// SPDX-License-Identifier: Apache-2.0

package list

import (
	"hash/crc32"
	"strconv"
	"sync"
	"sync/atomic"
)

// An Index is what both lists do.
type Index interface {
	Set(key, value []byte)
	Get(dst, key []byte) ([]byte, bool)
}

// Key appends key number i to dst. The keys look like hashes: those of consecutive numbers lie far
// apart in the list.
func Key(dst []byte, i int) []byte {
	return strconv.AppendUint(dst, 1<<63|uint64(i)*0x9E3779B97F4A7C15>>1, 16)
}

// Value appends the value of key number i to dst.
func Value(dst []byte, i int) []byte {
	return strconv.AppendInt(append(dst, "balance="...), int64(i)*7, 10)
}

// Fill sets the entries 0 to n-1 from so many goroutines at once.
func Fill(index Index, n, goroutines int) {
	divide(n, goroutines, func(from, to int) {
		var key, value []byte
		for i := from; i < to; i++ {
			key, value = Key(key[:0], i), Value(value[:0], i)
			index.Set(key, value)
		}
	})
}

// LookUp gets the entries 0 to n-1 from so many goroutines at once, and returns how many were found
// and a checksum of their values.
func LookUp(index Index, n, goroutines int) (found, sum uint64) {
	var allFound, allSum atomic.Uint64
	divide(n, goroutines, func(from, to int) {
		var key, value []byte
		found, sum := uint64(0), uint64(0)
		for i := from; i < to; i++ {
			key = Key(key[:0], i)
			var ok bool
			if value, ok = index.Get(value[:0], key); ok {
				found++
				sum += uint64(crc32.ChecksumIEEE(value))
			}
		}
		allFound.Add(found)
		allSum.Add(sum)
	})
	return allFound.Load(), allSum.Load()
}

// divide calls f for equal parts of the range from 0 to n, each in a goroutine of its own.
func divide(n, goroutines int, f func(from, to int)) {
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() { f(n*g/goroutines, n*(g+1)/goroutines) })
	}
	wg.Wait()
}
