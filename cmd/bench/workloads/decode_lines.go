// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"

	"github.com/freehold-go/freehold/cmd/bench"
)

// The cost of JSON lines: a stream of small documents, of which one is alive at a time. The stream is longer than any
// memory that a decoder may keep, so the peak RSS says whether its memory grows with the stream.

// LineOrder is the document of a line, some 240 bytes.
type LineOrder struct {
	ID       int64      `json:"id"`
	Customer string     `json:"customer"`
	Currency string     `json:"currency"`
	Paid     bool       `json:"paid"`
	Total    float64    `json:"total"`
	Items    []lineItem `json:"items"`
	Tags     []string   `json:"tags"`
}

type lineItem struct {
	SKU   string  `json:"sku"`
	Count int     `json:"count"`
	Price float64 `json:"price"`
}

func (o *LineOrder) sum() uint64 {
	sum := uint64(o.ID) + readText(o.Customer) + readText(o.Currency) + uint64(o.Total*100)
	for i := range o.Items {
		sum += readText(o.Items[i].SKU) + uint64(o.Items[i].Count) + uint64(o.Items[i].Price*100)
	}
	if o.Paid {
		sum++
	}
	for _, t := range o.Tags {
		sum += readText(t)
	}
	return sum
}

// readText reads a string.
func readText(s string) uint64 {
	if s == "" {
		return 0
	}
	return uint64(len(s)) + uint64(s[0])<<8 + uint64(s[len(s)-1])<<16
}

// differentLines is after how many lines the stream repeats itself.
const differentLines = 1000

// lineBlock is the lines that the stream consists of.
func lineBlock() (block []byte) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range differentLines {
		o := LineOrder{
			ID: 1_000_000 + int64(i), Customer: fmt.Sprintf("customer-%d@example.com", r.IntN(5000)), Currency: "EUR", Paid: r.IntN(3) > 0,
			Tags: []string{"web", fmt.Sprintf("campaign-%d", r.IntN(40))},
		}
		for range 2 {
			item := lineItem{SKU: fmt.Sprintf("SKU-%05d", r.IntN(100_000)), Count: 1 + r.IntN(4), Price: float64(100+r.IntN(20_000)) / 100}
			o.Items = append(o.Items, item)
			o.Total += float64(item.Count) * item.Price
		}
		line, err := stdjson.Marshal(o)
		if err != nil {
			panic(err)
		}
		block = append(append(block, line...), '\n')
	}
	return block
}

// A lineStream is a reader of n blocks.
type lineStream struct {
	block []byte
	at    int // In the block.
	n     int
}

func (s *lineStream) Read(p []byte) (int, error) {
	if s.n == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.block[s.at:])
	if s.at += n; s.at == len(s.block) {
		s.at = 0
		s.n--
	}
	return n, nil
}

// decodeLines is the Prepare of a contestant, which opens a sequence of the documents of a stream.
func decodeLines(open func(r io.Reader) iter.Seq2[*LineOrder, error]) func(r *bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		block := lineBlock()
		return func() (sum uint64) {
			lines := 0
			for o, err := range open(&lineStream{block: block, n: max(1, r.N/differentLines)}) {
				if err != nil {
					r.Fail(fmt.Errorf("bench: decode/lines: %w", err))
					return 0
				}
				sum += o.sum()
				lines++
			}
			r.Peak()
			return sum + uint64(lines)
		}
	}
}

// DecodeLines is the Prepare of a contestant of decode/lines with a decoder like json.Decoder: open returns its method
// Decode. Each document has a variable of its own, as in a program that passes documents on.
func DecodeLines(open func(r io.Reader) (decode func(o *LineOrder) error)) func(r *bench.Run) func() uint64 {
	return decodeLines(func(r io.Reader) iter.Seq2[*LineOrder, error] {
		decode := open(r)
		return func(yield func(*LineOrder, error) bool) {
			for {
				o := new(LineOrder)
				err := decode(o)
				if errors.Is(err, io.EOF) || !yield(o, err) || err != nil {
					return
				}
			}
		}
	})
}
