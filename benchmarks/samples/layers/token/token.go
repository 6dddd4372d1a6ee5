// Package token reads who sends a request.
package token

// Token says who sends a request.
type Token struct {
	subject []byte
	Claims  []*Claim
}

// Claim is a statement about the sender.
type Claim struct {
	Name   string
	Issued int64
	Until  int64
}

var names = []string{"aud", "iss", "scope", "tenant"}

// Read makes the token of a request.
func Read(number uint64) *Token {
	t := &Token{subject: make([]byte, 64), Claims: make([]*Claim, len(names))}
	for i := range t.subject {
		t.subject[i] = 'a' + byte(number>>(i%40))%26
	}
	for i, name := range names {
		t.Claims[i] = &Claim{Name: name, Issued: int64(number)}
	}
	return t
}

// Subject is who sends the request.
func (t *Token) Subject() []byte { return t.subject }
