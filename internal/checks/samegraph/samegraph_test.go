// SPDX-License-Identifier: Apache-2.0

package samegraph

import (
	"strings"
	"testing"
)

type node struct {
	n        int
	next     *node
	at       *int
	text     string
	list     []int
	rest     []int
	any      any
	byNumber map[*int]string
}

// graph makes a graph with a cycle, an interior pointer, overlapping slices and a map by pointers.
func graph() *node {
	n := &node{n: 1, text: strings.Repeat("t", 3)}
	n.next = &node{n: 2, next: n, text: n.text[1:]}
	n.at = &n.next.n
	all := make([]int, 6, 8)
	n.list, n.rest = all[:3], all[2:5]
	n.any = [1]*node{n.next}
	n.byNumber = map[*int]string{n.at: strings.Repeat("2", 2), new(int): ""}
	return n
}

func TestCompare(t *testing.T) {
	if err := Compare(graph(), graph()); err != nil {
		t.Errorf("two equal graphs: %v", err)
	}
	if err := Compare[any](nil, nil); err != nil {
		t.Error(err)
	}
	shared := graph()
	for name, spoil := range map[string]func(n *node){
		"number":           func(n *node) { n.n = 7 },
		"cycle":            func(n *node) { n.next.next = graph() },
		"nil":              func(n *node) { n.next = nil },
		"interior pointer": func(n *node) { n.at = new(int); *n.at = 2 },
		"text":             func(n *node) { n.text = "other" },
		"text apart":       func(n *node) { n.next.text = strings.Repeat("t", 2) },
		"length":           func(n *node) { n.list = n.list[:2] },
		"capacity":         func(n *node) { n.list = n.list[:3:4] },
		"overlap":          func(n *node) { n.rest = append(make([]int, 0, 6), n.rest...) },
		"dynamic type":     func(n *node) { n.any = n.next },
		"dynamic value":    func(n *node) { n.any = [1]*node{n} },
		"map entry":        func(n *node) { n.byNumber[n.at] = "three" },
		"map key":          func(n *node) { delete(n.byNumber, n.at); m := 2; n.byNumber[&m] = "two" },
		"map size":         func(n *node) { n.byNumber[new(int)] = "" },
		"shared variable":  func(n *node) { n.next = shared.next },
		"shared map":       func(n *node) { n.byNumber = shared.byNumber },
		"shared text":      func(n *node) { n.text = shared.text },
		"shared array":     func(n *node) { n.list, n.rest = shared.list, shared.rest },
	} {
		n := graph()
		spoil(n)
		if Compare(shared, n) == nil {
			t.Errorf("%s: the difference was not seen", name)
		}
		if Compare(n, shared) == nil {
			t.Errorf("%s: the difference was not seen the other way round", name)
		}
	}
}
