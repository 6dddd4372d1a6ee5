// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/freehold-go/freehold/sink/source"
)

// TestStaleEpoch: a member whose epoch is behind the broker's still owns its partition. Its commit
// is repeated, and does not end the partition's writer.
func TestStaleEpoch(t *testing.T) {
	along(t, "server side", path{serverSide: true}, func(t *testing.T, by path) {
		c := cluster(t, 1)
		p0 := source.Partition{Topic: "t"}
		produce(t, c, 0, 0, 50)
		h := newCollector(t)
		s, stop := by.run(t, c, h, nil)
		h.until("all records", func() bool { return h.next[p0] == 50 })
		c.ControlKey(int16(kmsg.OffsetCommit), func(r kmsg.Request) (kmsg.Response, error, bool) {
			return refuseCommit(r.(*kmsg.OffsetCommitRequest), kerr.StaleMemberEpoch), nil, true
		})
		if err := s.Commit(t.Context(), map[source.Partition]source.Position{p0: {Next: 50, Epoch: -1}}); err != nil {
			t.Errorf("Commit: %v", err)
		}
		stop()
	})
}

// TestStaticMember: a static member that comes back within its session has its partitions again,
// and the other member notices nothing.
func TestStaticMember(t *testing.T) { eachWay(t, testStaticMember) }

func testStaticMember(t *testing.T, by path) {
	c := cluster(t, 4)
	for p := range int32(4) {
		produce(t, c, p, 0, 20)
	}
	owned := func(h *collector) (numbers []int32) {
		for p, is := range h.owned {
			if is {
				numbers = append(numbers, p.Number)
			}
		}
		slices.Sort(numbers)
		return numbers
	}
	named := func(name string) func(*Options) { return func(o *Options) { o.InstanceID = name } }
	stays, leaves := newCollector(t), newCollector(t)
	_, stop1 := by.run(t, c, stays, named("stays"))
	stays.until("all partitions", func() bool { return len(owned(stays)) == 4 })
	_, stop2 := by.run(t, c, leaves, named("leaves"))
	leaves.until("two partitions", func() bool { return len(owned(leaves)) == 2 })
	stays.until("two are left", func() bool { return len(owned(stays)) == 2 })
	leaves.until("its records", func() bool {
		for _, n := range owned(leaves) {
			if leaves.next[source.Partition{Topic: "t", Number: n}] != 20 {
				return false
			}
		}
		return true
	})
	stays.mu.Lock()
	events := slices.Clone(stays.events)
	stays.mu.Unlock()
	before := owned(leaves)
	stop2()

	back := newCollector(t)
	_, stop3 := by.run(t, c, back, named("leaves"))
	back.until("its partitions", func() bool { return slices.Equal(owned(back), before) })
	back.until("its records", func() bool { return back.next[source.Partition{Topic: "t", Number: before[0]}] == 20 })
	stop3()
	stays.mu.Lock()
	if !slices.Equal(stays.events, events) {
		t.Errorf("while the other member was away: %q", stays.events[len(events):])
	}
	stays.mu.Unlock()
	stop1()
}

// TestStart: FromEnd leaves out what is there if nothing is committed, and ResetToEnd does so if
// the committed record is deleted.
func TestStart(t *testing.T) {
	c := cluster(t, 1)
	p0 := source.Partition{Topic: "t"}
	// read has a member begin at the end, where the next record has an offset, and write ten more.
	read := func(at int) (s *Source, stop func() error) {
		t.Helper()
		asked := make(chan struct{})
		ask := sync.OnceFunc(func() { close(asked) })
		c.ControlKey(int16(kmsg.ListOffsets), func(kmsg.Request) (kmsg.Response, error, bool) {
			ask()
			return nil, nil, false
		})
		h := newCollector(t)
		h.next[p0] = int64(at)
		s, stop = path{}.run(t, c, h, func(o *Options) { o.FromEnd, o.Reset = true, ResetToEnd })
		<-asked
		produce(t, c, 0, at, 10)
		h.until("what came later", func() bool { return h.next[p0] == int64(at+10) })
		return s, stop
	}
	produce(t, c, 0, 0, 100)
	s, stop := read(100)
	if err := s.Commit(t.Context(), map[source.Partition]source.Position{p0: {Next: 105, Epoch: -1}}); err != nil {
		t.Fatal(err)
	}
	stop()
	c.DeleteRecords("t", 0, 108)
	_, stop = read(110)
	stop()
}

// idle is a handler that never asks for records.
type idle struct{ *collector }

func (idle) Ready(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// onBuffered is a hook of the client. The client calls it when a record is decompressed, before a poll can return the record.
type onBuffered func()

func (do onBuffered) OnFetchRecordBuffered(*kgo.Record) { do() }

// TestDropped: a client that closes drops the records that no poll has returned. Their memory is freed.
func TestDropped(t *testing.T) { eachWay(t, testDropped) }

func testDropped(t *testing.T, by path) {
	c := cluster(t, 1)
	produce(t, c, 0, 0, 20)
	here := make(chan struct{})
	h := idle{newCollector(t)}
	_, stop := by.run(t, c, h, func(o *Options) {
		o.Client = append(o.Client, kgo.WithHooks(onBuffered(sync.OnceFunc(func() { close(here) }))))
	})
	<-here
	if inUse() == 0 {
		t.Error("records that were fetched take no memory")
	}
	stop()
	if len(h.next) > 0 {
		t.Errorf("records were handed out: %v", h.next)
	}
}
