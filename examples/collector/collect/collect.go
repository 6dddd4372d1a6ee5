// SPDX-License-Identifier: Apache-2.0

// Package collect builds an index of words in two ways: from many collectors, each of which emits
// pairs of a word and the number of a document.
package collect

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
)

// An emit takes a pair of a word and the number of a document in which it is.
type emit func(word []byte, document uint64) error

// documents emits the words of the documents of a collector.
func documents(collector, n int, f emit) error {
	r := rand.New(rand.NewPCG(uint64(collector), 44))
	var word []byte
	for i := range n {
		document := uint64(collector*n + i)
		for range 20 {
			word = fmt.Appendf(word[:0], "word-%d", int(r.ExpFloat64()*500))
			if err := f(word, document); err != nil {
				return err
			}
		}
	}
	return nil
}

// A posting is the line of a word in the index.
type posting struct {
	n   int
	sum uint64 // Of the numbers of the documents.
}

func (p *posting) add(document []byte) {
	p.n++
	p.sum += binary.BigEndian.Uint64(document)
}

func (p *posting) write(w io.Writer, word []byte) error {
	_, err := fmt.Fprintf(w, "%s %d %d\n", word, p.n, p.sum)
	return err
}
