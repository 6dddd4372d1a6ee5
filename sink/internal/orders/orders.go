// SPDX-License-Identifier: Apache-2.0

// Package orders makes the events of a shop: JSON of some 1.5 KB with the repetition of real data.
//
// The demo writes them to topics, and benchmarks measure with them.
package orders

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Start is the time of the first event in milliseconds since 1970: 2024-10-27T03:33:20Z.
const Start = 1_730_000_000_000

// step is the number of milliseconds from one event to the next.
const step = 7

var (
	words  = strings.Fields("cotton shirt running shoes wireless headphones stainless steel bottle çanta erkek kadın ayakkabı yazlık elbise slim fit denim jacket premium leather wallet smart watch series phone case kırmızı mavi siyah beyaz large medium small organic summer winter collection kitchen home garden outdoor toys baby kids book novel desk lamp office chair")
	brands = strings.Fields("Northwind Alpenglow Kestrel Marmara Sable Quill Tessera Vento Umbra Larkspur Bosporus Pinecone")
	cities = strings.Fields("İstanbul Ankara İzmir Bursa Antalya Berlin Paris Baku Riyadh London")
	agents = []string{
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148",
		"Mozilla/5.0 (Linux; Android 14; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Mobile Safari/537.36",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36",
	}
)

// Types are the values of the field event_type.
var Types = strings.Fields("order_created order_paid order_shipped order_delivered order_returned")

// A Generator makes events. Event i depends on the seed and on i alone. A Generator serves one goroutine at a time.
type Generator struct {
	seed uint64
	pcg  *rand.PCG
	r    *rand.Rand
}

// New is the generator of a seed.
func New(seed uint64) *Generator {
	pcg := rand.NewPCG(seed, 0)
	return &Generator{seed: seed, pcg: pcg, r: rand.New(pcg)}
}

// Time is the Kafka timestamp of event i. The field timestamp of the event is up to a second later.
func Time(i int) int64 { return Start + int64(i)*step }

// AppendKey appends the key of event i: that of its user.
func (g *Generator) AppendKey(dst []byte, i int) []byte {
	g.pcg.Seed(g.seed, uint64(i)<<1|1)
	return appendPadded(append(dst, "user-"...), g.r.Uint64N(1e8), 8)
}

// AppendValue appends the value of event i, a JSON object without line breaks.
func (g *Generator) AppendValue(dst []byte, i int) []byte {
	g.pcg.Seed(g.seed, uint64(i)<<1)
	b, r := builder{dst}, g.r
	at := Time(i) + int64(r.IntN(1000))
	b.raw(`{"event_id":"`)
	b.hex(r, 8).raw("-").hex(r, 4).raw("-").hex(r, 4).raw("-").hex(r, 12)
	b.raw(`","event_type":"`).raw(pick(r, Types))
	b.raw(`","timestamp":`).int(at)
	b.raw(`,"created_at":"`)
	b.b = time.UnixMilli(at).UTC().AppendFormat(b.b, time.RFC3339Nano)
	b.raw(`","user_id":`).int(r.Int64N(50_000_000))
	b.raw(`,"session_id":"`).hex(r, 32)
	b.raw(`","anonymous_id":null,"user_agent":"`).raw(pick(r, agents))
	b.raw(`","ip":"`).int(r.Int64N(256)).raw(".").int(r.Int64N(256)).raw(".").int(r.Int64N(256)).raw(".").int(r.Int64N(256))
	b.raw(`","order_id":`).int(r.Int64N(1e12))
	total, n := 0.0, 2+r.IntN(4)
	prices := [5]float64{}
	for i := range n {
		prices[i] = float64(r.IntN(100_000)) / 100
		total += prices[i]
	}
	b.raw(`,"total":`).float(total).raw(`,"currency":"TRY","items":[`)
	for i := range n {
		if i > 0 {
			b.raw(",")
		}
		b.item(r, prices[i])
	}
	b.address(r)
	b.metadata(r)
	b.raw(`,"note":"`).phrase(r, 3+r.IntN(12)).raw(` \"gift\"\n","experiments":[`)
	b.int(r.Int64N(1000)).raw(",").int(r.Int64N(1000)).raw(",").int(r.Int64N(1000)).raw(",").int(r.Int64N(1000))
	return append(b.b, "]}"...)
}

func (b *builder) item(r *rand.Rand, price float64) {
	b.raw(`{"sku":"SKU-`).hex(r, 10)
	b.raw(`","title":"`).phrase(r, 5)
	b.raw(`","brand":"`).raw(pick(r, brands))
	b.raw(`","quantity":`).int(1 + r.Int64N(4))
	b.raw(`,"price":`).float(price)
	b.raw(`,"discount":`).int(r.Int64N(30))
	b.raw(`,"attributes":["`).phrase(r, 1).raw(`","`).phrase(r, 1).raw(`","size:`).int(36 + r.Int64N(10))
	b.raw(`"],"in_stock":`)
	if r.IntN(10) > 0 {
		b.raw("true}")
	} else {
		b.raw("false}")
	}
}

func (b *builder) address(r *rand.Rand) {
	b.raw(`],"shipping_address":{"City":"`).raw(pick(r, cities))
	b.raw(`","Street":"`).phrase(r, 4).raw(" No: ").int(r.Int64N(200))
	b.raw(`","Zip":"`)
	b.b = appendPadded(b.b, r.Uint64N(99_999), 5)
	b.raw(`","Country":"TR","Lat":`).float(36 + r.Float64()*6).raw(`,"Lon":`).float(26 + r.Float64()*18).raw("}")
}

func (b *builder) metadata(r *rand.Rand) {
	b.raw(`,"metadata":{"app_version":"7.`).int(r.Int64N(40)).raw(".").int(r.Int64N(10))
	b.raw(`","campaign":"cmp-`).hex(r, 6)
	b.raw(`","channel":"mobile","span_id":"`).hex(r, 16)
	b.raw(`","trace_id":"`).hex(r, 32).raw(`"}`)
}

// A builder appends parts of an event. Its methods return it, so that calls can be chained.
type builder struct{ b []byte }

func (b *builder) raw(s string) *builder {
	b.b = append(b.b, s...)
	return b
}

func (b *builder) int(n int64) *builder {
	b.b = strconv.AppendInt(b.b, n, 10)
	return b
}

func (b *builder) float(f float64) *builder {
	b.b = strconv.AppendFloat(b.b, f, 'f', -1, 64)
	return b
}

func (b *builder) hex(r *rand.Rand, n int) *builder {
	for range n {
		b.b = append(b.b, "0123456789abcdef"[r.IntN(16)])
	}
	return b
}

func (b *builder) phrase(r *rand.Rand, n int) *builder {
	for i := range n {
		if i > 0 {
			b.raw(" ")
		}
		b.raw(pick(r, words))
	}
	return b
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

// appendPadded appends n with zeros in front up to a width of at most 8.
func appendPadded(dst []byte, n uint64, width int) []byte {
	for limit := uint64(10); width > 1; width-- {
		if n < limit {
			dst = append(dst, "0000000"[:width-1]...)
			break
		}
		limit *= 10
	}
	return strconv.AppendUint(dst, n, 10)
}
