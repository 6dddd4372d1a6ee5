// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"testing"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// A petal is an element of a package-level array.
type petal struct {
	far  *petal
	all  []petal
	rest []petal
	n    int
	own  *int
	out  *int
}

var petals [8]petal

// TestDeepCloneRootInGlobals has a root that points to one element of a package-level array. The
// element is copied with its parts, and so are slices. Pointers to the other elements are shared,
// whichever of the pointers and slices comes first.
func TestDeepCloneRootInGlobals(t *testing.T) {
	for i := range petals {
		petals[i] = petal{n: i}
	}
	defer clear(petals[:])
	root, far := &petals[2], &petals[5]
	for name, v := range map[string]petal{
		"pointer, slices": {far: far, all: petals[2:], rest: petals[5:]},
		"slices":          {all: petals[2:], rest: petals[5:]},
		"short, long":     {far: far, all: petals[2:3:3], rest: petals[2:]},
		"before":          {far: far, all: petals[1:3], rest: petals[:]},
	} {
		v.n, v.own, v.out = root.n, &root.n, &far.n
		*root = v
		cloners(t, func(t *testing.T, clone func(*petal, ...CloneOptions) *petal) {
			c := clone(root)
			if c == root || c.far != v.far || c.own != &c.n || c.out != v.out {
				t.Errorf("%s: %+v became %+v", name, v, *c)
			}
			for _, s := range [][2][]petal{{v.all, c.all}, {v.rest, c.rest}} {
				if len(s[1]) != len(s[0]) || cap(s[1]) != cap(s[0]) || &s[1][0] == &s[0][0] {
					t.Fatalf("%s: a slice of %d is one of %d now, or is shared", name, len(s[0]), len(s[1]))
				}
				for i := range s[1] {
					if s[1][i].n != s[0][i].n || (&s[1][i] == c) != (&s[0][i] == root) {
						t.Errorf("%s: element %d is %d, and the root's place is another", name, i, s[1][i].n)
					}
				}
			}
		})
	}
}

var globalLetters = [8]byte{'a', 'b', 'c'}

// TestDeepCloneStringInGlobals has pointers to the first byte of a string in a package-level array.
// The string is copied and the pointers are shared, whichever comes first.
func TestDeepCloneStringInGlobals(t *testing.T) {
	type value struct {
		before *byte
		text   string
		after  *byte
		array  *[2]byte
		any    any
	}
	at := &globalLetters[1]
	text := unsafex.StringOf(unsafex.PtrOf(at), 2)
	array := unsafex.As[[2]byte](unsafex.PtrOf(at))
	for name, v := range map[string]value{
		"before": {before: at, text: text},
		"after":  {text: text, after: at},
		"array":  {text: text, array: array},
		"any":    {text: text, any: at},
		"all":    {at, text, at, array, at},
	} {
		cloners(t, func(t *testing.T, clone func(*value, ...CloneOptions) *value) {
			c := clone(&v)
			if c.before != v.before || c.after != v.after || c.array != v.array || c.any != v.any {
				t.Errorf("%s: a pointer to a package-level variable leads elsewhere", name)
			}
			if c.text != "bc" || unsafex.StringData(c.text) == unsafex.PtrOf(at) {
				t.Errorf("%s: the string became %q, or is shared", name, c.text)
			}
		})
	}
}
