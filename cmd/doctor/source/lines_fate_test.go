// SPDX-License-Identifier: Apache-2.0

package source

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

const fateText = `package shop

var all []*node

func build(depth int) *node {
	n := &node{} // returned
	n.left = build(depth - 1) // inside
	return n
}

func (t *tree) grow(parent *node, list []int) {
	t.root = &node{} // receiver
	n := new(node) // parameter
	parent.children = append(parent.children, n)
	at := parent.children[0]
	at.next = &node{} // alias
	all = append(all, &node{}) // global
	own := &tree{} // own
	own.root = &node{} // in own
	cache.Put("a", &node{}) // put
	write(make([]byte, 10)) // read
	go run(&node{}) // started
	for i := range list {
		sum(build(i)) // round
		own.add(build(i)) // longer
		fresh := &tree{} // fresh
		fresh.add(build(i)) // in fresh
	}
	insert(own, 1) // into own
	insert(parent, 1) // into parameter
}
`

// TestFate asks where what lines make ends, by their marks.
func TestFate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shop.go")
	if err := os.WriteFile(file, []byte(fateText), 0o666); err != nil {
		t.Fatal(err)
	}
	returned, first := Fate{Returned: true}, Fate{In: []int{0}}
	for _, c := range []struct {
		mark, callee string
		inner        Fate
		round        bool
		want         Fate
	}{
		{"returned", "", Fate{}, false, returned},
		{"inside", "build", returned, false, returned},
		{"receiver", "", Fate{}, false, Fate{In: []int{-1}}},
		{"parameter", "", Fate{}, false, first},
		{"alias", "", Fate{}, false, first},
		{"global", "", Fate{}, false, Fate{Kept: true}},
		{"own", "", Fate{}, false, Fate{}},
		{"in own", "", Fate{}, false, Fate{}},
		{"put", "", Fate{}, false, Fate{Kept: true}},
		{"read", "", Fate{}, false, Fate{}},
		{"started", "", Fate{}, false, Fate{Kept: true}},
		{"round", "build", returned, true, Fate{}},
		{"longer", "build", returned, true, Fate{Kept: true}},
		{"longer", "build", returned, false, Fate{}},
		{"in fresh", "build", returned, true, Fate{}},
		{"into own", "insert", first, false, Fate{}},
		{"into parameter", "insert", first, false, first},
	} {
		for i, line := range strings.Split(fateText, "\n") {
			if !strings.HasSuffix(line, "// "+c.mark) {
				continue
			}
			fn := "(*tree).grow"
			if i < 9 {
				fn = "build"
			}
			at := &stack.Frame{Func: "example.com/shop." + fn, File: file, Line: i + 1, Package: "example.com/shop"}
			got, known := NewLines("").Fate(at, c.callee, c.inner, c.round)
			if !known || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s: %+v, known %v; want %+v", c.mark, got, known, c.want)
			}
		}
	}
}
