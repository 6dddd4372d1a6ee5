// SPDX-License-Identifier: Apache-2.0

package config

// ParsePlain parses src to a tree on the Go heap.
func ParsePlain(src []byte) (*File, error) {
	p := &plainParser{lexer{src: src, line: 1}}
	p.next()
	f := new(File)
	for p.kind == identifier {
		line := p.line
		f.Blocks = append(f.Blocks, p.block(p.take(), line, 0))
	}
	if p.kind != end {
		p.fail("want a block")
	}
	if p.err != nil {
		return nil, p.err
	}
	return f, nil
}

// A plainParser makes the nodes of the tree on the Go heap.
type plainParser struct{ lexer }

// take copies the bytes of the present token and skips the token.
func (p *plainParser) take() string {
	s := string(p.bytes)
	p.next()
	return s
}

// block reads a block behind its kind.
func (p *plainParser) block(kind string, line, depth int) *Block {
	b := &Block{Kind: kind, Line: line}
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
			b.Attributes = append(b.Attributes, Attribute{name, p.expression(1, 0)})
		} else {
			b.Blocks = append(b.Blocks, p.block(name, line, depth+1))
		}
	}
	p.expect('}')
	return b
}

// expression reads binary operators of at least this precedence, and their operands.
func (p *plainParser) expression(precedence, depth int) Expr {
	x := p.operand(depth)
	for p.kind.precedence() >= precedence {
		op := p.kind
		p.next()
		x = &Binary{op, x, p.expression(op.precedence()+1, depth+1)}
	}
	return x
}

// operand reads an expression without binary operators at its top.
func (p *plainParser) operand(depth int) Expr {
	if depth == maxDepth {
		p.fail("expressions nest too deeply")
		return nil
	}
	switch op := p.kind; op {
	case number:
		n := &Number{p.number()}
		p.next()
		return n
	case text:
		return &Text{p.take()}
	case identifier:
		return &Name{p.take()}
	case '-', '!':
		p.next()
		return &Unary{op, p.operand(depth + 1)}
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
func (p *plainParser) list(depth int) *List {
	p.expect('[')
	l := new(List)
	for p.kind != ']' && p.err == nil {
		l.Items = append(l.Items, p.expression(1, depth+1))
		if !p.accept(',') {
			break
		}
	}
	p.expect(']')
	return l
}
