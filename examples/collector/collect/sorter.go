// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"github.com/freehold-go/freehold/sortbuf"
)

// Sorted builds the index with a Sorter. Each collector has a Writer, and all together keep a budget:
// what exceeds it goes to files without a name. The groups come sorted, one value at a time.
func Sorted(ctx context.Context, w io.Writer, collectors, n int, memory int64) error {
	s, err := sortbuf.New(sortbuf.Options{Memory: memory})
	if err != nil {
		return err
	}
	defer s.Close() // Also if a collector fails: memory and disk are free then.
	errs := make([]error, collectors)
	var wg sync.WaitGroup
	for c := range collectors {
		pairs := s.Writer() // It is for this goroutine alone.
		wg.Go(func() {
			errs[c] = documents(c, n, func(word []byte, document uint64) error {
				// The word is copied to its place. Reserve leaves the eight bytes of the document to us.
				key, value, err := pairs.Reserve(len(word), 8)
				if err != nil {
					return err // Memory or disk is refused.
				}
				copy(key, word)
				binary.BigEndian.PutUint64(value, document)
				return nil
			})
		})
	}
	wg.Wait() // Sorted begins after the last Add has returned.
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for g, err := range sortbuf.Groups(s.Sorted(ctx), nil) {
		if err != nil {
			return err
		}
		var p posting
		for document, err := range g.Values { // Valid until the next step.
			if err != nil {
				return err
			}
			p.add(document)
		}
		if err := p.write(w, g.Key); err != nil {
			return err
		}
	}
	return nil
}
