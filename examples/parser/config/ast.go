// SPDX-License-Identifier: Apache-2.0

// Package config parses a small configuration language to a syntax tree, on the Go heap and in an
// arena.
//
//	service "api" {
//		replicas = 2 * zones
//		zones    = 3
//		hosts    = ["a.example", "b.example"]
//		limits {
//			memory = 512 * (1 + 0.5)
//		}
//	}
//
// The types of the tree are the same in both ways: an arena takes values with pointers, strings,
// slices and interfaces, so a port changes how nodes are made and not what they are. [ParsePlain]
// and [Parse] differ in nothing else.
package config

// A File is the tree of one file.
type File struct {
	Blocks []*Block
}

// A Block is a kind, a label, and attributes and blocks in braces.
type Block struct {
	Kind, Label string // The label is empty if there is none.
	Line        int
	Attributes  []Attribute
	Blocks      []*Block
}

// An Attribute is a name with a value.
type Attribute struct {
	Name  string
	Value Expr
}

// An Expr is one of *[Number], *[Text], *[Name], *[List], *[Unary] and *[Binary].
type Expr interface{ expr() }

// A Number is a literal.
type Number struct{ Value float64 }

// A Text is a string literal, without its quotes and escapes.
type Text struct{ Value string }

// A Name refers to another attribute of the block.
type Name struct{ Name string }

// A List is a sequence of expressions in brackets.
type List struct{ Items []Expr }

// A Unary is an operator, - or !, before its operand.
type Unary struct {
	Op Kind
	X  Expr
}

// A Binary is an operator between its operands.
type Binary struct {
	Op   Kind
	X, Y Expr
}

func (*Number) expr() {}
func (*Text) expr()   {}
func (*Name) expr()   {}
func (*List) expr()   {}
func (*Unary) expr()  {}
func (*Binary) expr() {}
