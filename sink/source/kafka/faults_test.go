// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/source"
)

// TestRefusals: errors that a broker answers a fetch with, for a partition or all of it, delay records and lose none.
func TestRefusals(t *testing.T) { bothPaths(t, testRefusals) }

func testRefusals(t *testing.T, by path) {
	c := cluster(t, 2)
	h := newCollector(t)
	_, stop := by.run(t, c, h, func(o *Options) {
		o.Client = append(o.Client, kgo.FetchMaxWait(100*time.Millisecond), kgo.RetryBackoffFn(func(int) time.Duration { return time.Millisecond }))
	})
	from := 0
	for _, e := range []*kerr.Error{
		kerr.NotLeaderForPartition, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.UnknownTopicID, kerr.UnknownTopicOrPartition,
		kerr.LeaderNotAvailable, kerr.ReplicaNotAvailable, kerr.OffsetNotAvailable, kerr.KafkaStorageError, kerr.CorruptMessage, kerr.InconsistentTopicID,
	} {
		fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: e, Count: 2})
		for p := range int32(2) {
			produce(t, c, p, from, 20)
		}
		from += 20
		h.until(e.Error(), func() bool {
			return h.next[source.Partition{Topic: "t"}] == int64(from) && h.next[source.Partition{Topic: "t", Number: 1}] == int64(from)
		})
		fault.Remove()
	}
	for _, e := range []*kerr.Error{kerr.FetchSessionIDNotFound, kerr.InvalidFetchSessionEpoch, kerr.UnknownServerError} {
		fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: e, TopLevel: true})
		produce(t, c, 0, from, 20)
		produce(t, c, 1, from, 20)
		from += 20
		h.until(e.Error(), func() bool { return h.next[source.Partition{Topic: "t"}] == int64(from) })
		fault.Remove()
	}
	stop()
}

// TestRejoins: a member that the group has lost joins it again, and goes on behind what is committed.
func TestRejoins(t *testing.T) { bothPaths(t, testRejoins) }

func testRejoins(t *testing.T, by path) {
	c := cluster(t, 1)
	p0 := source.Partition{Topic: "t"}
	h := newCollector(t)
	s, stop := by.run(t, c, h, nil)
	for i, e := range []*kerr.Error{kerr.UnknownMemberID, kerr.IllegalGeneration, kerr.UnknownMemberID} {
		produce(t, c, 0, 50*i, 50)
		h.until("records", func() bool { return h.next[p0] == int64(50*i+50) })
		if err := s.Commit(t.Context(), map[source.Partition]source.Position{p0: {Next: int64(50*i + 50), Epoch: -1}}); err != nil {
			t.Fatal(err)
		}
		c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Err: e, Count: 1})
		lost, assigned := 0, 0
		h.until("the partition is lost, and comes back", func() bool {
			lost, assigned = 0, 0
			for _, event := range h.events {
				switch event {
				case "lost 0":
					lost++
				case "assigned 0":
					assigned++
				}
			}
			return lost == i+1 && assigned == i+2
		})
	}
	produce(t, c, 0, 150, 50)
	h.until("records after all", func() bool { return h.next[p0] == 200 })
	// Another member has the place: the group would refuse the next attempt, too.
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat, kmsg.JoinGroup}, Err: kerr.FencedInstanceID})
	h.until("the partition is lost for good", func() bool { return !h.owned[p0] })
	if err := stop(); !errors.Is(err, kerr.FencedInstanceID) && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestGroupErrors says after which errors of the group the client joins again.
func TestGroupErrors(t *testing.T) {
	for err, want := range map[error]bool{
		kerr.UnknownMemberID: true, kerr.NotCoordinator: true, kerr.UnreleasedInstanceID: true, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}: true, io.EOF: true,
		kerr.FencedInstanceID: false, kerr.GroupAuthorizationFailed: false, kerr.SaslAuthenticationFailed: false, kerr.InvalidSessionTimeout: false,
	} {
		if got := rejoins(&kgo.ErrGroupSession{Err: fmt.Errorf("unable: %w", err)}); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
		if rejoins(err) {
			t.Errorf("%v of a fetch has the group joined again", err)
		}
	}
}

// TestCommitRetries: a commit is repeated while no broker can be reached, and after answers that pass.
func TestCommitRetries(t *testing.T) {
	client, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1"), kgo.RequestRetries(0), kgo.RetryTimeout(time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	refused := client.Ping(t.Context())
	if refused == nil {
		t.Fatal("something listens at port 1")
	}
	for err, want := range map[error]bool{
		refused: true, io.ErrUnexpectedEOF: true, kerr.RebalanceInProgress: true, kerr.StaleMemberEpoch: true, kerr.CoordinatorNotAvailable: true,
		kerr.IllegalGeneration: false, kerr.TopicAuthorizationFailed: false, context.Canceled: false, kgo.ErrClientClosed: false,
	} {
		if got := retriable(fmt.Errorf("committing: %w", err)); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}

// TestOldBrokers: each version of fetch requests that brokers speak which have batches of version 2.
func TestOldBrokers(t *testing.T) { bothPaths(t, testOldBrokers) }

func testOldBrokers(t *testing.T, by path) {
	for _, v := range []*kversion.Versions{kversion.V0_11_0(), kversion.V2_0_0(), kversion.V2_3_0(), kversion.V2_7_0(), kversion.V3_1_0(), kversion.V3_7_0()} {
		c := cluster(t, 1, kfake.MaxVersions(v))
		produce(t, c, 0, 0, 200)
		h := newCollector(t)
		_, stop := by.run(t, c, h, nil)
		h.until(v.String(), func() bool { return h.next[source.Partition{Topic: "t"}] == 200 })
		stop()
	}
}

// cutting is a listener whose connections end in the middle of what they write, some while after they began.
type cutting struct {
	net.Listener
	on *atomic.Bool
}

func (l cutting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &cut{Conn: c, on: l.on, left: 2_000 + rand.IntN(20_000)}, nil
}

type cut struct {
	net.Conn
	on   *atomic.Bool
	mu   sync.Mutex
	left int
}

func (c *cut) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.on.Load() && c.left < len(p) {
		n, _ := c.Conn.Write(p[:max(c.left, 0)])
		c.Conn.Close()
		return n, io.ErrClosedPipe
	}
	c.left -= len(p)
	return c.Conn.Write(p)
}

// TestCutConnections: connections that end within a response delay records and lose none.
func TestCutConnections(t *testing.T) { bothPaths(t, testCutConnections) }

func testCutConnections(t *testing.T, by path) {
	on := new(atomic.Bool)
	c := cluster(t, 2, kfake.ListenFn(func(network, address string) (net.Listener, error) {
		l, err := net.Listen(network, address)
		return cutting{l, on}, err
	}))
	for i := range 10 {
		for p := range int32(2) {
			produce(t, c, p, 100*i, 100)
		}
	}
	on.Store(true)
	h := newCollector(t)
	_, stop := by.run(t, c, h, func(o *Options) {
		o.FetchBytes, o.FetchPartitionBytes = 16<<10, 8<<10
		o.Client = append(o.Client, kgo.RetryBackoffFn(func(int) time.Duration { return time.Millisecond }))
	})
	h.until("a few connections that were cut", func() bool { return h.next[source.Partition{Topic: "t"}] > 200 })
	on.Store(false)
	h.until("all records", func() bool {
		return h.next[source.Partition{Topic: "t"}] == 1000 && h.next[source.Partition{Topic: "t", Number: 1}] == 1000
	})
	stop()
}

// offsets is a handler that notes the offsets of records and releases them.
type offsets struct {
	*collector
	values map[source.Partition][]string
}

func (o offsets) Batch(p source.Partition, records []record.Record, next source.Position, release func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range records {
		o.values[p] = append(o.values[p], string(r.Value[:1]))
	}
	o.next[p] = next.Next
	o.wake()
	release()
}

// TestTransactions: with ReadCommitted, records of transactions that were aborted or are open are left out. Markers of transactions are no
// records, and no lag.
func TestTransactions(t *testing.T) { bothPaths(t, testTransactions) }

func testTransactions(t *testing.T, by path) {
	c := cluster(t, 1)
	p0 := source.Partition{Topic: "t"}
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.TransactionalID("x"), kgo.DefaultProduceTopic("t"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	transaction := func(letter string, end func() error) {
		if err := client.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			r := kgo.StringRecord(letter + strings.Repeat(" value", 100))
			if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
	commit := func() error { return client.EndTransaction(t.Context(), kgo.TryCommit) }
	abort := func() error { return client.EndTransaction(t.Context(), kgo.TryAbort) }
	transaction("a", commit)
	transaction("b", abort)
	transaction("c", commit)
	transaction("d", abort)
	for committed, want := range map[bool]string{false: "abcd", true: "ac"} {
		h := offsets{newCollector(t), map[source.Partition][]string{}}
		s, stop := by.run(t, c, h, func(o *Options) { o.ReadCommitted = committed })
		h.until("all records", func() bool { return len(h.values[p0]) == 20*len(want) })
		// The last marker may come in a fetch of its own.
		for end := time.Now().Add(5 * time.Minute); s.Lags()[p0] != 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("committed %v: a lag of %d behind the last record", committed, s.Lags()[p0])
			}
		}
		stop()
		if got := strings.Join(slices.Compact(h.values[p0]), ""); got != want {
			t.Errorf("committed %v: records of the transactions %s, want %s", committed, got, want)
		}
	}
	// Behind an open transaction nothing is stable.
	transaction("e", func() error { return nil })
	h := offsets{newCollector(t), map[source.Partition][]string{}}
	s, stop := by.run(t, c, h, func(o *Options) { o.ReadCommitted, o.Group = true, "other" })
	h.until("what is committed", func() bool { return len(h.values[p0]) == 40 })
	if lag := s.Lags()[p0]; lag > 1 {
		t.Errorf("an open transaction is a lag of %d", lag)
	}
	if err := commit(); err != nil {
		t.Fatal(err)
	}
	h.until("the transaction", func() bool { return len(h.values[p0]) == 60 })
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestThrottled: a broker that asks for pauses gets them, and records go on.
func TestThrottled(t *testing.T) { bothPaths(t, testThrottled) }

func testThrottled(t *testing.T, by path) {
	c := cluster(t, 1)
	p0 := source.Partition{Topic: "t"}
	h := newCollector(t)
	_, stop := by.run(t, c, h, nil)
	for i := range 3 {
		c.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
			resp := r.ResponseKind().(*kmsg.FetchResponse)
			resp.ThrottleMillis = 20
			return resp, nil, true
		})
		produce(t, c, 0, 50*i, 50)
		h.until("records", func() bool { return h.next[p0] == int64(50*i+50) })
	}
	stop()
}
