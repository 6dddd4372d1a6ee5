// SPDX-License-Identifier: Apache-2.0

package config

import "github.com/freehold-go/freehold/arena"

// maxDepth bounds the nesting of blocks and expressions, and with it the stack.
const maxDepth = 1000

// Parse parses src to a tree in a.
//
// The tree, its strings included, is valid until a is freed or reset, and needs src no more. To keep
// a part for longer, copy it with arena.Heap. If a is nil, the tree lies on the Go heap. Parse
// panics with a value that errors.Is offheap.ErrLimit if a has a limit that the tree exceeds.
func Parse(a *arena.Arena, src []byte) (*File, error) {
	p := &parser{lexer: lexer{src: src, line: 1}, a: a}
	p.next()
	f := arena.New[File](a)
	for p.kind == identifier {
		line := p.line
		f.Blocks = arena.Append(a, f.Blocks, p.block(p.take(), line, 0))
	}
	if p.kind != end {
		p.fail("want a block")
	}
	if p.err != nil {
		return nil, p.err // Nodes made so far stay in a until its end, as all values do.
	}
	return f, nil
}

// A parser makes the nodes of the tree in its arena. It lies on the stack or the Go heap itself:
// what ends with the call of Parse needs no arena.
type parser struct {
	lexer
	a *arena.Arena
}

// take copies the bytes of the present token to the arena and skips the token.
func (p *parser) take() string {
	s := arena.String(p.a, p.bytes)
	p.next()
	return s
}

// block reads a block behind its kind.
func (p *parser) block(kind string, line, depth int) *Block {
	b := arena.NewFrom(p.a, Block{Kind: kind, Line: line})
	if depth == maxDepth {
		p.fail("blocks nest too deeply")
		return b
	}
	if p.kind == text {
		b.Label = p.take()
	}
	p.expect('{')
	for p.kind == identifier {
		line := p.line
		name := p.take()
		if p.accept('=') {
			// arena.Append grows the slice in the arena. append would move it to the Go heap when
			// it outgrows its capacity: correct, but no gain.
			b.Attributes = arena.Append(p.a, b.Attributes, Attribute{name, p.expression(1, 0)})
		} else {
			b.Blocks = arena.Append(p.a, b.Blocks, p.block(name, line, depth+1))
		}
	}
	p.expect('}')
	return b
}

// expression reads binary operators of at least this precedence, and their operands.
func (p *parser) expression(precedence, depth int) Expr {
	x := p.operand(depth)
	for p.kind.precedence() >= precedence {
		op := p.kind
		p.next()
		x = arena.NewFrom(p.a, Binary{op, x, p.expression(op.precedence()+1, depth+1)})
	}
	return x
}

// operand reads an expression without binary operators at its top.
func (p *parser) operand(depth int) Expr {
	if depth == maxDepth {
		p.fail("expressions nest too deeply")
		return nil
	}
	switch op := p.kind; op {
	case number:
		n := arena.NewFrom(p.a, Number{p.number()})
		p.next()
		return n
	case text:
		return arena.NewFrom(p.a, Text{p.take()})
	case identifier:
		return arena.NewFrom(p.a, Name{p.take()})
	case '-', '!':
		p.next()
		return arena.NewFrom(p.a, Unary{op, p.operand(depth + 1)})
	case '(':
		p.next()
		x := p.expression(1, depth+1)
		p.expect(')')
		return x
	case '[':
		return p.list(depth)
	}
	p.fail("want an expression")
	return nil
}

// list reads a list from its bracket on.
func (p *parser) list(depth int) *List {
	p.expect('[')
	l := arena.New[List](p.a)
	for p.kind != ']' && p.err == nil {
		l.Items = arena.Append(p.a, l.Items, p.expression(1, depth+1))
		if !p.accept(',') {
			break
		}
	}
	p.expect(']')
	return l
}
