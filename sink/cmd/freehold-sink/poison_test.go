// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freehold-go/freehold/sink/config"
	"github.com/freehold-go/freehold/sink/internal/orders"
	"github.com/freehold-go/freehold/sink/source/kafka/kafkatest"
)

const (
	poisoned           = "poisoned"
	poisonedPartitions = 2
	poisonedEach       = 4000
	largeAt            = 1000       // The record with a large value.
	largeSize          = 50_000_000 // It has at least so many bytes, and they cannot be compressed by much.
)

// kindOf says what record i of each partition of the topic poisoned is.
func kindOf(i int) string {
	if i == largeAt {
		return "large"
	}
	return map[int]string{3: "tombstone", 7: "no JSON", 11: "empty", 13: "no field", 17: "far future", 19: "no time", 23: "jump back", 29: "jump ahead"}[i%50]
}

// rejectedKind reports whether records of a kind cannot be written.
func rejectedKind(kind string) bool {
	return kind == "no JSON" || kind == "empty" || kind == "no field"
}

// poisonedRecord makes record i of a partition.
func poisonedRecord(g *orders.Generator, p, i int) *kgo.Record {
	at := time.UnixMilli(orders.Time(i))
	r := &kgo.Record{Topic: poisoned, Partition: int32(p), Key: fmt.Appendf(nil, "%d-%d", p, i), Value: appendValue(nil, g, p, i), Timestamp: at}
	switch kindOf(i) {
	case "tombstone":
		r.Value = nil
	case "no JSON":
		r.Value = r.Value[:len(r.Value)-7]
	case "empty":
		r.Value = []byte{}
	case "no field":
		r.Value = bytes.Replace(r.Value, []byte(`"event_type"`), []byte(`"event_tape"`), 1)
	case "far future":
		r.Timestamp = at.AddDate(1000, 0, 0)
	case "no time":
		r.Timestamp = time.UnixMilli(-1)
	case "jump back":
		r.Timestamp = at.AddDate(-3, 0, 0)
	case "jump ahead":
		r.Timestamp = at.AddDate(3, 0, 0)
	case "large":
		noise := make([]byte, largeSize/2)
		rand.NewChaCha8([32]byte{byte(p)}).Read(noise)
		r.Value = fmt.Appendf(nil, `{"id":"%d-%d","event":{"event_type":"large","text":"%x"}}`, p, i, noise)
	}
	return r
}

// poison has the sink read records that it cannot write, and some that are hard to write, while it is killed again and again.
func (s *suite) poison(t *testing.T) {
	most := "67108864"
	never := "9223372036854775807"
	s.create(t, poisoned, poisonedPartitions, map[string]*string{"max.message.bytes": &most, "message.timestamp.after.max.ms": &never})
	client, err := kgo.NewClient(kgo.SeedBrokers(s.cluster.Addresses()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(64<<20), kgo.BrokerMaxWriteBytes(128<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	g := orders.New(seed)
	err = kafkatest.Produce(t.Context(), client, func(yield func(*kgo.Record) bool) {
		for i := range poisonedEach {
			for p := range poisonedPartitions {
				if !yield(poisonedRecord(g, p, i)) {
					return
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, kills := range []int{0, 8} {
		t.Run(fmt.Sprintf("%d kills", kills), func(t *testing.T) { s.poisonedRun(t, kills) })
	}
}

func (s *suite) poisonedRun(t *testing.T, kills int) {
	conf := s.configure(t)
	conf.Kafka.Topics = []string{poisoned}
	conf.Kafka.InstanceID = "one"
	conf.Objects.CheckJSON = true
	conf.Objects.Format.Tombstones = "skip"
	conf.Objects.PartitionBy = []config.Partition{{Time: "$timestamp", Layout: "day", Missing: "none", OutOfRange: "far"}, {Field: "event.event_type", Name: "type"}}
	conf.Bad.Action = "objects"
	// Timestamps that jump end epochs before their 250 records, so the last one has fewer. The clock ends it.
	conf.Rotate = config.Rotate{Records: 250, Span: config.Duration(2 * 365 * 24 * time.Hour), Age: config.Duration(2 * time.Second)}
	for range kills {
		c := spawn(t, conf, "")
		time.Sleep(300*time.Millisecond + rand.N(700*time.Millisecond))
		c.cmd.Process.Kill() // It may have ended, which the next line notices.
		<-c.done
		if !c.slain() {
			t.Fatalf("the sink ended with %v\n%s", c.err, c.tail(t))
		}
	}
	c := spawn(t, conf, "")
	s.until(t, conf, poisonedPartitions*poisonedEach, c)
	c.stop(t)
	s.checkPoisoned(t, conf)
}

// checkPoisoned: each record is where its kind belongs, once.
func (s *suite) checkPoisoned(t *testing.T, conf config.Config) {
	t.Helper()
	stored, rejected := map[string]int{}, map[string]int{}
	lines(t, conf, poisoned+"/", func(key string, line []byte) {
		p, i, ok := identify(line)
		if !ok {
			t.Errorf("%s has the line %.100q", key, line)
		}
		stored[fmt.Sprintf("%d-%d", p, i)]++
	})
	lines(t, conf, "rejected/", func(key string, line []byte) {
		var r struct{ Key []byte }
		if err := json.Unmarshal(line, &r); err != nil {
			t.Errorf("%s has the line %.100q: %v", key, line, err)
		}
		rejected[string(r.Key)]++
	})
	wrong := 0
	for p := range poisonedPartitions {
		for i := range poisonedEach {
			id, kind := fmt.Sprintf("%d-%d", p, i), kindOf(i)
			want, reject := 1, 0
			switch {
			case kind == "tombstone":
				want = 0
			case rejectedKind(kind):
				want, reject = 0, 1
			}
			if stored[id] != want || rejected[id] != reject {
				if wrong++; wrong < 10 {
					t.Errorf("record %s (%s) is stored %d times and rejected %d times", id, kind, stored[id], rejected[id])
				}
			}
		}
	}
	t.Logf("%d records stored, %d rejected, %d wrong", len(stored), len(rejected), wrong)
}
