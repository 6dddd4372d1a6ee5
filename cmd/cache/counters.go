// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bytes"
	"sync"
	"sync/atomic"
)

// counters are what a connection has counted since it was last added to the server's.
type counters [counterCount]int64

const (
	cmdGet = iota
	cmdSet
	cmdFlush
	cmdTouch
	cmdMeta
	getHits
	getMisses
	deleteMisses
	deleteHits
	incrMisses
	incrHits
	decrMisses
	decrHits
	casMisses
	casHits
	casBadval
	touchHits
	touchMisses
	storeTooLarge
	storeNoMemory
	totalItems
	bytesRead
	bytesWritten
	totalConnections
	rejectedConnections
	counterCount
)

var counterNames = [counterCount]string{
	"cmd_get", "cmd_set", "cmd_flush", "cmd_touch", "cmd_meta", "get_hits", "get_misses", "delete_misses", "delete_hits", "incr_misses", "incr_hits",
	"decr_misses", "decr_hits", "cas_misses", "cas_hits", "cas_badval", "touch_hits", "touch_misses", "store_too_large", "store_no_memory", "total_items",
	"bytes_read", "bytes_written", "total_connections", "rejected_connections",
}

// totals are the counters of all connections.
type totals [counterCount]atomic.Int64

// add adds counters and sets them to zero.
func (t *totals) add(n *counters) {
	n[cmdTouch] += n[touchHits] + n[touchMisses]
	for i := range n {
		if n[i] != 0 {
			t[i].Add(n[i])
			n[i] = 0
		}
	}
}

// prefixes counts commands by what stands in their keys before the first colon: stats detail.
type prefixes struct {
	on atomic.Bool
	mu sync.Mutex
	of map[string]*[4]int64 // gets, hits, sets, deletes
}

const (
	prefixGet    = 0
	prefixSet    = 2
	prefixDelete = 3
	mostPrefixes = 10000 // Others are not counted.
)

// add counts a command, if counting is on.
func (p *prefixes) add(key []byte, what int, hit bool) {
	if !p.on.Load() {
		return
	}
	end := bytes.IndexByte(key, ':')
	if end < 0 {
		end = 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.of[string(key[:end])]
	if n == nil {
		if len(p.of) == mostPrefixes {
			return
		}
		if p.of == nil {
			p.of = map[string]*[4]int64{}
		}
		n = new([4]int64)
		p.of[string(key[:end])] = n
	}
	n[what]++
	if hit {
		n[1]++
	}
}

func (p *prefixes) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of = nil
}
