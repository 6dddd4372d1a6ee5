// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/source"
	"github.com/freehold-go/freehold/sink/source/sourcetest"
)

func TestConformance(t *testing.T) {
	along(t, "members assign", path{}, testConformance)
	along(t, "server side", path{serverSide: true}, testConformance)
}

func testConformance(t *testing.T, by path) {
	sourcetest.Suite{Open: func(t *testing.T, partitions int) sourcetest.Log {
		return topic{cluster(t, int32(partitions)), by}
	}}.Run(t)
}

// topic is the topic t of a cluster.
type topic struct {
	*kfake.Cluster
	by path
}

func (topic) Topic() string { return "t" }

func (c topic) Write(t *testing.T, partition int32, records []record.Record) {
	t.Helper()
	var all []*kgo.Record
	for _, r := range records {
		k := &kgo.Record{Topic: "t", Partition: partition, Timestamp: time.UnixMilli(r.Timestamp), Key: r.Key, Value: r.Value}
		for _, h := range r.Headers {
			k.Headers = append(k.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
		all = append(all, k)
	}
	produceAll(t, c.Cluster, all)
}

func (c topic) Member(t *testing.T) source.Source {
	s, err := New(c.by.options(c.Cluster))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
