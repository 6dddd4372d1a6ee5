// SPDX-License-Identifier: Apache-2.0

// Package kafka is a source.Source: a member of a consumer group of Kafka, by franz-go.
package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/freehold-go/freehold/offheap"
	"github.com/freehold-go/freehold/sink/source"
)

// Options say which topics are read, as which group. Brokers, Topics and Group are needed.
type Options struct {
	Brokers []string // host:port
	Topics  []string
	Group   string

	// InstanceID makes the member static: when it comes back within SessionTimeout, it has its partitions again without a rebalance.
	InstanceID string
	// ServerSide has the broker assign partitions (KIP-848, Kafka 4.0 and later).
	ServerSide bool
	// SessionTimeout is how long the group waits for a member that has died. 0 is 45 s.
	SessionTimeout time.Duration
	// RebalanceTimeout is how long the group waits for members that give partitions up. 0 is 60 s.
	RebalanceTimeout time.Duration

	// FromEnd begins a partition without a committed offset at its end and not at its start.
	FromEnd bool
	// Reset says where to go on if the committed offset is not in the log any more, which means that records were deleted before they
	// were stored. The default is to stop with an error.
	Reset Reset
	// ReadCommitted leaves out records of transactions that were aborted or are still open.
	ReadCommitted bool

	// FetchBytes bounds a response, and FetchPartitionBytes the part of one partition in it, in bytes as the broker has them, compressed or not.
	// Both may be exceeded by one batch. 0 is 2 MiB and 1 MiB. One response of each broker may be in memory before it is handed out: fewer would
	// have the records of a broker wait for another broker that has none.
	FetchBytes, FetchPartitionBytes int32
	// ClientResponses leaves responses to the client, which reads them to the Go heap. By default they lie outside it, see responses.go.
	ClientResponses bool
	// MaxBatchBytes bounds a batch of records when it is decompressed. 0 is 256 MiB.
	MaxBatchBytes int

	// TLS encrypts connections, if it is set. TLS.Config makes it.
	TLS *tls.Config
	// Client has further options of the client, such as SASL. It may not have kgo.Dialer or kgo.DialTLSConfig.
	Client []kgo.Opt

	Logger *slog.Logger // nil discards

	headStarts func(*headStarts) // changes them, for tests
}

// Reset says where a source goes on if the committed offset is not in the log.
type Reset int

const (
	ResetStops   Reset = iota // Run returns an error
	ResetToStart              // at the oldest record that is left
	ResetToEnd                // at the newest
)

// A Source reads topics as a member of a group. Its methods may be called by several goroutines at once.
type Source struct {
	o       Options
	decoder *decompressor
	records recordPool
	client  *kgo.Client // made by Run
	ready   chan struct{}
	batches sync.Pool // of *converted
	starts  headStarts

	mu        sync.Mutex
	lags      map[source.Partition]*atomic.Int64
	committed map[source.Partition]source.Position // by the group before this process had the partition; until the first batch
}

// New makes a source. It does not connect.
func New(o Options) (*Source, error) {
	switch {
	case len(o.Brokers) == 0:
		return nil, errors.New("kafka: no brokers")
	case len(o.Topics) == 0:
		return nil, errors.New("kafka: no topics")
	case o.Group == "":
		return nil, errors.New("kafka: no group")
	}
	set(&o.SessionTimeout, 45*time.Second)
	set(&o.RebalanceTimeout, time.Minute)
	set(&o.FetchBytes, 2<<20)
	set(&o.FetchPartitionBytes, 1<<20)
	set(&o.MaxBatchBytes, 256<<20)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	d, err := newDecompressor(fetched(), o.MaxBatchBytes)
	if err != nil {
		return nil, err
	}
	s := &Source{o: o, decoder: d, ready: make(chan struct{}), starts: newHeadStarts(), lags: map[source.Partition]*atomic.Int64{}, committed: map[source.Partition]source.Position{}}
	if o.headStarts != nil {
		o.headStarts(&s.starts)
	}
	if err := kgo.ValidateOpts(s.options(context.Background(), nil)...); err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	return s, nil
}

// fetched is the account of decompressed batches.
var fetched = sync.OnceValue(func() *offheap.Purpose { return offheap.NewPurpose("sink/fetched") })

func set[T comparable](v *T, to T) {
	var zero T
	if *v == zero {
		*v = to
	}
}

// maxRead bounds a response, of which one batch may be larger than FetchBytes.
func (o *Options) maxRead() int32 { return max(100<<20, 2*o.FetchBytes) }

// maxWait is how long a broker that has no records waits before it says so. Meanwhile the client asks that broker for no other partition: one
// that has a leader again, say. Java's client waits as long.
const maxWait = 500 * time.Millisecond

// options are those of the client.
func (s *Source) options(ctx context.Context, h source.Handler) []kgo.Opt {
	o := &s.o
	start, reset := kgo.NewOffset().AtStart(), kgo.NoResetOffset()
	if o.FromEnd {
		start = kgo.NewOffset().AtEnd()
	}
	switch o.Reset {
	case ResetToStart:
		reset = kgo.NewOffset().AtStart()
	case ResetToEnd:
		reset = kgo.NewOffset().AtEnd()
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(o.Brokers...),
		kgo.ClientID("freehold-sink"),
		kgo.ConsumerGroup(o.Group),
		kgo.ConsumeTopics(o.Topics...),
		kgo.ConsumeStartOffset(start),
		kgo.ConsumeResetOffset(reset),
		kgo.SessionTimeout(o.SessionTimeout),
		kgo.RebalanceTimeout(o.RebalanceTimeout),
		kgo.HeartbeatInterval(min(3*time.Second, o.SessionTimeout/3)),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.FetchMaxBytes(o.FetchBytes),
		kgo.FetchMaxPartitionBytes(o.FetchPartitionBytes),
		kgo.FetchMaxWait(maxWait),
		kgo.BrokerMaxReadBytes(o.maxRead()),
		kgo.WithDecompressor(s.decoder),
		kgo.WithPools(s.decoder, &s.records),
		kgo.KeepControlRecords(), // So that the position behind them is known; they are not handed out.
		kgo.WithHooks(unpolled{&s.starts}),
		kgo.WithLogger(logger{o.Logger}),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, by map[string][]int32) { each(by, h.Assigned) }),
		kgo.OnOffsetsFetched(func(_ context.Context, _ *kgo.Client, r *kmsg.OffsetFetchResponse) error { return s.noteCommitted(r) }),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, by map[string][]int32) {
			// Half of the time is left for the group to go on.
			ctx, cancel := context.WithTimeout(ctx, o.RebalanceTimeout/2)
			defer cancel()
			var all sync.WaitGroup
			each(by, func(p source.Partition) {
				all.Go(func() { h.Revoked(ctx, p) })
				s.forget(p)
			})
			all.Wait()
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, by map[string][]int32) {
			each(by, func(p source.Partition) {
				h.Lost(p)
				s.forget(p)
			})
		}),
	}
	switch {
	case !o.ClientResponses:
		opts = append(opts, kgo.Dialer(s.decoder.responses.dialer(o.TLS, int(o.maxRead()))))
	case o.TLS != nil:
		opts = append(opts, kgo.DialTLSConfig(o.TLS))
	}
	if o.InstanceID != "" {
		opts = append(opts, kgo.InstanceID(o.InstanceID))
	}
	if o.ServerSide {
		opts = append(opts, kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()))
	}
	if o.ReadCommitted {
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	return append(opts, o.Client...)
}

func each(by map[string][]int32, do func(source.Partition)) {
	for topic, numbers := range by {
		for _, n := range numbers {
			do(source.Partition{Topic: topic, Number: n})
		}
	}
}

// unpolled gives back the memory of records that the client fetched and dropped again, because their partition was revoked or paused.
type unpolled struct{ starts *headStarts }

// OnFetchRecordUnbuffered implements kgo.HookFetchRecordUnbuffered. The client calls it within the poll. Records of a partition that is paused count as
// polled, but the client does not return them.
func (u unpolled) OnFetchRecordUnbuffered(r *kgo.Record, polled bool) {
	if !polled || u.starts.isPaused(r.Topic, r.Partition) {
		r.Recycle()
	}
}

// Run implements source.Source.
func (s *Source) Run(ctx context.Context, h source.Handler) error {
	client, err := kgo.NewClient(s.options(context.WithoutCancel(ctx), h)...)
	if err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	s.client, s.starts.client = client, client
	close(s.ready)
	for {
		s.starts.next()
		if err := h.Ready(ctx); err != nil {
			return err
		}
		poll, cancel := s.starts.poll(ctx)
		fetches := client.PollFetches(poll)
		cancel()
		if err := ctx.Err(); err != nil {
			fetches.EachRecord((*kgo.Record).Recycle)
			client.AllowRebalance()
			return err
		}
		if poll != ctx && errors.Is(fetches.Err0(), context.DeadlineExceeded) {
			client.AllowRebalance()
			continue
		}
		err := s.hand(fetches, h)
		client.AllowRebalance()
		if err != nil {
			return err
		}
	}
}

// hand gives the handler what was fetched.
func (s *Source) hand(fetches kgo.Fetches, h source.Handler) error {
	var failed error
	fetches.EachPartition(func(f kgo.FetchTopicPartition) {
		p := source.Partition{Topic: f.Topic, Number: f.Partition}
		if f.Err != nil {
			var large *kgo.ErrDecompressTooLarge
			switch {
			case errors.Is(f.Err, kerr.OffsetOutOfRange):
				failed = errors.Join(failed, fmt.Errorf("kafka: %s partition %d: the committed offset is not in the log any more, so records were deleted before they were stored; "+
					"to go on, choose where (reset), or commit another offset for the group %s: %w", p.Topic, p.Number, s.o.Group, f.Err))
			case rejoins(f.Err):
				s.o.Logger.Warn("the group is lost, will be joined again", "group", s.o.Group, "error", f.Err)
			case errors.Is(f.Err, kgo.ErrClientClosed):
				failed = errors.Join(failed, f.Err)
			case retriable(f.Err):
				s.o.Logger.Warn("fetching failed, will be repeated", "topic", p.Topic, "partition", p.Number, "error", f.Err)
			case errors.As(f.Err, &large):
				failed = errors.Join(failed, fmt.Errorf("kafka: %s partition %d: the batch at offset %d has more than %d bytes when it is decompressed; raise the limit of one batch (batch_bytes)",
					p.Topic, p.Number, large.Offset, s.o.MaxBatchBytes))
			default:
				failed = errors.Join(failed, fmt.Errorf("kafka: fetching %s partition %d: %w", p.Topic, p.Number, f.Err))
			}
		}
		if len(f.Records) == 0 {
			return
		}
		last := f.Records[len(f.Records)-1]
		next := source.Position{Next: last.Offset + 1, Epoch: last.LeaderEpoch}
		end := f.HighWatermark
		if s.o.ReadCommitted {
			end = f.LastStableOffset // What is behind it belongs to transactions that are open.
		}
		lag := max(0, end-next.Next)
		s.lag(p).Store(lag)
		c := convert(&s.batches, f.Records)
		s.starts.fetched(p, len(f.Records), c.bytes, lag)
		if len(c.records) == 0 {
			c.release()
			return
		}
		if at, ok := s.takeCommitted(p); ok {
			h.Committed(p, at)
		}
		h.Batch(p, c.records, next, c.release)
	})
	return failed
}

// Commit implements source.Source. It repeats what the broker refuses for a while, until ctx ends.
func (s *Source) Commit(ctx context.Context, positions map[source.Partition]source.Position) error {
	offsets := map[string]map[int32]kgo.EpochOffset{}
	for p, at := range positions {
		if offsets[p.Topic] == nil {
			offsets[p.Topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[p.Topic][p.Number] = kgo.EpochOffset{Epoch: at.Epoch, Offset: at.Next}
	}
	ctx = kgo.PreCommitFnContext(ctx, func(r *kmsg.OffsetCommitRequest) error {
		for _, t := range r.Topics {
			for i := range t.Partitions {
				p := &t.Partitions[i]
				at := positions[source.Partition{Topic: t.Topic, Number: p.Partition}]
				p.Metadata = &at.Metadata // The client would set its own.
			}
		}
		return nil
	})
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := s.commit(ctx, offsets)
		if err == nil || !retriable(err) {
			return err
		}
		s.o.Logger.Warn("committing failed, will be repeated", "error", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// noteCommitted keeps what the group has committed, until the first batch.
func (s *Source) noteCommitted(r *kmsg.OffsetFetchResponse) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range r.Groups {
		for _, t := range g.Topics {
			if t.Topic == "" {
				return errors.New("kafka: the broker names a topic by an id that is not known yet")
			}
			for _, p := range t.Partitions {
				if p.ErrorCode != 0 || p.Offset < 0 {
					continue
				}
				at := source.Position{Next: p.Offset, Epoch: p.LeaderEpoch}
				if p.Metadata != nil {
					at.Metadata = *p.Metadata
				}
				s.committed[source.Partition{Topic: t.Topic, Number: p.Partition}] = at
			}
		}
	}
	return nil
}

// takeCommitted returns what the group has committed of a partition, once.
func (s *Source) takeCommitted(p source.Partition) (at source.Position, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok = s.committed[p]
	delete(s.committed, p)
	return at, ok
}

// commit commits once.
func (s *Source) commit(ctx context.Context, offsets map[string]map[int32]kgo.EpochOffset) error {
	var failed error
	s.client.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		if failed = err; err != nil {
			return
		}
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil && failed == nil {
					failed = fmt.Errorf("%s partition %d: %w", t.Topic, p.Partition, err)
				}
			}
		}
	})
	for _, gone := range []error{kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.FencedInstanceID, kerr.FencedMemberEpoch} {
		if errors.Is(failed, gone) {
			return fmt.Errorf("%w: %w", source.ErrNotOwned, failed)
		}
	}
	return failed
}

// retriable reports whether the next attempt may succeed. The client gives up when a broker cannot be dialled; it may be back soon. A member
// whose epoch is stale learns the group's epoch by its next heartbeat. If it has lost the partition, Lost or Revoked ends the attempts.
func retriable(err error) bool {
	var network *net.OpError
	return kerr.IsRetriable(err) || kgo.IsRetryableBrokerErr(err) || errors.Is(err, kerr.RebalanceInProgress) || errors.Is(err, kerr.StaleMemberEpoch) ||
		errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF)
}

// rejoins reports whether an error says that the client has lost its group, and joins it again after a while: a session ended because the process
// stood still, or no broker can be reached. It has called OnPartitionsLost before. If the brokers would refuse the next attempt, too, such as for want of rights, or because
// another member has the InstanceID, rejoins is false.
func rejoins(err error) bool {
	var session *kgo.ErrGroupSession
	if !errors.As(err, &session) {
		return false
	}
	for _, e := range []error{kerr.UnknownMemberID, kerr.IllegalGeneration, kerr.StaleMemberEpoch, kerr.FencedMemberEpoch, kerr.RebalanceInProgress, kerr.UnreleasedInstanceID} {
		if errors.Is(err, e) {
			return true
		}
	}
	var refused *kerr.Error
	return !errors.As(err, &refused) || refused.Retriable
}

// Lags is, for each partition that this process owns, the number of offsets between the last record that was handed out and the end
// of the partition, at the time of the last fetch.
func (s *Source) Lags() map[source.Partition]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	lags := make(map[source.Partition]int64, len(s.lags))
	for p, n := range s.lags {
		lags[p] = n.Load()
	}
	return lags
}

func (s *Source) lag(p source.Partition) *atomic.Int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.lags[p]
	if n == nil {
		n = new(atomic.Int64)
		s.lags[p] = n
	}
	return n
}

func (s *Source) forget(p source.Partition) {
	s.starts.forget(p)
	s.mu.Lock()
	delete(s.lags, p)
	delete(s.committed, p)
	s.mu.Unlock()
}

// Close leaves the group. A static member does not leave: it may come back.
func (s *Source) Close() error {
	select {
	case <-s.ready:
		s.client.CloseAllowingRebalance()
	default: // Run was not called, or failed before it had a client.
	}
	s.decoder.zstd.Close()
	return nil
}

// logger passes the client's messages on.
type logger struct{ to *slog.Logger }

func (l logger) Level() kgo.LogLevel {
	ctx := context.Background()
	switch {
	case l.to.Enabled(ctx, slog.LevelDebug):
		return kgo.LogLevelDebug
	case l.to.Enabled(ctx, slog.LevelInfo):
		return kgo.LogLevelInfo
	case l.to.Enabled(ctx, slog.LevelWarn):
		return kgo.LogLevelWarn
	case l.to.Enabled(ctx, slog.LevelError):
		return kgo.LogLevelError
	}
	return kgo.LogLevelNone
}

func (l logger) Log(level kgo.LogLevel, message string, pairs ...any) {
	// The client's information is ours to debug.
	to := map[kgo.LogLevel]slog.Level{kgo.LogLevelError: slog.LevelError, kgo.LogLevelWarn: slog.LevelWarn}
	at, ok := to[level]
	if !ok {
		at = slog.LevelDebug
	}
	l.to.Log(context.Background(), at, message, append([]any{"from", "kafka client"}, pairs...)...)
}
