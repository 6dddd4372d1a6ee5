// SPDX-License-Identifier: Apache-2.0

package source

import (
	"path"
	"slices"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// An Expression is an expression on a line of the source that can allocate.
type Expression struct {
	Kind Kind
	Type Type   // what each object, or each element of it, is
	Text string // the expression in short
	Into string // the slice or map that grows, for KindAppend and KindMapAssign; the function that is called, for KindInterface
}

// A Type is a type of the source in words and numbers, so that it can be kept in a file.
type Type struct {
	Name   string  // with the import paths of its parts
	Short  string  // as it is written in a package that imports the packages of its parts
	Slice  bool    // its underlying type is a slice
	Text   bool    // its values are bytes, strings, slices of bytes, or slices of these
	Struct *Struct // if it is a struct of the module's own whose fields can be moved
}

// A Struct is a struct type of the module's own, and the best order of its fields.
type Struct struct {
	Name     string // with its import path, and its type arguments
	Base     string // its name alone
	Package  string // its import path
	Declared string // file and line of its declaration, by which types of one name differ
	From, To Layout // as it is, and with its fields in the best order
	Text     string // its declaration in the best order
}

// A Kind is a kind of expression that allocates.
type Kind string

// The kinds of expressions.
const (
	KindNew       Kind = "new"        // new(T), &T{}, a variable that is moved to the heap: one T
	KindSlice     Kind = "slice"      // make([]T, n), []T{...}: any number of T
	KindAppend    Kind = "append"     // append([]T, ...): any number of T
	KindMap       Kind = "map"        // make(map[K]V), a map literal; the type is the map's
	KindMapAssign Kind = "map-assign" // m[k] = v; the type is the map's
	KindString    Kind = "string"     // concatenation and conversion; the type is that of the result
	KindInterface Kind = "interface"  // a value that is no pointer becomes an interface; the type is the value's
	KindClosure   Kind = "closure"
)

// A Sort is a call that sorts strings or slices of bytes by package sort or slices.
type Sort struct {
	Type string // []string or [][]byte, whatever the name of the type; "" if there is no call
	Line int
}

// facts answer the questions about a package's lines, without the syntax and the types that they
// came from. The cache keeps them. A change of its fields, or of how they
// are computed, needs another cacheFormat.
type facts struct {
	Name  string                 // the package's
	Files map[string][]declFacts // by the file's name
	Types []Type                 // of its expressions
}

// declFacts is a declaration of a package.
type declFacts struct {
	Func     string // the function's name as declName writes it, "" for other declarations
	From, To int    // lines
	Made     []made
	Sort     Sort // the first one
}

// made is an expression that can allocate. Those of a return statement and of an index count for
// all its lines.
type made struct {
	From, To   int // lines
	Kind       Kind
	Type       int // index in facts.Types
	Text, Into string
}

// A module's package, and what has been read of it.
type pkg struct {
	listed
	key   string // of its files in the cache, "" if it is not to be kept
	facts *facts // nil if it could not be read
}

// declaration returns the declaration around a frame's line, if it is the function that the profile
// names. The initialiser of a package's variable has no function; it is a declaration, too.
func (p *pkg) declaration(at *stack.Frame) (*declFacts, bool) {
	list := p.facts.Files[fileName(at.File)]
	for i := range list {
		d := &list[i]
		if d.From > at.Line || at.Line > d.To {
			continue
		}
		if d.Func == "" {
			return d, slices.Contains([]string{"glob", "init", "map.init"}, DeclaredName(at.Func)) // map.init is of a large map
		}
		return d, isIn(at.Func, d.Func)
	}
	return nil, false
}

func fileName(file string) string { return path.Base(stack.Slashed(file)) }
