// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freehold-go/freehold/sink/compress"
	"github.com/freehold-go/freehold/sink/config"
	"github.com/freehold-go/freehold/sink/internal/orders"
	"github.com/freehold-go/freehold/sink/internal/race"
	"github.com/freehold-go/freehold/sink/store"
)

const (
	topic      = "orders"
	partitions = 3
)

// cluster starts brokers.
func cluster(t *testing.T) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(2), kfake.SeedTopics(partitions, topic, "copy"), kfake.SeedTopics(1, "dead", "again"), kfake.SleepOutOfOrder())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// produce writes orders from..from+n-1 to each partition. The value of each says which it is; bad returns true for those that are no JSON.
func produce(t *testing.T, c *kfake.Cluster, from, n int, bad func(p, i int) bool) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	g := orders.New(7)
	var records []*kgo.Record
	for p := range partitions {
		for i := from; i < from+n; i++ {
			r := &kgo.Record{Topic: topic, Partition: int32(p), Key: g.AppendKey(nil, i), Timestamp: time.UnixMilli(orders.Time(i))}
			r.Value = fmt.Appendf(nil, `{"id":"%d-%d","event":`, p, i)
			r.Value = append(g.AppendValue(r.Value, i), '}')
			if bad != nil && bad(p, i) {
				r.Value = r.Value[1:]
			}
			records = append(records, r)
		}
	}
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// configure makes a configuration for a cluster and a new directory.
func configure(t *testing.T, c *kfake.Cluster) config.Config {
	conf := config.Default()
	conf.Kafka.Brokers, conf.Kafka.Topics = c.ListenAddrs(), []string{topic}
	conf.Kafka.SessionTimeout = config.Duration(30 * time.Second)
	conf.Store.URL = "dir://" + t.TempDir()
	conf.Rotate = config.Rotate{Records: 500}
	conf.HTTP.Listen = ""
	return conf
}

// eachPath runs a test for each place where responses may lie.
func eachPath(t *testing.T, test func(t *testing.T, responses string)) {
	for _, responses := range []string{"offheap", "client"} {
		t.Run(responses, func(t *testing.T) { test(t, responses) })
	}
}

// running is a service that runs.
type running struct {
	*Service
	stop context.CancelFunc
	done chan error
}

func start(t *testing.T, conf config.Config) running {
	t.Helper()
	s, err := New(t.Context(), conf, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return run(t, s)
}

func run(t *testing.T, s *Service) running {
	ctx, stop := context.WithCancel(t.Context())
	r := running{s, stop, make(chan error, 1)}
	go func() { r.done <- s.Run(ctx) }()
	return r
}

func (r running) end() error {
	r.stop()
	return <-r.done
}

// committed is the sum of the group's offsets.
func committed(t *testing.T, c *kfake.Cluster, group string) (sum int64) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	offsets, err := kadm.NewClient(client).FetchOffsets(t.Context(), group)
	if err != nil {
		return 0 // There is no such group yet.
	}
	offsets.Each(func(o kadm.OffsetResponse) { sum += max(o.At, 0) })
	return sum
}

// until waits until the group has committed so many records, in all partitions together.
func until(t *testing.T, c *kfake.Cluster, r running, sum int64) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); committed(t, c, "freehold-sink") < sum; time.Sleep(20 * time.Millisecond) {
		select {
		case err := <-r.done:
			t.Fatalf("the service has ended: %v", err)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d records are committed", committed(t, c, "freehold-sink"), sum)
		}
	}
}

// stored reads all objects and returns how often each id is in them.
func stored(t *testing.T, conf config.Config, prefix string) map[string]int {
	t.Helper()
	s, err := openStore(t.Context(), conf.Store, func(store.Attempt) {})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	codec, err := compress.Parse(conf.Objects.Compression.Codec, 0)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]int{}
	for info, err := range s.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		content, _, err := s.Get(t.Context(), info.Key)
		if err != nil {
			t.Fatal(err)
		}
		r, err := codec.NewReader(content)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatalf("%s: %v", info.Key, err)
		}
		r.Close()
		content.Close()
		for line := range strings.Lines(string(text)) {
			_, rest, _ := strings.Cut(line, `"id":"`)
			id, _, ok := strings.Cut(rest, `"`)
			if !ok {
				t.Fatalf("%s has the line %q", info.Key, line)
			}
			ids[id]++
		}
	}
	return ids
}

// check compares what is stored with the first n orders of each partition.
func check(t *testing.T, ids map[string]int, n int) {
	t.Helper()
	wrong := 0
	for p := range partitions {
		for i := range n {
			if k := ids[fmt.Sprintf("%d-%d", p, i)]; k != 1 {
				if wrong++; wrong < 10 {
					t.Errorf("order %d-%d is stored %d times", p, i, k)
				}
			}
		}
	}
	if len(ids) != partitions*n {
		t.Errorf("%d orders are stored, want %d", len(ids), partitions*n)
	}
}

// TestService: all records up to the last boundary are stored and committed once, over two runs; metrics say so, and inspect sees no gap.
func TestService(t *testing.T) { eachPath(t, testService) }

func testService(t *testing.T, responses string) {
	c := cluster(t)
	conf := configure(t, c)
	conf.Kafka.Responses = responses
	conf.HTTP.Listen = "127.0.0.1:0"
	conf.Objects.CheckJSON = true
	conf.Objects.PartitionBy = []config.Partition{{Time: "$timestamp", Layout: "hour"}, {Field: "event.event_type", Name: "type"}}
	produce(t, c, 0, 1700, nil)
	r := start(t, conf)
	until(t, c, r, partitions*1500)
	soon(t, "the records behind the commits are read", func() bool { return r.Stats().Records == partitions*1700 })
	metrics := get(t, "http://"+r.Address()+"/metrics")
	for _, want := range []string{"freehold_sink_records_total 5100", "freehold_sink_objects_total ", `freehold_sink_lag_records{partition="0",topic="orders"} 0`, "freehold_sink_store_attempt_seconds_count{op=\"put\",result=\"ok\"}", "go_gc_duration_seconds"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in the metrics:\n%s", want, metrics)
		}
	}
	checkDashboard(t, metrics)
	profiled := "sink"
	if race.Enabled { // Blocks come from the Go heap.
		profiled = "offheap profile"
	}
	for path, want := range map[string]string{"/healthz": "ok", "/readyz": "ok", "/stats": `"Records":5100`, "/": "<title>freehold-sink</title>", "/debug/pprof/offheap?debug=1": profiled} {
		if got := get(t, "http://"+r.Address()+path); !strings.Contains(got, want) {
			t.Errorf("%s: %q", path, got)
		}
	}
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	check(t, stored(t, conf, ""), 1500)
	produce(t, c, 1700, 300, nil)
	r = start(t, conf)
	until(t, c, r, partitions*2000)
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	check(t, stored(t, conf, ""), 2000)
	var report bytes.Buffer
	if err := Inspect(t.Context(), &report, conf, true); err != nil {
		t.Fatal(err)
	}
	text := report.String()
	if !strings.Contains(text, "orders partition 2: offsets 0 to 1999 in ") || !strings.Contains(text, "of 4 epochs") || !strings.Contains(text, "6000 records") ||
		strings.Contains(text, "gap") || strings.Contains(text, "overlap") || !strings.Contains(text, "orders/dt=2024-10-27/hour=03/type=order_paid/0001-00000000000000000") {
		t.Error(text)
	}
	// An object that is deleted is a gap.
	name := ""
	for line := range strings.Lines(text) {
		if key, _, ok := strings.Cut(strings.TrimSpace(line), "  "); ok && strings.Contains(key, "/0001-") {
			name = key
		}
	}
	s, err := openStore(t.Context(), conf.Store, func(store.Attempt) {})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Delete(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	report.Reset()
	if err := Inspect(t.Context(), &report, conf, false); err != nil || !strings.Contains(report.String(), "500 offsets and") {
		t.Errorf("%v, %s", err, report.String())
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestRestarts stops the service again and again at any point, without time to finish. In the end each record is stored once.
func TestRestarts(t *testing.T) { eachPath(t, testRestarts) }

func testRestarts(t *testing.T, responses string) {
	t.Run("epochs", func(t *testing.T) { restarts(t, 3000, func(c *config.Config) { c.Kafka.Responses = responses }) })
	t.Run("independent groups", func(t *testing.T) {
		restarts(t, 1500, func(c *config.Config) {
			c.Kafka.Responses = responses
			c.Rotate.Independent, c.Rotate.Behind = true, 400
			c.Objects.PartitionBy = []config.Partition{{Field: "event.event_type"}}
		})
	})
}

func restarts(t *testing.T, n int64, change func(*config.Config)) {
	c := cluster(t)
	conf := configure(t, c)
	conf.Stop.Timeout = 1 // A nanosecond.
	conf.Rotate = config.Rotate{Records: 100}
	conf.Objects.CheckJSON = true
	change(&conf)
	produce(t, c, 0, int(n), nil)
	r := rand.New(rand.NewPCG(1, 2))
	// Up to 400 records of a partition are open in the end.
	for committed(t, c, conf.Kafka.Group) < partitions*(n-400) {
		s := start(t, conf)
		goal := committed(t, c, conf.Kafka.Group) + r.Int64N(1500)
		until(t, c, s, min(goal, partitions*(n-400)))
		if err := s.end(); err != nil {
			t.Fatal(err)
		}
	}
	conf.Rotate = config.Rotate{Records: 1 << 30} // The last ones, with one boundary at the stop.
	conf.Stop.Flush, conf.Stop.Timeout = true, config.Duration(time.Minute)
	left := partitions*n - committed(t, c, conf.Kafka.Group)
	s := start(t, conf)
	for deadline := time.Now().Add(5 * time.Minute); s.Stats().Records < left; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d records are written", s.Stats().Records, left)
		}
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	check(t, stored(t, conf, ""), int(n))
}

// TestBadRecords: bad records stop the sink, or go to objects, or to a topic; the good ones are stored.
func TestBadRecords(t *testing.T) {
	c := cluster(t)
	bad := func(p, i int) bool { return p == 1 && i%100 == 7 }
	produce(t, c, 0, 500, bad)
	for _, action := range []string{"objects", "topic", "stop"} {
		conf := configure(t, c)
		conf.Objects.CheckJSON = true
		conf.Bad.Action, conf.Bad.Topic = action, "dead"
		if action == "stop" { // A group of its own, because it begins anew.
			conf.Kafka.Group = "stops"
			r := start(t, conf)
			if err := <-r.done; err == nil || !strings.Contains(err.Error(), "orders partition 1: the record at offset 7 cannot be written") {
				t.Errorf("stop: %v", err)
			}
			continue
		}
		r := start(t, conf)
		until(t, c, r, partitions*500)
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
		ids := stored(t, conf, "orders/")
		if len(ids) != partitions*500-5 || ids["1-107"] != 0 || ids["1-108"] != 1 {
			t.Errorf("%s: %d records are stored", action, len(ids))
		}
		if action == "topic" {
			if info := c.PartitionInfo("dead", 0); info.HighWatermark != 5 {
				t.Errorf("%d records are in the topic", info.HighWatermark)
			}
			continue
		}
		files, _ := os.ReadDir(strings.TrimPrefix(conf.Store.URL, "dir://") + "/rejected/orders")
		if !slices.ContainsFunc(files, func(f os.DirEntry) bool { return strings.HasPrefix(f.Name(), "0001-00000000000000000007.jsonl.zst") }) {
			t.Errorf("rejected objects: %v", files)
		}
		var report bytes.Buffer
		if err := Inspect(t.Context(), &report, conf, false); err != nil || !strings.Contains(report.String(), "1500 records") ||
			!strings.Contains(report.String(), "orders: 5 of these records were rejected") || strings.Contains(report.String(), "the others") {
			t.Errorf("inspect with rejected records: %v, %s", err, report.String())
		}
		report.Reset()
		if err := Replay(t.Context(), &report, conf, ReplayOptions{From: topic, To: "again", Rejected: true}); err != nil || !strings.Contains(report.String(), "5 records of 1 objects") {
			t.Errorf("replay of rejected records: %v, %s", err, report.String())
		}
		if r := consume(t, c, "again", 5)[0]; !strings.HasPrefix(string(r.Value), `"id":"1-7"`) || len(r.Headers) != 0 || r.Timestamp.UnixMilli() != orders.Time(7) {
			t.Errorf("a record of the replay: %s, %v", r.Value, r.Headers)
		}
		client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := kadm.NewClient(client).DeleteGroup(t.Context(), conf.Kafka.Group); err != nil {
			t.Error(err)
		}
		client.Close()
	}
}

// TestDescribe: check says what would happen, and what is wrong.
func TestDescribe(t *testing.T) {
	c := cluster(t)
	conf := configure(t, c)
	conf.Memory.SpillDir, conf.Memory.SpillLimit = t.TempDir(), 1<<30
	conf.Objects.PartitionBy = []config.Partition{{Time: "event.at", Unit: "ms", Layout: "day"}, {Field: "event.event_type"}, {Field: "event.land", Name: "-"}, {Header: "shop"}, {Key: true, Name: "user"}}
	var b bytes.Buffer
	if err := Describe(t.Context(), &b, conf, true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"orders/dt=2026-01-31/event_type=VALUE/VALUE/shop=VALUE/user=KEY/0003-00000000000000025000.txt.zst", "objects end ", "after 500 records", "exactly once: objects depend on the records alone", "partitions   3",
		"object size  up to 500 records, shared by the groups of an epoch: with 1,000 groups some 1 record each", "written, read and deleted", "up to 1GiB more of open objects in files below "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	for want, change := range map[string]func(*config.Config){
		"nowhere: UNKNOWN_TOPIC": func(c *config.Config) { c.Kafka.Topics = []string{"nowhere"} },
		"objects.key":            func(c *config.Config) { c.Objects.Key = "{topic}/{offset}" },
		"parquet cannot be compressed by lz4": func(c *config.Config) {
			c.Objects.Format.Name, c.Objects.Compression.Codec = "parquet", "lz4"
		},
		"objects.compression":     func(c *config.Config) { c.Objects.Compression.Codec = "rar" },
		"objects.format":          func(c *config.Config) { c.Objects.Format.Tombstones = "bury" },
		"objects.partition_by[0]": func(c *config.Config) { c.Objects.PartitionBy = []config.Partition{{Time: "a", Unit: "weeks"}} },
		"store.url":               func(c *config.Config) { c.Store.URL = "ftp://x" },
		"memory.spill_dir":        func(c *config.Config) { c.Memory.SpillDir = "/nowhere" },
		"rotate: groups cannot": func(c *config.Config) {
			c.Values = config.Values{Type: "protobuf", Framing: "strip", Registry: config.Registry{URL: []string{"http://127.0.0.1:1"}}}
			c.Objects.Format.Name, c.Rotate.Independent = "parquet", true
		},
		"the brokers 127.0.0.1:1": func(c *config.Config) { c.Kafka.Brokers = []string{"127.0.0.1:1"} },
	} {
		conf := conf
		change(&conf)
		ctx, cancel := context.WithCancel(t.Context())
		if conf.Kafka.Brokers[0] == "127.0.0.1:1" { // It would be tried for 15 s.
			time.AfterFunc(time.Second, cancel)
		}
		if err := Describe(ctx, io.Discard, conf, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		cancel()
	}
}

// consume reads n records of a topic from its start.
func consume(t *testing.T, c *kfake.Cluster, topic string, n int) (records []*kgo.Record) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for len(records) < n {
		fetches := client.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		records = append(records, fetches.Records()...)
	}
	return records
}

// TestReplay: the records of objects come back with all that the envelope holds, in their partitions and in order.
func TestReplay(t *testing.T) {
	c := cluster(t)
	conf := configure(t, c)
	conf.Objects.Format = config.Format{Name: "jsonl", Envelope: []string{"key", "timestamp", "offset", "headers", "value"}, Tombstones: "write"}
	produce(t, c, 0, 1000, nil)
	r := start(t, conf)
	until(t, c, r, partitions*1000)
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	if err := Replay(t.Context(), io.Discard, conf, ReplayOptions{From: topic, To: "copy", KeepPartitions: true, FromOffset: 500}); err != nil {
		t.Fatal(err)
	}
	next := [partitions]int{500, 500, 500}
	for i, r := range consume(t, c, "copy", partitions*500) {
		n := next[r.Partition]
		next[r.Partition]++
		if !strings.HasPrefix(string(r.Value), fmt.Sprintf(`{"id":"%d-%d",`, r.Partition, n)) || r.Timestamp.UnixMilli() != orders.Time(n) || !bytes.Equal(r.Key, orders.New(7).AppendKey(nil, n)) {
			t.Fatalf("record %d of partition %d: key %s, %v, %.40s", i, r.Partition, r.Key, r.Timestamp, r.Value)
		}
	}
	for want, o := range map[string]ReplayOptions{
		"another one":        {From: topic, To: topic},
		"bad_records.action": {From: topic, To: "copy", Rejected: true},
		"no object nowhere":  {From: topic, To: "copy", After: "nowhere"},
		"the topic nowhere":  {From: topic, To: "nowhere"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		if err := Replay(ctx, io.Discard, conf, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		cancel()
	}
}
