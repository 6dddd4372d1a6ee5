// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/freehold-go/freehold/cmd/bench"
)

// The cost of JSON lines: a stream of small documents, of which one is alive at a time. The stream is longer than any
// memory that a decoder may keep, so the peak RSS says whether its memory grows with the stream.

// A lineOrder is the document of a line, some 240 bytes.
type lineOrder struct {
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

func (o *lineOrder) sum() uint64 {
	sum := uint64(o.ID) + readText(o.Customer) + readText(o.Currency) + readBool(o.Paid) + uint64(o.Total*100)
	for i := range o.Items {
		sum += readText(o.Items[i].SKU) + uint64(o.Items[i].Count) + uint64(o.Items[i].Price*100)
	}
	for _, t := range o.Tags {
		sum += readText(t)
	}
	return sum
}

// The contestants that the bar compares.
const (
	linesArena = "arenajson, Each"
	linesSonic = "sonic"
)

// differentLines is after how many lines the stream repeats itself.
const differentLines = 1000

// lineBlock is the lines that the stream consists of.
func lineBlock() (block []byte) {
	r := newSeed()
	for i := range differentLines {
		o := lineOrder{
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
func decodeLines(open func(r io.Reader) iter.Seq2[*lineOrder, error]) func(r *bench.Run) func() uint64 {
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

// byDecoder is the sequence of a decoder's documents. Each has a variable of its own, as in a program that hands them on.
func byDecoder(decode func(o *lineOrder) error) iter.Seq2[*lineOrder, error] {
	return func(yield func(*lineOrder, error) bool) {
		for {
			o := new(lineOrder)
			err := decode(o)
			if errors.Is(err, io.EOF) || !yield(o, err) || err != nil {
				return
			}
		}
	}
}
