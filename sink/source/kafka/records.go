// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freehold-go/freehold/sink/record"
)

// converted is records of the client's as those of the sink, which share their bytes.
type converted struct {
	pool    *sync.Pool // of *converted, where it came from
	from    []*kgo.Record
	records []record.Record
	headers []record.Header
	bytes   int64 // of the records
}

// convert makes records of the client's. Control records are none: they mark the end of a transaction.
func convert(pool *sync.Pool, from []*kgo.Record) *converted {
	c, _ := pool.Get().(*converted)
	if c == nil {
		c = &converted{pool: pool}
	}
	c.from, c.bytes = from, 0
	headers := 0
	for _, r := range from {
		headers += len(r.Headers)
	}
	c.records, c.headers = slices.Grow(c.records, len(from)), slices.Grow(c.headers, headers)
	for _, r := range from {
		if r.Attrs.IsControl() {
			continue
		}
		c.bytes += int64(len(r.Key) + len(r.Value))
		timestamp := r.Timestamp.UnixMilli()
		if r.Attrs.TimestampType() < 0 {
			timestamp = -1
		}
		c.records = append(c.records, record.Record{
			Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, LeaderEpoch: r.LeaderEpoch,
			Timestamp: timestamp, AppendTime: r.Attrs.TimestampType() == 1,
			Key: r.Key, Value: r.Value, Headers: c.convertHeaders(r.Headers),
		})
	}
	return c
}

func (c *converted) convertHeaders(from []kgo.RecordHeader) []record.Header {
	if len(from) == 0 {
		return nil
	}
	at := len(c.headers)
	for _, h := range from {
		c.headers = append(c.headers, record.Header{Key: h.Key, Value: h.Value})
	}
	return c.headers[at:len(c.headers):len(c.headers)]
}

// release gives the records back to the client.
func (c *converted) release() {
	for _, r := range c.from {
		r.Recycle()
	}
	clear(c.records)
	clear(c.headers)
	c.from, c.records, c.headers = nil, c.records[:0], c.headers[:0]
	c.pool.Put(c)
}

// recordPool is the client's pool of records. It implements kgo.PoolRecords.
type recordPool struct{ slices sync.Pool }

// GetRecords returns a slice with room for n records. A slice that is too small is dropped, so the pool soon has slices for the batches that come.
func (p *recordPool) GetRecords(n int) []kgo.Record {
	if s, ok := p.slices.Get().(*[]kgo.Record); ok && cap(*s) >= n {
		return *s
	}
	return make([]kgo.Record, n+n/8)
}

// PutRecords takes a slice back. The client has cleared all records that it filled.
func (p *recordPool) PutRecords(s []kgo.Record) { p.slices.Put(&s) }
