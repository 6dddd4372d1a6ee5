// SPDX-License-Identifier: Apache-2.0

// Package cache is the verb cache of the command: freehold cache serve answers memcached's text and
// meta protocols from a cache of package cache.
//
// A connection has one goroutine and no state that another goroutine sees:
//
//  1. It reads what the client has sent into its buffer, and carries out each command that is complete.
//  2. Gets that follow one another become one batch, which GetMany looks up at once. Any other command
//     ends the batch.
//  3. The answers collect in a second buffer, and leave in one write.
//
// Flags, cas and times of an item lie in a head before its data: item.go. Each command that writes holds
// the lock of its key, so that a read and the write that depends on it are one step; gets hold none.
// The cache's Update is not used, because it gives an entry a new TTL.
package cache
