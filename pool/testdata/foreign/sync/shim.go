// SPDX-License-Identifier: Apache-2.0

// Package sync is what the tests of sync.Pool need, with pool.Pool in its place.
package sync

import (
	"sync"

	"github.com/freehold-go/freehold/pool"
)

type (
	Mutex     = sync.Mutex
	WaitGroup = sync.WaitGroup
)

// A Pool keeps values in boxes, because a pool.Pool keeps pointers to objects of one type.
type Pool struct {
	boxes pool.Pool[any]
	New   func() any
}

func (p *Pool) Get() any {
	b := p.boxes.Get()
	x := *b
	if x == nil && p.New != nil {
		x = p.New()
	}
	return x
}

func (p *Pool) Put(x any) {
	if x != nil {
		p.boxes.Put(&x)
	}
}

// A PoolDequeue is internal to sync.Pool. Its tests are left out.
type PoolDequeue interface {
	PushHead(val any) bool
	PopHead() (any, bool)
	PopTail() (any, bool)
}

func NewPoolDequeue(int) PoolDequeue { panic("internal to sync.Pool") }
func NewPoolChain() PoolDequeue      { panic("internal to sync.Pool") }
func Runtime_procPin() int           { return 0 }
func Runtime_procUnpin()             {}
