// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// A Kind is the kind of a token. Operators and punctuation are their own character.
type Kind rune

// The kinds of tokens of more than one character.
const (
	end Kind = -1 - iota
	identifier
	number
	text
	And          // &&
	Or           // ||
	Equal        // ==
	NotEqual     // !=
	LessEqual    // <=
	GreaterEqual // >=
)

// A lexer cuts the source into tokens. Both parsers share it. After an error there are no further
// tokens, so a parser need not look at the error before its end.
type lexer struct {
	src  []byte
	pos  int
	line int

	kind  Kind   // Of the present token.
	bytes []byte // Of the present identifier, number or text, valid until the next one.
	plain []byte // Buffer for a text without its escapes.
	err   error
}

// fail notes the first error.
func (l *lexer) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf("config: line %d: %s", l.line, fmt.Sprintf(format, args...))
	}
	l.kind, l.bytes = end, nil
}

// accept skips the present token if it is of this kind, and reports whether it was.
func (l *lexer) accept(k Kind) bool {
	if l.kind != k {
		return false
	}
	l.next()
	return true
}

// expect skips the present token, which must be of this kind.
func (l *lexer) expect(k Kind) {
	if !l.accept(k) {
		l.fail("want %q", rune(k))
	}
}

// next goes to the next token.
func (l *lexer) next() {
	l.skipSpace()
	if l.err != nil || l.pos == len(l.src) {
		l.kind = end
		return
	}
	from := l.pos
	switch c := l.src[l.pos]; {
	case isLetter(c):
		for l.pos < len(l.src) && (isLetter(l.src[l.pos]) || isDigit(l.src[l.pos])) {
			l.pos++
		}
		l.kind, l.bytes = identifier, l.src[from:l.pos]
	case isDigit(c):
		for l.pos < len(l.src) && (isDigit(l.src[l.pos]) || l.src[l.pos] == '.') {
			l.pos++
		}
		l.kind, l.bytes = number, l.src[from:l.pos]
	case c == '"':
		l.quoted()
	default:
		l.operator()
	}
}

func (l *lexer) skipSpace() {
	for ; l.pos < len(l.src); l.pos++ {
		switch l.src[l.pos] {
		case '\n':
			l.line++
		case ' ', '\t', '\r':
		case '#':
			for l.pos+1 < len(l.src) && l.src[l.pos+1] != '\n' {
				l.pos++
			}
		default:
			return
		}
	}
}

// quoted reads a string literal.
func (l *lexer) quoted() {
	from := l.pos
	escaped := false
	for l.pos++; l.pos < len(l.src) && l.src[l.pos] != '"' && l.src[l.pos] != '\n'; l.pos++ {
		if l.src[l.pos] == '\\' {
			escaped = true
			l.pos++
		}
	}
	if l.pos >= len(l.src) || l.src[l.pos] != '"' {
		l.pos = len(l.src)
		l.fail("a text without its closing quote")
		return
	}
	l.pos++
	l.kind, l.bytes = text, l.src[from+1:l.pos-1]
	if escaped {
		l.unescape()
	}
}

// unescape replaces the escapes of the present text, in the buffer of the lexer.
func (l *lexer) unescape() {
	l.plain = l.plain[:0]
	for rest := string(l.bytes); rest != ""; {
		r, _, tail, err := strconv.UnquoteChar(rest, '"')
		if err != nil {
			l.fail("a wrong escape in %q", l.bytes)
			return
		}
		l.plain, rest = utf8.AppendRune(l.plain, r), tail
	}
	l.bytes = l.plain
}

// operator reads an operator or punctuation.
func (l *lexer) operator() {
	l.kind, l.bytes = Kind(l.src[l.pos]), nil
	l.pos++
	if l.pos == len(l.src) {
		return
	}
	switch string(l.src[l.pos-1 : l.pos+1]) {
	case "&&":
		l.kind = And
	case "||":
		l.kind = Or
	case "==":
		l.kind = Equal
	case "!=":
		l.kind = NotEqual
	case "<=":
		l.kind = LessEqual
	case ">=":
		l.kind = GreaterEqual
	default:
		return
	}
	l.pos++
}

// number is the value of the present number.
func (l *lexer) number() float64 {
	v, err := strconv.ParseFloat(string(l.bytes), 64)
	if err != nil {
		l.fail("a wrong number: %s", l.bytes)
	}
	return v
}

// precedence is that of a binary operator, or 0 for other tokens.
func (k Kind) precedence() int {
	switch k {
	case Or:
		return 1
	case And:
		return 2
	case Equal, NotEqual, LessEqual, GreaterEqual, '<', '>':
		return 3
	case '+', '-':
		return 4
	case '*', '/', '%':
		return 5
	}
	return 0
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
