// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freehold-go/freehold/sink/block"
	"github.com/freehold-go/freehold/sink/compress"
	"github.com/freehold-go/freehold/sink/encode"
	"github.com/freehold-go/freehold/sink/partition"
	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/source"
)

var p0, p1 = source.Partition{Topic: "t"}, source.Partition{Topic: "t", Number: 1}

// TestEpochs: each boundary ends all open objects of the partition, and their end is committed after they are stored.
func TestEpochs(t *testing.T) {
	for _, codec := range compress.Names() {
		synctest.Test(t, func(t *testing.T) {
			src, to := newFakeSource(), newFakeStore()
			h := start(t, src, to, func(o *Options) {
				o.Codec, _ = compress.Parse(codec, 0)
				o.Partitioner = byFirst{}
			})
			h.assign(p0)
			h.assign(p1)
			values := numbered("a", 0, 25)
			values[3], values[12] = "b3", "b12"
			h.send(p0, 100, values[:7]...)
			h.send(p1, 0, numbered("c", 0, 10)...)
			h.send(p0, 107, values[7:]...)
			synctest.Wait()
			if at0, at1 := src.at(p0), src.at(p1); at0 != 120 || at1 != 10 {
				t.Errorf("%s: committed %d and %d, want 120 and 10", codec, at0, at1)
			}
			e := ".txt" + h.codec.Extension
			want := map[string][]string{
				"t/0/a/00100" + e: slices.Concat(values[:3], values[4:10]),
				"t/0/b/00103" + e: {"b3"},
				"t/0/a/00110" + e: slices.Concat(values[10:12], values[13:20]),
				"t/0/b/00112" + e: {"b12"},
				"t/1/c/00000" + e: numbered("c", 0, 10),
			}
			for key, lines := range want {
				if got := to.lines(t, h.codec, key); !slices.Equal(got, ended(lines)) {
					t.Errorf("%s: %s: %q, want %q", codec, key, got, lines)
				}
			}
			if got := to.keys(); len(got) != len(want) {
				t.Errorf("%s: objects %q", codec, got)
			}
			about := to.objects["t/0/a/00110"+e].about
			about.Format, about.ContentType, about.ContentEncoding = "", "", ""
			if s := fmt.Sprintf("%+v", about); s != "{ContentType: ContentEncoding: Topic:t Partition:0 Group:a FirstOffset:110 LastOffset:119 Records:9 InputBytes:27 EpochFirst:110 EpochNext:120 Format:}" {
				t.Errorf("%s: about is %s", codec, s)
			}
			if err := h.end(); err != nil {
				t.Error(err)
			}
			if s := h.sink.Stats(); s.Records != 35 || s.Objects != 5 || s.Commits != 3 {
				t.Errorf("%s: %+v", codec, s)
			}
		})
	}
}

func ended(lines []string) []string {
	lines = slices.Clone(lines)
	for i := range lines {
		lines[i] += "\n"
	}
	return lines
}

// TestReplay: whatever was stored and not committed is stored again under the same keys with the same bytes, whatever the sizes of
// batches.
func TestReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		values := numbered("a", 0, 95)
		for i := range values {
			values[i] = string(rune('a'+i%7)) + strings.Repeat(values[i], i)
		}
		run := func(batch int) *fakeStore {
			src, to := newFakeSource(), newFakeStore()
			h := start(t, src, to, func(o *Options) {
				o.Partitioner, o.OpenBytes = byFirst{}, 300
				o.Rotation = Rotation{Records: 40, Bytes: 9000, Span: 30 * time.Second}
			})
			h.assign(p0)
			for i := 0; i < len(values); i += batch {
				h.send(p0, int64(i), values[i:min(i+batch, len(values))]...)
			}
			synctest.Wait()
			if err := h.end(); err != nil {
				t.Error(err)
			}
			return to
		}
		want := run(1)
		if len(want.objects) < 10 {
			t.Fatalf("objects %q", want.keys())
		}
		for _, batch := range []int{2, 7, 100} {
			got := run(batch)
			if !slices.Equal(got.keys(), want.keys()) {
				t.Errorf("batches of %d: objects %q, want %q", batch, got.keys(), want.keys())
			}
			for key, o := range want.objects {
				if g := got.objects[key]; string(g.content) != string(o.content) || g.about != o.about {
					t.Errorf("batches of %d: %s differs: %+v, want %+v", batch, key, g.about, o.about)
				}
			}
		}
	})
}

// TestTombstones: the format says what becomes of a record without a value before the partitioner is asked for its group.
func TestTombstones(t *testing.T) {
	for choice, want := range map[encode.Tombstones]struct {
		keys              []string
		skipped, rejected int64
	}{
		encode.SkipTombstones:  {[]string{"t/0/a/00000.txt", "t/0/a/00003.txt"}, 1, 0},
		encode.BadTombstones:   {[]string{"bad/t/0/00002.txt", "t/0/a/00000.txt", "t/0/a/00003.txt"}, 0, 1},
		encode.WriteTombstones: {[]string{"t/0/a/00000.txt", "t/0/a/00003.txt", "t/0/none/00002.txt"}, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			src, to := newFakeSource(), newFakeStore()
			h := start(t, src, to, func(o *Options) {
				var err error
				if o.Format, err = encode.Lines(encode.LinesOptions{Tombstones: choice}); err != nil {
					t.Fatal(err)
				}
				missing := ""
				if choice == encode.WriteTombstones {
					missing = "none"
				}
				if o.Partitioner, err = partition.Field(partition.FieldOptions{Field: "f", Name: "-", Missing: missing}); err != nil {
					t.Fatal(err)
				}
				o.Codec, _ = compress.Parse("none", 0)
				o.Bad, o.RejectFormat, o.Rotation.Records = RejectToObjects, rejectFormat{}, 3
			})
			h.assign(p0)
			h.do(func(_ context.Context, s source.Handler) {
				value := []byte(`{"f":"a"}`)
				s.Batch(p0, []record.Record{{Topic: "t", Value: value}, {Topic: "t", Offset: 1, Value: value}, {Topic: "t", Offset: 2, Key: []byte("k")},
					{Topic: "t", Offset: 3, Value: value}, {Topic: "t", Offset: 4, Value: value}, {Topic: "t", Offset: 5, Value: value}}, source.Position{Next: 6}, func() {})
				h.handed++
				h.released++
			})
			synctest.Wait()
			if err := h.end(); err != nil {
				t.Errorf("%s: %v", choice, err)
			}
			if s := h.sink.Stats(); !slices.Equal(to.keys(), want.keys) || src.at(p0) != 6 || s.Skipped != want.skipped || s.Rejected != want.rejected {
				t.Errorf("%s: %q, committed %d, %+v", choice, to.keys(), src.at(p0), s)
			}
		})
	}
}

// TestTombstoneIsNamed: if a tombstone is bad because it lacks what records are divided by, the
// reason says that it is one.
func TestTombstoneIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, to := newFakeSource(), newFakeStore()
		h := start(t, src, to, func(o *Options) {
			var err1, err2 error
			o.Format, err1 = encode.Lines(encode.LinesOptions{Tombstones: encode.WriteTombstones})
			o.Partitioner, err2 = partition.Time(partition.TimeOptions{Field: "at", Unit: "ms", Layout: "day"})
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
		})
		h.assign(p0)
		h.do(func(_ context.Context, s source.Handler) {
			s.Batch(p0, []record.Record{{Topic: "t", Key: []byte("k")}}, source.Position{Next: 1}, func() {})
			h.handed++
			h.released++
		})
		synctest.Wait()
		if err := h.end(); err == nil || !strings.Contains(err.Error(), "the record is a tombstone, which has no value: the value has no time in the field at") {
			t.Error(err)
		}
	})
}

// TestOneUncommitted: an epoch is visible only after the one before is committed.
func TestOneUncommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, to := newFakeSource(), newFakeStore()
		var free = make(chan struct{})
		to.before = func(ctx context.Context, key string) error {
			if strings.Contains(key, "00000") {
				select {
				case <-free:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		}
		h := start(t, src, to, nil)
		h.assign(p0)
		h.send(p0, 0, numbered("a", 0, 35)...)
		synctest.Wait()
		if len(to.puts) != 0 || src.at(p0) != 0 {
			t.Errorf("stored %q, committed %d, while the first object is being stored", to.puts, src.at(p0))
		}
		close(free)
		synctest.Wait()
		if len(to.puts) != 3 || src.at(p0) != 30 {
			t.Errorf("stored %q, committed %d", to.puts, src.at(p0))
		}
		if err := h.end(); err != nil {
			t.Error(err)
		}
	})
}

// TestClock: the clock ends epochs where no record comes any more.
func TestClock(t *testing.T) {
	for name, r := range map[string]Rotation{"age": {Age: 10 * time.Second}, "every": {Every: 15 * time.Second, Records: 1000}} {
		synctest.Test(t, func(t *testing.T) {
			src, to := newFakeSource(), newFakeStore()
			h := start(t, src, to, func(o *Options) { o.Rotation = r })
			h.assign(p0)
			h.send(p0, 0, "a", "b")
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if src.at(p0) != 0 {
				t.Errorf("%s: committed too early", name)
			}
			h.send(p0, 2, "c")
			time.Sleep(11 * time.Second)
			synctest.Wait()
			if src.at(p0) != 3 || len(to.puts) != 1 {
				t.Errorf("%s: committed %d, stored %q", name, src.at(p0), to.puts)
			}
			h.send(p0, 3, "d")
			if err := h.end(); err != nil || src.at(p0) != 3 {
				t.Errorf("%s: committed %d at the end, %v", name, src.at(p0), err)
			}
		})
	}
}

// TestStop: what is being stored when the sink stops is committed, and what is open only with FlushOnStop.
func TestStop(t *testing.T) {
	for _, flush := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			src, to := newFakeSource(), newFakeStore()
			to.before = func(ctx context.Context, key string) error {
				select {
				case <-time.After(time.Second):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			h := start(t, src, to, func(o *Options) { o.FlushOnStop = flush })
			h.assign(p0)
			h.send(p0, 0, numbered("a", 0, 14)...)
			synctest.Wait()
			if err := h.end(); err != nil {
				t.Error(err)
			}
			if want := map[bool]int64{false: 10, true: 14}[flush]; src.at(p0) != want {
				t.Errorf("flush %v: committed %d, want %d", flush, src.at(p0), want)
			}
		})
	}
}

// TestStopTimeout: a store that does not answer delays the end by StopTimeout, and nothing is committed.
func TestStopTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, to := newFakeSource(), newFakeStore()
		to.before = func(ctx context.Context, key string) error {
			<-ctx.Done()
			return ctx.Err()
		}
		h := start(t, src, to, func(o *Options) { o.StopTimeout = 3 * time.Second })
		h.assign(p0)
		h.send(p0, 0, numbered("a", 0, 44)...)
		synctest.Wait()
		began := time.Now()
		if err := h.end(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 3*time.Second || src.at(p0) != 0 {
			t.Errorf("stopped after %v, committed %d", took, src.at(p0))
		}
	})
}

// TestRevoked: a partition that is given up is committed as far as it was being stored; one that is lost is not written or committed any
// more.
func TestRevoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, to := newFakeSource(), newFakeStore()
		free := make(chan struct{})
		to.before = func(ctx context.Context, key string) error {
			select {
			case <-free:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		h := start(t, src, to, nil)
		h.assign(p0)
		h.assign(p1)
		h.send(p0, 0, numbered("a", 0, 12)...)
		h.send(p1, 0, numbered("a", 0, 12)...)
		synctest.Wait()
		h.do(func(_ context.Context, s source.Handler) {
			s.Lost(p1)
			h.batch(s, p1, 12, "late")
		})
		h.do(func(ctx context.Context, s source.Handler) {
			go func() {
				time.Sleep(time.Second)
				close(free)
			}()
			s.Revoked(ctx, p0)
			h.batch(s, p0, 12, "late")
		})
		if src.at(p0) != 10 || src.at(p1) != 0 || len(to.puts) != 1 {
			t.Errorf("committed %d and %d, stored %q", src.at(p0), src.at(p1), to.puts)
		}
		// The partition comes back, and its records again.
		h.assign(p0)
		h.send(p0, 10, numbered("a", 10, 10)...)
		synctest.Wait()
		if src.at(p0) != 20 {
			t.Errorf("committed %d after the partition came back", src.at(p0))
		}
		if err := h.end(); err != nil {
			t.Error(err)
		}
	})
}

// TestFailures: what fails for good ends Run with an error that says where, and nothing behind it is committed.
func TestFailures(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		change func(*Options, *fakeSource, *fakeStore)
		value  string
		want   string
	}{
		"store": {func(_ *Options, _ *fakeSource, to *fakeStore) {
			to.before = func(context.Context, string) error { return broken }
		}, "a", "t partition 0: writing t/0/00000.txt.gz to a fake store: broken"},
		"commit": {func(_ *Options, src *fakeSource, _ *fakeStore) {
			src.refuse = func(source.Partition, source.Position) error { return broken }
		}, "a", "t partition 0: committing offset 10: broken"},
		"bad": {nil, "bad", "the record at offset 4 cannot be written: the value is bad"},
		"dead letters": {func(o *Options, _ *fakeSource, _ *fakeStore) {
			o.Bad, o.DeadLetters = RejectToTopic, &letters{fail: broken}
		}, "bad", "t partition 0: broken"},
	} {
		synctest.Test(t, func(t *testing.T) {
			src, to := newFakeSource(), newFakeStore()
			h := start(t, src, to, func(o *Options) {
				if test.change != nil {
					test.change(o, src, to)
				}
			})
			h.assign(p0)
			values := numbered("a", 0, 25)
			values[4] = test.value
			h.send(p0, 0, values...)
			err := <-h.done
			h.done <- err
			if h.end(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want %s", name, err, test.want)
			}
			if src.at(p0) != 0 {
				t.Errorf("%s: committed %d", name, src.at(p0))
			}
		})
	}
}

// letters are dead letters in memory.
type letters struct {
	fail error
	sent []string
}

func (l *letters) Send(_ context.Context, r *record.Record) error {
	var headers []string
	for _, h := range r.Headers {
		headers = append(headers, h.Key+"="+string(h.Value))
	}
	l.sent = append(l.sent, string(r.Value)+" "+strings.Join(headers, " "))
	return nil
}
func (l *letters) Flush(context.Context) error { return l.fail }

// TestIdleFailure: a failure ends Run, even if no record comes any more.
func TestIdleFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, to := newFakeSource(), newFakeStore()
		src.refuse = func(source.Partition, source.Position) error { return errors.New("broken") }
		h := start(t, src, to, nil)
		h.assign(p0)
		h.send(p0, 0, numbered("a", 0, 10)...)
		synctest.Wait()
		select {
		case err := <-h.done:
			h.done <- err
		default:
			t.Error("Run goes on")
		}
		if err := h.end(); err == nil || !strings.Contains(err.Error(), "broken") {
			t.Error(err)
		}
	})
}

// TestRejected: bad records go where they should, count for the boundaries, and are in no other object.
func TestRejected(t *testing.T) {
	for _, toTopic := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			src, to, dead := newFakeSource(), newFakeStore(), &letters{}
			h := start(t, src, to, func(o *Options) {
				o.Bad, o.RejectFormat = RejectToObjects, rejectFormat{}
				if toTopic {
					o.Bad, o.DeadLetters = RejectToTopic, dead
				}
				o.Partitioner = byFirst{}
			})
			h.assign(p0)
			h.send(p0, 0, "bad", "b1", "a", "", "a", "a", "a", "a", "bad", "b2", "a")
			synctest.Wait()
			if src.at(p0) != 10 {
				t.Errorf("committed %d", src.at(p0))
			}
			want := map[string][]string{"t/0/a/00002.txt.gz": {"a\n", "a\n", "a\n", "a\n", "a\n"}, "t/0/b/00001.txt.gz": {"b1\n", "b2\n"}}
			if toTopic {
				suffix := " freehold-topic=t freehold-partition=0 freehold-offset="
				if w := []string{"bad freehold-reason=the value is bad" + suffix + "0", " freehold-reason=no value" + suffix + "3", "bad freehold-reason=the value is bad" + suffix + "8"}; !slices.Equal(dead.sent, w) {
					t.Errorf("dead letters %q, want %q", dead.sent, w)
				}
			} else {
				want["bad/t/0/00000.txt.gz"] = []string{"bad: the value is bad\n", ": no value\n", "bad: the value is bad\n"}
			}
			for key, lines := range want {
				if got := to.lines(t, h.codec, key); !slices.Equal(got, lines) {
					t.Errorf("%s: %q, want %q", key, got, lines)
				}
			}
			if len(to.objects) != len(want) || h.sink.Stats().Rejected != 3 {
				t.Errorf("objects %q, %+v", to.keys(), h.sink.Stats())
			}
			if err := h.end(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestMemory: above the limit nothing is fetched. If only open objects hold memory, the largest epoch ends early, and all goes on.
func TestMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, to := newFakeSource(), newFakeStore()
		free := make(chan struct{})
		to.before = func(ctx context.Context, key string) error {
			select {
			case <-free:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		h := start(t, src, to, func(o *Options) {
			o.Codec, _ = compress.Parse("none", 0)
			o.Budget = block.NewBudget("small", 100_000)
			o.Rotation = Rotation{Records: 1000}
		})
		h.assign(p0)
		h.assign(p1)
		value := strings.Repeat("a", 1000)
		sent := 0
		ready := func() bool {
			done := make(chan struct{})
			h.do(func(ctx context.Context, s source.Handler) {
				go func() {
					if s.Ready(ctx) == nil {
						close(done)
					}
				}()
			})
			synctest.Wait()
			select {
			case <-done:
				return true
			default:
				return false
			}
		}
		for ; sent < 300 && ready(); sent++ {
			h.send(p0, int64(sent), value)
			if sent%10 == 0 {
				h.send(p1, int64(sent/10), value)
			}
			synctest.Wait()
		}
		if sent == 300 || h.budget.Used() > 150_000 {
			t.Fatalf("%d records sent, %d bytes in flight", sent, h.budget.Used())
		}
		if s := h.sink.Stats(); s.EarlyEnds != 1 || s.Waits == 0 {
			t.Errorf("%+v", s)
		}
		close(free)
		synctest.Wait()
		if src.at(p0) != int64(sent) || src.at(p1) != 0 {
			t.Errorf("committed %d and %d of %d", src.at(p0), src.at(p1), sent)
		}
		if !ready() {
			t.Error("not ready after the epoch was stored")
		}
		if err := h.end(); err != nil {
			t.Error(err)
		}
	})
}

// TestSpill: with a directory for the content of open objects, memory changes neither objects nor boundaries.
func TestSpill(t *testing.T) {
	run := func(t *testing.T, limit int64, spill *block.SpillDir) (to *fakeStore, s Stats) {
		synctest.Test(t, func(t *testing.T) {
			src := newFakeSource()
			to = newFakeStore()
			h := start(t, src, to, func(o *Options) {
				o.Codec, _ = compress.Parse("lz4", 0)
				o.Budget, o.Spill = block.NewBudget("small", limit), spill
				o.Partitioner, o.MemberBytes, o.OpenBytes = byFirst{}, 4096, 16384
				o.Rotation = Rotation{Records: 150}
			})
			h.assign(p0)
			h.assign(p1)
			for i := range 300 {
				h.do(func(ctx context.Context, s source.Handler) {
					if err := s.Ready(ctx); err != nil {
						t.Error(err)
					}
				})
				values := numbered(string(rune('a'+i%4))+noise[i:], 2*i, 2)
				h.send(p0, 2*int64(i), values...)
				h.send(p1, 2*int64(i), values...)
				synctest.Wait()
			}
			if err := h.end(); err != nil {
				t.Error(err)
			}
			if s = h.sink.Stats(); s.EarlyEnds == 0 && (src.at(p0) != 600 || src.at(p1) != 600) {
				t.Errorf("committed %d and %d", src.at(p0), src.at(p1))
			}
		})
		return to, s
	}
	d, err := block.NewSpillDir(t.TempDir(), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	want, s := run(t, 1<<30, nil)
	if s.EarlyEnds != 0 || s.Objects != 32 {
		t.Fatalf("%+v", s)
	}
	got, s := run(t, 400_000, d)
	if s.EarlyEnds != 0 || s.Spilled < 1_000_000 || s.InSpill != 0 || s.PeakInFlight > 600_000 {
		t.Errorf("%+v", s)
	}
	if !slices.Equal(got.keys(), want.keys()) {
		t.Fatalf("objects %q, want %q", got.keys(), want.keys())
	}
	for key, o := range want.objects {
		if g := got.objects[key]; string(g.content) != string(o.content) || g.about != o.about {
			t.Fatalf("%s differs: %+v, want %+v", key, g.about, o.about)
		}
	}
	// When the directory is full, epochs end early.
	if d, err = block.NewSpillDir(t.TempDir(), 300_000); err != nil {
		t.Fatal(err)
	}
	if _, s := run(t, 400_000, d); s.EarlyEnds == 0 || s.Spilled == 0 || s.InSpill != 0 {
		t.Errorf("%+v", s)
	}
}

// TestQueue: nothing is fetched while many records wait for their writer, although the budget has room.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, to := newFakeSource(), newFakeStore()
		free := make(chan struct{})
		to.before = func(context.Context, string) error { <-free; return nil }
		h := start(t, src, to, func(o *Options) {
			o.Budget = block.NewBudget("large", 1_000_000)
			o.Rotation = Rotation{Records: 10}
		})
		h.assign(p0)
		ready := make(chan error, 1)
		for i := range 300 { // The second epoch waits for the first, and the records behind it for the second.
			h.send(p0, int64(i), strings.Repeat("a", 1000))
		}
		h.do(func(ctx context.Context, s source.Handler) {
			go func() { ready <- s.Ready(ctx) }()
		})
		synctest.Wait()
		if len(ready) > 0 || h.budget.Over() {
			t.Errorf("%d bytes in flight of %d: ready with 280 KB in a queue: %v", h.budget.Used(), h.budget.Limit(), len(ready) > 0)
		}
		close(free)
		if err := <-ready; err != nil {
			t.Error(err)
		}
		if err := h.end(); err != nil {
			t.Error(err)
		}
	})
}

// TestManyGroups: the blocks of many open objects grow as they fill, and all together stay within OpenBytes.
func TestManyGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, to := newFakeSource(), newFakeStore()
		h := start(t, src, to, func(o *Options) {
			o.MemberBytes, o.OpenBytes = 256<<10, 1<<20
			o.Rotation = Rotation{Records: 100_000}
			o.Partitioner = byNumber{}
		})
		h.assign(p0)
		var values []string
		for i := range 20_000 {
			values = append(values, fmt.Sprintf("%d %0200d", i%1000, i))
		}
		for i := 0; i < len(values); i += 500 {
			h.send(p0, int64(i), values[i:i+500]...)
			synctest.Wait()
		}
		// 4.1 MB of values: 1 MiB is raw, in blocks that are at most half empty, and the rest is compressed.
		if s := h.sink.Stats(); s.OpenObjects != 1000 || s.PeakInFlight > 8<<20 {
			t.Errorf("%+v", s)
		}
		if err := h.end(); err != nil {
			t.Error(err)
		}
	})
}

type byNumber struct{}

func (byNumber) Group(dst []byte, r *record.Record) ([]byte, error) {
	return append(dst, r.Value[:strings.IndexByte(string(r.Value), ' ')]...), nil
}

// TestOptions: what is missing is named.
func TestOptions(t *testing.T) {
	full := func() Options {
		codec, _ := compress.Parse("zstd", 0)
		return Options{Store: newFakeStore(), Format: lineFormat{}, Codec: codec, Key: keys("", codec), Rotation: Rotation{Records: 1}, Budget: block.NewBudget("test", 1)}
	}
	for want, change := range map[string]func(*Options){
		"Store":       func(o *Options) { o.Store = nil },
		"Format":      func(o *Options) { o.Format = nil },
		"Codec":       func(o *Options) { o.Codec = compress.Codec{} },
		"Key":         func(o *Options) { o.Key = nil },
		"no boundary": func(o *Options) { o.Rotation = Rotation{} },
		"negative":    func(o *Options) { o.Rotation.Age = -1 },
		"Budget":      func(o *Options) { o.Budget = nil },
		"RejectKey":   func(o *Options) { o.Bad = RejectToObjects },
		"DeadLetters": func(o *Options) { o.Bad = RejectToTopic },
	} {
		o := full()
		change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := New(full()); err != nil {
		t.Error(err)
	}
}

// asTheyAre are Values that change nothing.
type asTheyAre struct{}

func (asTheyAre) Prepare(context.Context, *record.Record) error { return nil }

func TestPrepareAllocatesNothing(t *testing.T) {
	for _, values := range []Values{nil, asTheyAre{}} {
		w := &writer{s: &shared{o: Options{Values: values}}, taking: t.Context()}
		r := &record.Record{Value: []byte("v")}
		if n := testing.AllocsPerRun(100, func() {
			if _, bad, err := w.prepare(r); bad != nil || err != nil {
				t.Fatal(bad, err)
			}
		}); n != 0 {
			t.Errorf("%v: %v allocations for a record", values, n)
		}
	}
}
