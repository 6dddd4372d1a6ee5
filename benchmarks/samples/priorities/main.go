// Command priorities keeps events in a queue by time, with container/heap, which takes and gives
// values of any: each event is allocated when it is pushed and once more when it is popped.
//
// After the change the queue's elements have their type, and nothing is allocated.
package main

import (
	"container/heap"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

const waiting = 1000

type event struct {
	at int64
	id int
}

// total keeps the compiler from dropping the work.
var total int

func main() {
	load.Main(load.Sample{Ops: 3_000_000, Before: before, After: after})
}

// later is when the i-th event is due.
func later(now int64, i int) int64 { return now + int64(uint64(i)*0x9E3779B97F4A7C15>>48) }

// queue is one for container/heap.
type queue []event

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].at < q[j].at }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(v any)        { *q = append(*q, v.(event)) }

func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	*q = (*q)[:last]
	return e
}

func before() load.Op {
	q := &queue{}
	for i := range waiting {
		heap.Push(q, event{at: later(0, i), id: i})
	}
	return func(i int) {
		e := heap.Pop(q).(event)
		total += e.id
		heap.Push(q, event{at: later(e.at, i), id: i})
	}
}

func after() load.Op {
	var q typed
	for i := range waiting {
		q.push(event{at: later(0, i), id: i})
	}
	return func(i int) {
		e := q.pop()
		total += e.id
		q.push(event{at: later(e.at, i), id: i})
	}
}

// typed is the same heap for events alone.
type typed []event

func (q *typed) push(e event) {
	*q = append(*q, e)
	h := *q
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if h[parent].at <= h[i].at {
			break
		}
		h[parent], h[i] = h[i], h[parent]
		i = parent
	}
}

func (q *typed) pop() event {
	h := *q
	e, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	*q = h
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(h) {
			return e
		}
		if child+1 < len(h) && h[child+1].at < h[child].at {
			child++
		}
		if h[i].at <= h[child].at {
			return e
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
