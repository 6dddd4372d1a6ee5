// SPDX-License-Identifier: Apache-2.0

// Package cache keeps entries in memory that the garbage collector neither scans nor counts, within a
// budget that holds.
//
//	c, err := cache.New(cache.Options{Bytes: 256 << 20, TTL: time.Hour})
//	err = c.Set([]byte("key"), []byte("value"))
//	value, ok := c.Get(nil, []byte("key"))
//	value, err = c.GetOrLoad(ctx, []byte("other"), load)
//
// A [Cache] maps bytes to bytes. [Values] maps keys of a type, or strings, to values of a type without
// pointers. [Objects] maps them to pointers to values on the Go heap, which it hands out as they are. A [Map]
// is like Values, but evicts nothing. All methods may be called from any goroutine.
//
// # Budget
//
// Options.Bytes is all memory off the Go heap: entries and the table that finds them, about 20 bytes
// for each entry beside key and value; of Objects it is the sum of their weights. [Cache.Resize] changes it. When it is used up, entries are
// evicted: first those that were asked for once and not again. An entry may also be evicted, rarely,
// because the part of the table for its hash is full; about one in 400 is, while the table
// grows. A Map has no budget, but may have a limit, at which it returns errors.
//
// # Time
//
// An entry is not returned after its TTL, or after Idle without use. Times are in milliseconds and follow a
// monotonic clock; a saved file follows the wall clock.
//
// # Loading
//
// [Cache.GetOrLoad] calls a loader once for all who ask for a key at the same time. A Delete or a Set
// during the load wins over its result.
//
// # Beside a collector that sees little
//
// The fewer bytes the Go heap has, the more often the collector runs, since GOGC is a share of them.
// A program that keeps most of its data in a cache should call package gctune, or set GOGC higher.
//
// # What it is not
//
// It has one policy of eviction, no peers and no disk behind it. The collector marks what Objects point to; use
// values without pointers where that costs too much.
package cache
