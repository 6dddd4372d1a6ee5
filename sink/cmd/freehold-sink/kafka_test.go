// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freehold-go/freehold/sink/config"
	"github.com/freehold-go/freehold/sink/internal/orders"
	"github.com/freehold-go/freehold/sink/source/kafka/kafkatest"
)

const (
	partitions = 8
	seed       = 7
	topic      = "orders"
	epochs     = 50 // of each partition
)

// suite is a cluster with a topic full of orders.
type suite struct {
	cluster *kafkatest.Cluster
	admin   *kadm.Client
	brokers int
	each    int // records of a partition
	full    bool
	groups  int
}

// TestKafka runs freehold-sink as processes on brokers of Apache Kafka, and does to both what happens to them. Afterwards each record is stored
// exactly once. FREEHOLD_TEST_KAFKA is the number of records, 1000000 by default of make test-kafka; without it the test is skipped.
func TestKafka(t *testing.T) {
	text := os.Getenv("FREEHOLD_TEST_KAFKA")
	if text == "" {
		t.Skip("make test-kafka runs this test: it needs Java 17, and Maven or an unpacked Kafka")
	}
	records, err := strconv.Atoi(text)
	if err != nil || records < partitions*epochs {
		t.Fatalf("FREEHOLD_TEST_KAFKA is %q; it must be a number of records, at least %d", text, partitions*epochs)
	}
	s := &suite{brokers: 2, each: records / (partitions * epochs) * epochs, full: records >= 1_000_000}
	s.cluster, err = kafkatest.New(t.Context(), kafkatest.Options{Dir: t.TempDir(), Brokers: s.brokers, Settings: map[string]string{
		"group.min.session.timeout.ms": "1000",
		// Of groups whose broker assigns the partitions. Its clients cannot choose.
		"group.consumer.min.session.timeout.ms": "1000", "group.consumer.session.timeout.ms": fmt.Sprint(session.Milliseconds()),
		"group.consumer.min.heartbeat.interval.ms": "100", "group.consumer.heartbeat.interval.ms": "500",
		"quota.window.num": "2", // A client that has had its share waits for two seconds at most, and not for eleven.
	}})
	if errors.Is(err, kafkatest.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.cluster.Close()
	client, err := kafkatest.NewProducer(s.cluster.Addresses())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	s.admin = kadm.NewClient(client)
	s.fill(t, client)
	t.Run("Kills", s.kills)
	t.Run("ServerSide", s.serverSide)
	t.Run("BrokersKilled", s.brokersKilled)
	t.Run("LeadersMove", s.leadersMove)
	t.Run("StoreRefuses", s.storeRefuses)
	t.Run("SlowStore", s.slowStore)
	t.Run("DiskFull", s.diskFull)
	t.Run("StandsStill", s.standsStill)
	t.Run("Poison", s.poison)
}

// fill makes the topic and writes its records.
func (s *suite) fill(t *testing.T, client *kgo.Client) {
	t.Helper()
	s.create(t, topic, partitions, nil)
	began := time.Now()
	g := orders.New(seed)
	err := kafkatest.Produce(t.Context(), client, func(yield func(*kgo.Record) bool) {
		for i := range s.each {
			for p := range partitions {
				n := i*partitions + p
				r := &kgo.Record{Topic: topic, Partition: int32(p), Key: g.AppendKey(nil, n), Value: appendValue(make([]byte, 0, 2048), g, p, i), Timestamp: time.UnixMilli(orders.Time(n)),
					Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte("0123456789abcdef")}}}
				if !yield(r) {
					return
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d records written in %v", partitions*s.each, time.Since(began).Round(time.Second))
}

func (s *suite) create(t *testing.T, name string, partitions int32, settings map[string]*string) {
	t.Helper()
	if _, err := s.admin.CreateTopic(t.Context(), partitions, -1, settings, name); err != nil {
		t.Fatal(err)
	}
}

// configure makes a configuration with a group and a directory of its own.
func (s *suite) configure(t *testing.T) config.Config {
	t.Helper()
	s.groups++
	conf := config.Default()
	conf.Kafka.Brokers, conf.Kafka.Topics, conf.Kafka.Group = s.cluster.Addresses(), []string{topic}, fmt.Sprintf("sink-%d", s.groups)
	conf.Kafka.SessionTimeout, conf.Kafka.RebalanceTimeout = config.Duration(session), config.Duration(20*time.Second)
	conf.Store.URL = "dir://" + t.TempDir()
	conf.Rotate = config.Rotate{Records: int64(s.each / epochs)}
	conf.HTTP.Listen = ""
	conf.Log.Level = "warn"
	return conf
}

// session is short, so that a group does not wait long for members that were killed.
const session = 3 * time.Second

// slowSession is that of members whose brokers limit what they send: a heartbeat waits for a fetch
// that waits because of the limit.
const slowSession = 8 * time.Second

// committed is the sum of the group's offsets.
func (s *suite) committed(t *testing.T, conf config.Config) (sum int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	offsets, err := s.admin.FetchOffsets(ctx, conf.Kafka.Group)
	if err != nil {
		return 0 // There is no such group yet, or its broker is down.
	}
	offsets.Each(func(o kadm.OffsetResponse) { sum += max(o.At, 0) })
	return sum
}

// until waits until so many records are committed. The children must not end.
func (s *suite) until(t *testing.T, conf config.Config, sum int64, children ...*child) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		at := s.committed(t, conf)
		if at >= sum {
			return
		}
		for _, c := range children {
			if c.ended() {
				t.Fatalf("the sink ended with %v when %d of %d records were committed\n%s", c.err, at, sum, c.tail(t))
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d records are committed\n%s", at, sum, children[0].tail(t))
		}
	}
}

// transfer moves all records by some processes, slowly while a fault lasts. The fault must end
// before all is committed.
func (s *suite) transfer(t *testing.T, conf config.Config, members int, fault func(children []*child)) {
	t.Helper()
	restore := s.slow(t)
	conf.Kafka.SessionTimeout = config.Duration(slowSession)
	var children []*child
	for range members {
		children = append(children, spawn(t, conf, ""))
	}
	total := int64(partitions * s.each)
	s.until(t, conf, total/20, children...)
	before, began := s.committed(t, conf), time.Now()
	fault(children)
	after := s.committed(t, conf)
	t.Logf("%d of %d records were committed when the fault began, %d when it ended %v later", before, total, after, time.Since(began).Round(time.Second))
	if after >= total {
		t.Errorf("all was committed before the fault ended; let pace be longer")
	}
	restore()
	s.until(t, conf, total, children...)
	for _, c := range children {
		c.stop(t)
	}
	inspect(t, conf)
	s.checkAll(t, conf)
}
