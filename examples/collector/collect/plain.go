// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
)

// A pair lies on the Go heap, as do its word and its document.
type pair struct{ word, document []byte }

// Plain builds the index with slices. They grow by copying, the collector marks each pair, and all
// pairs of all collectors must fit in memory.
func Plain(w io.Writer, collectors, n int) error {
	var all []pair
	for c := range collectors {
		var pairs []pair
		err := documents(c, n, func(word []byte, document uint64) error {
			pairs = append(pairs, pair{slices.Clone(word), binary.BigEndian.AppendUint64(nil, document)})
			return nil
		})
		if err != nil {
			return err
		}
		all = append(all, pairs...)
	}
	slices.SortStableFunc(all, func(a, b pair) int { return bytes.Compare(a.word, b.word) })
	for i := 0; i < len(all); {
		word, p := all[i].word, posting{}
		for ; i < len(all) && bytes.Equal(all[i].word, word); i++ {
			p.add(all[i].document)
		}
		if err := p.write(w, word); err != nil {
			return err
		}
	}
	return nil
}
