// Command gjson-events reads batches of events with gjson and builds a tree of small objects from
// each, which dies with the batch.
//
// After the change the tree is in an arena.
package main

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

// event is a node of a batch; events of one user are a list, users are a tree by their number.
type event struct {
	next   *event
	values *value
	at     int64
}

type value struct {
	next   *value
	number float64
}

type account struct {
	left, right *account
	events      *event
	user        int64
}

// total keeps the compiler from dropping the work.
var total float64

func main() {
	load.Main(load.Sample{Ops: 1_200, Before: before, After: after})
}

func before() load.Op {
	batch := document()
	return func(int) { total += read(nil, batch) }
}

func after() load.Op {
	batch := document()
	a := arena.NewArena()
	return func(int) {
		total += read(a, batch)
		a.Reset(arena.Keep)
	}
}

// read builds the tree, on the Go heap if a is nil, and sums it up.
func read(a *arena.Arena, batch string) float64 {
	var root *account
	for rest := batch; rest != ""; {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		e := newEvent(a)
		e.at = gjson.Get(line, "t").Int()
		gjson.Get(line, "v").ForEach(func(_, number gjson.Result) bool {
			v := newValue(a)
			v.number, v.next, e.values = number.Float(), e.values, v
			return true
		})
		root = root.add(a, gjson.Get(line, "u").Int(), e)
	}
	return root.sum()
}

func newEvent(a *arena.Arena) *event {
	if a == nil {
		return new(event)
	}
	return arena.New[event](a)
}

func newValue(a *arena.Arena) *value {
	if a == nil {
		return new(value)
	}
	return arena.New[value](a)
}

func newAccount(a *arena.Arena) *account {
	if a == nil {
		return new(account)
	}
	return arena.New[account](a)
}

func (t *account) add(a *arena.Arena, user int64, e *event) *account {
	if t == nil {
		t = newAccount(a)
		t.user = user
	}
	switch {
	case user < t.user:
		t.left = t.left.add(a, user, e)
	case user > t.user:
		t.right = t.right.add(a, user, e)
	default:
		e.next, t.events = t.events, e
	}
	return t
}

func (t *account) sum() float64 {
	if t == nil {
		return 0
	}
	s := t.left.sum() + t.right.sum()
	for e := t.events; e != nil; e = e.next {
		for v := e.values; v != nil; v = v.next {
			s += v.number
		}
	}
	return s
}

func document() string {
	var b strings.Builder
	for i := range 1_000 {
		fmt.Fprintf(&b, "{\"u\":%d,\"t\":%d,\"v\":[1,2,3,4,5,6,7,8,9,8,7,6,5,4,3,2,1]}\n", i*7919%301, 1_700_000_000+i)
	}
	return strings.TrimSpace(b.String())
}
