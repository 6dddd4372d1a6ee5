// Package page makes the answer to a request.
package page

import "encoding/binary"

// Page is an answer.
type Page struct {
	Lines [][]byte
}

// Render makes the answer to a sender from two numbers.
func Render(subject []byte, a, b uint64) *Page {
	p := &Page{Lines: make([][]byte, 4)}
	for i := range p.Lines {
		line := make([]byte, 96)
		n := copy(line, subject)
		binary.LittleEndian.PutUint64(line[n:], a)
		binary.LittleEndian.PutUint64(line[n+8:], b+uint64(i))
		p.Lines[i] = line
	}
	return p
}
