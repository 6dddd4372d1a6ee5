// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/freehold-go/freehold/offheap"
	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/source"
)

// cluster starts brokers with a topic t of some partitions.
func cluster(t *testing.T, partitions int32, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(2), kfake.SeedTopics(partitions, "t"), kfake.SleepOutOfOrder(),
		kfake.BrokerConfigs(map[string]string{"group.consumer.heartbeat.interval.ms": "100"})}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// produce writes records with values from..from+n-1 to a partition.
func produce(t *testing.T, c *kfake.Cluster, partition int32, from, n int, opts ...kgo.Opt) {
	t.Helper()
	var records []*kgo.Record
	for i := from; i < from+n; i++ {
		records = append(records, &kgo.Record{
			Topic: "t", Partition: partition, Key: fmt.Appendf(nil, "k%d", i), Value: value(i), Timestamp: time.UnixMilli(int64(1000 + i)),
			Headers: []kgo.RecordHeader{{Key: "h", Value: fmt.Appendf(nil, "%d", i)}},
		})
	}
	produceAll(t, c, records, opts...)
}

// produceAll writes records to the partitions that they name.
func produceAll(t *testing.T, c *kfake.Cluster, records []*kgo.Record, opts ...kgo.Opt) {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func value(i int) []byte { return fmt.Appendf(nil, "%d %s", i, strings.Repeat("x", i%500)) }

// collector is a handler that notes what it is told. It commits nothing by itself.
type collector struct {
	t *testing.T

	mu      sync.Mutex
	next    map[source.Partition]int64 // the offset behind the last record
	owned   map[source.Partition]bool
	events  []string
	release []func()
	changed chan struct{} // closed at each change
}

func newCollector(t *testing.T) *collector {
	return &collector{t: t, next: map[source.Partition]int64{}, owned: map[source.Partition]bool{}, changed: make(chan struct{})}
}

func (c *collector) note(p source.Partition, event string, owned bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owned[p] == owned {
		c.t.Errorf("%s %v, and it was so before", event, p)
	}
	c.owned[p] = owned
	c.events = append(c.events, fmt.Sprint(event, p.Number))
	c.wake()
}

func (c *collector) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *collector) Assigned(p source.Partition) { c.note(p, "assigned ", true) }
func (c *collector) Committed(p source.Partition, at source.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at.Next > c.next[p] { // Records before the next one may be deleted.
		c.t.Errorf("%v: %d is committed, and the next record is %d", p, at.Next, c.next[p])
	}
	c.events = append(c.events, fmt.Sprint("committed ", p.Number, " ", at.Metadata))
}
func (c *collector) Revoked(_ context.Context, p source.Partition) { c.note(p, "revoked ", false) }
func (c *collector) Lost(p source.Partition)                       { c.note(p, "lost ", false) }
func (c *collector) Ready(ctx context.Context) error               { return ctx.Err() }

func (c *collector) Batch(p source.Partition, records []record.Record, next source.Position, release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.owned[p] {
		c.t.Errorf("records of %v, which was not assigned", p)
	}
	for _, r := range records {
		i := int(r.Offset)
		if want := c.next[p]; r.Offset != want {
			c.t.Errorf("%v: offset %d, want %d", p, r.Offset, want)
		}
		c.next[p] = r.Offset + 1
		if r.Topic != "t" || r.Partition != p.Number || r.Timestamp != int64(1000+i) || string(r.Key) != fmt.Sprint("k", i) || !bytes.Equal(r.Value, value(i)) ||
			len(r.Headers) != 1 || r.Headers[0].Key != "h" || string(r.Headers[0].Value) != fmt.Sprint(i) {
			c.t.Errorf("%v: record %d is %+v", p, i, r)
		}
	}
	if next.Next != c.next[p] {
		c.t.Errorf("%v: the next position is %d behind offset %d", p, next.Next, c.next[p]-1)
	}
	c.release = append(c.release, release)
	c.wake()
}

// until waits until a condition holds.
func (c *collector) until(what string, holds func() bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Minute)
	defer cancel()
	for {
		c.mu.Lock()
		ok, changed := holds(), c.changed
		c.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			c.t.Fatalf("not within five minutes: %s; events %q, next %v", what, c.events, c.next)
		}
	}
}

// releaseAll releases all batches, after Run has returned: a batch that came later would not be released.
func (c *collector) releaseAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.release {
		r()
	}
	c.release = nil
}

// handler is a collector, or embeds one.
type handler interface {
	source.Handler
	releaseAll()
}

// buffered counts the records that the clients of all tests have fetched, and neither returned from a poll nor dropped. A client that closes drops
// its records in a goroutine of its own, and does not wait for it. The source's hook runs before this one, so at 0 their memory is freed.
type buffered struct{ sync.WaitGroup }

var bufferedRecords buffered

func (b *buffered) OnFetchRecordBuffered(*kgo.Record)         { b.Add(1) }
func (b *buffered) OnFetchRecordUnbuffered(*kgo.Record, bool) { b.Done() }

// path is a way that responses take, and says who assigns partitions.
type path struct{ client, serverSide bool }

// bothPaths runs a test for responses outside the Go heap and for the client's own.
func bothPaths(t *testing.T, test func(t *testing.T, by path)) {
	t.Helper()
	along(t, "offheap", path{}, test)
	along(t, "client", path{client: true}, test)
}

// eachWay is bothPaths, and the same again for a group whose broker assigns the partitions.
func eachWay(t *testing.T, test func(t *testing.T, by path)) {
	t.Helper()
	bothPaths(t, test)
	along(t, "server side", path{serverSide: true}, test)
}

func along(t *testing.T, name string, by path, test func(t *testing.T, by path)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		test(t, by)
		bufferedRecords.Wait()
		for _, p := range offheap.ReadStats().Purposes {
			if name := p.Name; (name == fetched().Name() || name == received().Name()) && p.InUse != 0 {
				t.Errorf("%d bytes of %s are in use", p.InUse, name)
			}
		}
	})
}

// options are those of a member that notices quickly what changes.
func (by path) options(c *kfake.Cluster) Options {
	return Options{Brokers: c.ListenAddrs(), Topics: []string{"t"}, Group: "g", SessionTimeout: 30 * time.Second, ClientResponses: by.client, ServerSide: by.serverSide,
		Client: []kgo.Opt{kgo.MetadataMinAge(10 * time.Millisecond), kgo.HeartbeatInterval(100 * time.Millisecond), kgo.WithHooks(&bufferedRecords)}}
}

// run runs a source until the returned function is called, which releases all batches and returns Run's error.
func (by path) run(t *testing.T, c *kfake.Cluster, h handler, change func(*Options)) (*Source, func() error) {
	t.Helper()
	o := by.options(c)
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, h) }()
	stopped := false
	stop := func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		err := <-done
		h.releaseAll()
		if close := s.Close(); close != nil {
			t.Error(close)
		}
		return err
	}
	t.Cleanup(func() { stop() })
	return s, stop
}

// inUse is what decompressed batches take.
func inUse() int64 {
	for _, p := range offheap.ReadStats().Purposes {
		if p.Name == fetched().Name() {
			return p.InUse
		}
	}
	return 0
}

// TestFetch: records come in order, complete, with each codec, and their memory is given back.
func TestFetch(t *testing.T) { bothPaths(t, testFetch) }

func testFetch(t *testing.T, by path) {
	for _, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		c := cluster(t, 3)
		for p := range int32(3) {
			produce(t, c, p, 0, 400, kgo.ProducerBatchCompression(codec))
			produce(t, c, p, 400, 100, kgo.ProducerBatchCompression(codec))
		}
		h := newCollector(t)
		s, stop := by.run(t, c, h, nil)
		p0 := source.Partition{Topic: "t"}
		h.until("all records", func() bool {
			return h.next[p0] == 500 && h.next[source.Partition{Topic: "t", Number: 1}] == 500 && h.next[source.Partition{Topic: "t", Number: 2}] == 500
		})
		if lag := s.Lags(); len(lag) != 3 || lag[p0] != 0 {
			t.Errorf("lags %v", lag)
		}
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

// TestCommit: a source goes on where the last one has committed.
func TestCommit(t *testing.T) { eachWay(t, testCommit) }

func testCommit(t *testing.T, by path) {
	c := cluster(t, 1)
	p0 := source.Partition{Topic: "t"}
	produce(t, c, 0, 0, 100)
	h := newCollector(t)
	s, stop := by.run(t, c, h, nil)
	h.until("all records", func() bool { return h.next[p0] == 100 })
	// The broker refuses twice: once for a while, once because a rebalance goes on.
	for _, e := range []*kerr.Error{kerr.CoordinatorLoadInProgress, kerr.RebalanceInProgress} {
		c.ControlKey(int16(kmsg.OffsetCommit), func(r kmsg.Request) (kmsg.Response, error, bool) {
			return refuseCommit(r.(*kmsg.OffsetCommitRequest), e), nil, true
		})
	}
	if err := s.Commit(t.Context(), map[source.Partition]source.Position{p0: {Next: 60, Epoch: -1, Metadata: "groups"}}); err != nil {
		t.Fatal(err)
	}
	c.ControlKey(int16(kmsg.OffsetCommit), func(r kmsg.Request) (kmsg.Response, error, bool) {
		return refuseCommit(r.(*kmsg.OffsetCommitRequest), kerr.IllegalGeneration), nil, true
	})
	if err := s.Commit(t.Context(), map[source.Partition]source.Position{p0: {Next: 70, Epoch: -1}}); !errors.Is(err, source.ErrNotOwned) {
		t.Errorf("a commit of an old generation: %v", err)
	}
	stop()
	h = newCollector(t)
	h.next[p0] = 60
	_, stop = by.run(t, c, h, nil)
	h.until("the rest", func() bool { return h.next[p0] == 100 })
	if !slices.Contains(h.events, "committed 0 groups") {
		t.Errorf("the metadata did not come back: %v", h.events)
	}
	stop()
}

func refuseCommit(r *kmsg.OffsetCommitRequest, e *kerr.Error) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.OffsetCommitResponse)
	for _, t := range r.Topics {
		rt := kmsg.NewOffsetCommitResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewOffsetCommitResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, e.Code
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// TestRebalance: a second member takes partitions over, and gives them back when it leaves.
func TestRebalance(t *testing.T) { eachWay(t, testRebalance) }

func testRebalance(t *testing.T, by path) {
	c := cluster(t, 4)
	for p := range int32(4) {
		produce(t, c, p, 0, 50)
	}
	h1, h2 := newCollector(t), newCollector(t)
	owns := func(h *collector) (n int) {
		for _, owned := range h.owned {
			if owned {
				n++
			}
		}
		return n
	}
	s1, stop1 := by.run(t, c, h1, nil)
	h1.until("four partitions", func() bool { return owns(h1) == 4 })
	h1.until("all records", func() bool {
		for p := range int32(4) {
			if h1.next[source.Partition{Topic: "t", Number: p}] != 50 {
				return false
			}
		}
		return true
	})
	for p := range int32(4) {
		if err := s1.Commit(t.Context(), map[source.Partition]source.Position{{Topic: "t", Number: p}: {Next: 50, Epoch: -1}}); err != nil {
			t.Fatal(err)
		}
	}
	for p := range int32(4) {
		h2.next[source.Partition{Topic: "t", Number: p}] = 50
	}
	_, stop2 := by.run(t, c, h2, nil)
	h2.until("two partitions", func() bool { return owns(h2) == 2 })
	h1.until("two are left", func() bool { return owns(h1) == 2 })
	stop2()
	h1.until("all four again", func() bool { return owns(h1) == 4 })
	stop1()
}

// TestOffsetGone: if records were deleted before they were stored, the source stops, unless it is told where to go on.
func TestOffsetGone(t *testing.T) { bothPaths(t, testOffsetGone) }

func testOffsetGone(t *testing.T, by path) {
	c := cluster(t, 1)
	p0 := source.Partition{Topic: "t"}
	produce(t, c, 0, 0, 100)
	h := newCollector(t)
	s, stop := by.run(t, c, h, nil)
	h.until("all records", func() bool { return h.next[p0] == 100 })
	if err := s.Commit(t.Context(), map[source.Partition]source.Position{p0: {Next: 10, Epoch: -1}}); err != nil {
		t.Fatal(err)
	}
	stop()
	c.DeleteRecords("t", 0, 50)

	h = newCollector(t)
	s, err := New(by.options(c))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), h); err == nil || !strings.Contains(err.Error(), "deleted before they were stored") {
		t.Errorf("Run: %v", err)
	}
	s.Close()

	h = newCollector(t)
	h.next[p0] = 50
	_, stop = by.run(t, c, h, func(o *Options) { o.Reset = ResetToStart })
	h.until("what is left", func() bool { return h.next[p0] == 100 })
	stop()
}

// TestLeaderMoves: a leader that changes delays records and loses none.
func TestLeaderMoves(t *testing.T) { bothPaths(t, testLeaderMoves) }

func testLeaderMoves(t *testing.T, by path) {
	c := cluster(t, 2)
	h := newCollector(t)
	_, stop := by.run(t, c, h, func(o *Options) {
		// Brokers of Kafka answer a fetch that waits for records of a partition when its leader changes. The brokers here let it wait.
		o.Client = append(o.Client, kgo.FetchMaxWait(100*time.Millisecond))
	})
	for i := range 5 {
		for p := range int32(2) {
			produce(t, c, p, 20*i, 20)
			if err := c.MoveTopicPartition("t", p, int32(i)%2); err != nil {
				t.Fatal(err)
			}
		}
		h.until("records", func() bool {
			return h.next[source.Partition{Topic: "t"}] == int64(20*i+20) && h.next[source.Partition{Topic: "t", Number: 1}] == int64(20*i+20)
		})
	}
	stop()
}

// TestIdleBroker: a broker that has nothing delays no records of another one. The brokers here wait for ten minutes before they answer that they have
// nothing.
func TestIdleBroker(t *testing.T) { bothPaths(t, testIdleBroker) }

func testIdleBroker(t *testing.T, by path) {
	c := cluster(t, 2)
	for p := range int32(2) {
		if err := c.MoveTopicPartition("t", p, p); err != nil {
			t.Fatal(err)
		}
	}
	h := newCollector(t)
	_, stop := by.run(t, c, h, func(o *Options) {
		o.Client = append(o.Client, kgo.FetchMaxWait(10*time.Minute))
	})
	busy := source.Partition{Topic: "t", Number: 1}
	for i := range 5 {
		produce(t, c, 1, 50*i, 50)
		h.until("records", func() bool { return h.next[busy] == int64(50*i+50) })
	}
	produce(t, c, 0, 0, 50)
	h.until("records of the other broker", func() bool { return h.next[source.Partition{Topic: "t"}] == 50 })
	stop()
}

func TestOptions(t *testing.T) {
	for want, o := range map[string]Options{
		"no brokers": {Topics: []string{"t"}, Group: "g"},
		"no topics":  {Brokers: []string{"a"}, Group: "g"},
		"no group":   {Brokers: []string{"a"}, Topics: []string{"t"}},
		"session":    {Brokers: []string{"a"}, Topics: []string{"t"}, Group: "g", SessionTimeout: time.Hour, RebalanceTimeout: -1},
	} {
		if _, err := New(o); err == nil || want != "session" && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
