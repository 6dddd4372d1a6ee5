// SPDX-License-Identifier: Apache-2.0

package front

import (
	"container/list"
	"context"
	"sync"
)

// Plain is a map with a list in the order of use, both on the Go heap: four objects an entry. Two
// goroutines that miss the same key both ask Redis.
type Plain struct {
	redis *Redis
	most  int64

	mu    sync.Mutex
	by    map[string]*list.Element
	used  list.List // Of *plainEntry, the latest first.
	bytes int64
	loads int64
}

type plainEntry struct {
	key   string
	value []byte
}

// NewPlain is a Front that keeps keys and values of up to a number of bytes. Map, list and what the
// collector leaves free come on top.
func NewPlain(r *Redis, bytes int64) *Plain {
	return &Plain{redis: r, most: bytes, by: map[string]*list.Element{}}
}

// Get is Front's.
func (p *Plain) Get(ctx context.Context, dst, key []byte) ([]byte, error) {
	p.mu.Lock()
	if e := p.by[string(key)]; e != nil {
		p.used.MoveToFront(e)
		value := e.Value.(*plainEntry).value // Nobody changes it, so it can be read without the lock.
		p.mu.Unlock()
		return append(dst, value...), nil
	}
	p.loads++
	p.mu.Unlock()

	value, err := p.redis.Get(ctx, nil, key)
	if err != nil {
		return dst, err
	}
	p.keep(string(key), value)
	return append(dst, value...), nil
}

func (p *Plain) keep(key string, value []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.by[key]; e != nil { // Another goroutine was faster.
		return
	}
	p.by[key] = p.used.PushFront(&plainEntry{key, value})
	p.bytes += int64(len(key) + len(value))
	for p.bytes > p.most {
		e := p.used.Remove(p.used.Back()).(*plainEntry)
		delete(p.by, e.key)
		p.bytes -= int64(len(e.key) + len(e.value))
	}
}

// Loads is Front's.
func (p *Plain) Loads() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.loads
}

// Close does nothing: the collector frees what nobody holds.
func (p *Plain) Close() {}
