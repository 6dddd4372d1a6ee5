// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freehold-go/freehold/sink/block"
	"github.com/freehold-go/freehold/sink/compress"
	"github.com/freehold-go/freehold/sink/encode"
	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/source"
	"github.com/freehold-go/freehold/sink/store"
)

// TestSimulation lets members of a group come, go, die, and stand still while the store and the broker refuse, answer late, or do what they were
// asked and then fail. Afterwards each record before the committed offset is in exactly one place. FREEHOLD_TEST_SEEDS is the number of runs,
// FREEHOLD_TEST_SEED the first.
func TestSimulation(t *testing.T) {
	first, n := uint64(1), uint64(200)
	if testing.Short() {
		n = 50
	}
	for name, to := range map[string]*uint64{"FREEHOLD_TEST_SEED": &first, "FREEHOLD_TEST_SEEDS": &n} {
		if text := os.Getenv(name); text != "" {
			v, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			*to = v
		}
	}
	var spilled int64
	for seed := first; seed < first+n && !t.Failed(); seed++ {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, seed)
			w.live()
			spilled += w.spilled
		})
	}
	if n >= 50 && spilled == 0 {
		t.Error("no world has spilled objects")
	}
}

const (
	worldPartitions = 2
	worldRecords    = 150
)

// world is a broker with a group, a store, and the members. It lives in the bubble of a test.
type world struct {
	t    *testing.T
	seed uint64
	r    *rand.Rand
	bad  bool // whether some records are
	o    Options

	memory  int64 // in flight
	spilled int64
	noise   string // part of all values, so that open objects do not fit into memory and are spilled

	objects   *fakeStore
	mu        sync.Mutex // guards what follows from the sinks' goroutines
	processes int
	committed map[source.Partition]int64
	metadata  map[source.Partition]string // beside it
	members   []*process
	owner     map[source.Partition]*process // as the group sees it
	faults    atomic.Bool
}

// process is a process with a sink.
type process struct {
	w       *world
	number  int
	mu      sync.Mutex
	times   map[string]int
	sink    *Sink
	handler source.Handler
	stop    context.CancelFunc
	done    chan error
	ended   bool
	dead    atomic.Bool                // killed: what it does has no effect any more
	expired atomic.Bool                // the group has given it up
	stands  chan struct{}              // closed unless it stands still
	next    map[source.Partition]int64 // of its fetches
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, seed: seed, r: rand.New(rand.NewPCG(seed, 1)), objects: newFakeStore(), committed: map[source.Partition]int64{}, metadata: map[source.Partition]string{}, owner: map[source.Partition]*process{}}
	w.faults.Store(true)
	codec, _ := compress.Parse([]string{"none", "gzip", "lz4"}[w.r.IntN(3)], 0)
	w.o = Options{Format: lineFormat{}, Codec: codec, Key: keys("", codec), MemberBytes: 128, OpenBytes: int64(200 + w.r.IntN(2000)), StopTimeout: time.Duration(1 + w.r.IntN(int(2*time.Second)))}
	w.o.Rotation = []Rotation{{Records: int64(1 + w.r.IntN(40))}, {Bytes: int64(1 + w.r.IntN(500))}, {Span: time.Duration(1+w.r.IntN(30)) * time.Second}}[w.r.IntN(3)]
	w.o.Rotation.Records = max(w.o.Rotation.Records, int64(w.r.IntN(2)*25))
	if w.r.IntN(3) > 0 {
		w.o.Partitioner = byFirst{}
	}
	// In each third world some records are bad.
	if w.bad = seed%3 == 0; w.bad {
		w.o.Format, w.o.Bad, w.o.RejectFormat, w.o.RejectKey = pickyFormat{}, RejectToObjects, lineFormat{}, keys("bad/", codec)
	}
	// In each fourth world, of both kinds, open objects are spilled. A boundary by the memory would break the promise.
	if w.memory = 1 << 20; seed%8 == 1 || seed%8 == 4 {
		w.noise = noise
		w.memory = 300_000
		w.o.MemberBytes, w.o.OpenBytes = 4096, 8192
		w.o.Spill, _ = block.NewSpillDir(t.TempDir(), 1<<30)
		w.o.Codec, _ = compress.Parse([]string{"none", "lz4"}[w.r.IntN(2)], 0)
		w.o.Key, w.o.RejectKey = keys("", w.o.Codec), keys("bad/", w.o.Codec)
		w.o.Rotation.Bytes *= int64(len(noise))
	}
	// Each second world has groups that end by themselves. Its other choices do not depend on that.
	if seed%2 == 0 {
		w.o.Rotation.Independent, w.o.Rotation.Behind = true, int64(1+w.r.IntN(60))
	}
	return w
}

// chance is a number below n that depends on the seed, the process and what it does for which time, and on no order in which goroutines
// run.
func (m *process) chance(n int, what string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.times[what]++
	h := fnv.New64a()
	fmt.Fprint(h, m.w.seed, " ", m.number, " ", what, " ", m.times[what])
	return int(rand.New(rand.NewPCG(h.Sum64(), m.w.seed)).Uint64N(uint64(n)))
}

// value is that of a record.
func (w *world) value(p source.Partition, i int64) string {
	return fmt.Sprintf("%c-%d-%d%s%s", 'a'+i*i%3, p.Number, i, strings.Repeat("x", int(i%7)), w.noise)
}

// noise cannot be compressed by much.
var noise = func() string {
	b, r := make([]byte, 6000), rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return base64.RawStdEncoding.EncodeToString(b)
}()

// isBad reports whether a record is bad, in worlds that have bad ones.
func isBad(i int64) bool { return i%13 == 5 }

// pickyFormat is lineFormat that refuses records.
type pickyFormat struct{ lineFormat }

func (f pickyFormat) Begin(w io.Writer) (encode.Encoder, error) {
	return &pickyEncoder{lineEncoder{w, 0}}, nil
}

type pickyEncoder struct{ lineEncoder }

func (e *pickyEncoder) Append(r *record.Record) error {
	if isBad(r.Offset) {
		return record.Badf("it is bad")
	}
	return e.lineEncoder.Append(r)
}

// process is also the source of its sink.
func (m *process) Run(ctx context.Context, h source.Handler) error {
	m.handler = h
	<-ctx.Done()
	return ctx.Err()
}

func (m *process) Close() error { return nil }

var errInjected = errors.New("injected")

// pause lets time go by, as a slow network does, and stands still if the member does.
func (m *process) pause(what string) {
	if m.w.faults.Load() && m.chance(3, "pause "+what) == 0 {
		time.Sleep(time.Duration(m.chance(int(3*time.Second), "sleep "+what)))
	}
	<-m.standing()
}

// standing is closed unless the process stands still.
func (m *process) standing() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stands
}

func (m *process) Commit(ctx context.Context, positions map[source.Partition]source.Position) error {
	name := fmt.Sprint("commit ", positions)
	m.pause(name)
	w := m.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if m.dead.Load() || ctx.Err() != nil {
		return errInjected
	}
	if m.expired.Load() {
		return source.ErrNotOwned
	}
	if w.faults.Load() && m.chance(15, name) == 0 {
		return errInjected
	}
	for p, at := range positions { // The broker takes it from any member that has not expired.
		if at.Next < w.committed[p] && w.owner[p] != m {
			w.t.Errorf("seed %d: a member that does not own %v commits %d after %d", w.seed, p, at.Next, w.committed[p])
		}
		w.committed[p], w.metadata[p] = at.Next, at.Metadata
	}
	if w.faults.Load() && m.chance(15, name) == 0 {
		return errInjected // The answer was lost.
	}
	return nil
}

// worldStore is the store as a member sees it.
type worldStore struct {
	*fakeStore
	m *process
}

func (s worldStore) Put(ctx context.Context, key string, body store.Body, about store.About) error {
	m, w := s.m, s.m.w
	m.pause(key)
	if m.dead.Load() {
		return errInjected
	}
	if w.faults.Load() && m.chance(12, "put "+key) == 0 {
		return errInjected
	}
	// A request that is on its way arrives, whatever became of whoever sent it.
	if err := s.fakeStore.Put(ctx, key, body, about); err != nil {
		return err
	}
	if w.faults.Load() && m.chance(12, "put "+key) == 0 {
		return errInjected
	}
	return ctx.Err()
}

func (w *world) start() {
	w.processes++
	m := &process{w: w, number: w.processes, times: map[string]int{}, done: make(chan error, 1), stands: make(chan struct{}), next: map[source.Partition]int64{}}
	close(m.stands)
	o := w.o
	o.Store, o.Budget = worldStore{w.objects, m}, block.NewBudget("simulation", w.memory)
	s, err := New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	m.sink = s
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	go func() { m.done <- s.Run(ctx, m) }()
	synctest.Wait()
	w.members = append(w.members, m)
}

// own says who owns a partition.
func (w *world) own(p source.Partition, m *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.owner[p] = m
}

// at is the committed offset.
func (w *world) at(p source.Partition) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.committed[p]
}

// assign gives a partition to a member.
func (w *world) assign(p source.Partition, m *process) {
	w.own(p, m)
	m.next[p] = w.at(p)
	m.handler.Assigned(p)
	if at := m.next[p]; at > 0 || w.r.IntN(2) == 0 {
		w.mu.Lock()
		committed := source.Position{Next: at, Metadata: w.metadata[p]}
		w.mu.Unlock()
		m.handler.Committed(p, committed)
	}
}

// revoke takes a partition from its owner, as a rebalance does.
func (w *world) revoke(p source.Partition) {
	m := w.owner[p]
	if m == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(w.r.IntN(int(4*time.Second))))
	defer cancel()
	m.handler.Revoked(ctx, p)
	delete(m.next, p)
	w.own(p, nil)
}

// bury takes a member out that has ended, or that is to end at once. Its partitions have no owner then.
func (w *world) bury(m *process) {
	m.stop()
	if !m.ended {
		<-m.done
	}
	for p, o := range w.owner {
		if o == m {
			w.own(p, nil)
		}
	}
	for i := range w.members {
		if w.members[i] == m {
			w.members = append(w.members[:i], w.members[i+1:]...)
			break
		}
	}
	synctest.Wait() // Records may have been handed out while Run was returning.
	s := m.sink.Stats()
	w.spilled += s.Spilled
	if w.o.Spill != nil && (s.EarlyEnds > 0 || len(w.members) == 0 && s.InSpill > 0) {
		w.t.Errorf("seed %d: although objects can be spilled: %+v", w.seed, s)
	}
	if used := m.sink.o.Budget.Used(); used != 0 {
		w.t.Errorf("seed %d: a member that has ended holds %d bytes", w.seed, used)
	}
}

// ready reports whether the sink takes records. It waits a while for one that is full, or that stands still.
func (m *process) ready() bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return m.handler.Ready(ctx) == nil
}

// step does one thing.
func (w *world) step() {
	for _, m := range append([]*process(nil), w.members...) {
		select {
		case err := <-m.done:
			m.ended = true
			if err == nil || !errors.Is(err, errInjected) {
				w.t.Errorf("seed %d: a member ended: %v", w.seed, err)
			}
			w.bury(m)
		default:
		}
	}
	for len(w.members) == 0 || w.faults.Load() && len(w.members) < 3 && w.r.IntN(20) == 0 {
		w.start()
	}
	m := w.members[w.r.IntN(len(w.members))]
	p := source.Partition{Topic: "t", Number: int32(w.r.IntN(worldPartitions))}
	what := 0
	if w.faults.Load() {
		what = w.r.IntN(40)
	}
	standing := func(m *process) bool {
		select {
		case <-m.standing():
			return false
		default:
			return true
		}
	}
	switch {
	case what == 1 && !standing(m): // It is killed.
		m.dead.Store(true)
		w.bury(m)
		return
	case what == 2 && w.owner[p] != nil && !standing(w.owner[p]):
		w.revoke(p)
	case what == 3 && w.owner[p] != nil && !standing(w.owner[p]): // The session is lost: others have the partitions before the member knows.
		z := w.owner[p]
		z.mu.Lock()
		z.stands = make(chan struct{})
		z.mu.Unlock()
		z.expired.Store(true)
		for q, o := range w.owner {
			if o == z {
				w.own(q, nil)
			}
		}
		return
	case what == 4:
		time.Sleep(time.Duration(w.r.IntN(int(5 * time.Second))))
	case what < 8 || !w.faults.Load(): // Whoever stood still goes on, and is told.
		for _, z := range w.members {
			if standing(z) {
				close(z.stands)
				if w.r.IntN(2) == 0 {
					time.Sleep(time.Duration(w.r.IntN(int(4 * time.Second))))
				}
				for q := range z.next {
					if w.owner[q] != z {
						z.handler.Lost(q)
						delete(z.next, q)
					}
				}
				z.expired.Store(false)
			}
		}
	}
	if w.owner[p] == nil && !standing(m) {
		if _, has := m.next[p]; !has {
			w.assign(p, m)
		}
		return
	}
	// A member fetches, perhaps one that stands between two partitions.
	if at, has := m.next[p]; has && at < worldRecords && m.ready() {
		n := min(int64(1+w.r.IntN(30)), worldRecords-at)
		var records []record.Record
		for i := at; i < at+n; i++ {
			records = append(records, record.Record{Topic: "t", Partition: p.Number, Offset: i, Timestamp: i * 1000, Value: []byte(w.value(p, i))})
		}
		m.next[p] = at + n
		m.handler.Batch(p, records, source.Position{Next: at + n}, func() {
			for i := range records {
				clear(records[i].Value)
			}
		})
	}
	if w.r.IntN(3) == 0 {
		synctest.Wait()
	}
}

// live runs the world for a while with faults, and then without until all is stored.
func (w *world) live() {
	for range 300 {
		w.step()
	}
	w.faults.Store(false)
	for range 4 * worldRecords {
		w.step()
		synctest.Wait()
		time.Sleep(time.Second)
	}
	for len(w.members) > 0 {
		w.bury(w.members[0])
	}
	w.check()
}

// durable is the offset before which a group's records, or the rejected ones, are stored, as the broker knows it.
func (w *world) durable(p source.Partition, group string, rejects bool) int64 {
	stored, err := decodeAhead(w.metadata[p], w.committed[p])
	if err != nil {
		w.t.Errorf("seed %d: %v", w.seed, err)
	}
	tag := groupTag + group
	if rejects {
		tag = rejectsTag
	}
	return max(w.committed[p], stored[tag])
}

// check looks for records that are lost or stored twice.
func (w *world) check() {
	seen := map[string]int{}
	for _, key := range w.objects.keys() {
		about := w.objects.objects[key].about
		p := source.Partition{Topic: about.Topic, Number: about.Partition}
		rejects := strings.HasPrefix(key, "bad/")
		if at := w.durable(p, about.Group, rejects); about.EpochNext > at {
			w.t.Errorf("seed %d: %s has records up to %d, committed are %d", w.seed, key, about.EpochNext, at)
		}
		for _, line := range w.objects.lines(w.t, w.o.Codec, key) {
			value, reason, rejected := strings.Cut(strings.TrimSuffix(line, "\n"), " (")
			if rejected != rejects || rejected && reason != "it is bad)" {
				w.t.Errorf("seed %d: %s has %q", w.seed, key, line)
			}
			seen[value]++
		}
	}
	total := 0
	for n := range int32(worldPartitions) {
		p := source.Partition{Topic: "t", Number: n}
		// All but the last epoch, which no boundary ends.
		if w.committed[p] < worldRecords-45-w.o.Rotation.Behind && w.o.Rotation.Bytes == 0 {
			w.t.Errorf("seed %d: only %d of %v are committed", w.seed, w.committed[p], p)
		}
		for i := range int64(worldRecords) {
			group := ""
			if w.o.Partitioner != nil {
				group = w.value(p, i)[:1]
			}
			if i >= w.durable(p, group, w.bad && isBad(i)) {
				continue
			}
			total++
			if k := seen[w.value(p, i)]; k != 1 {
				w.t.Errorf("seed %d: record %d of %v is stored %d times", w.seed, i, p, k)
				return
			}
		}
	}
	if len(seen) != total {
		w.t.Errorf("seed %d: %d records are stored, %d are committed", w.seed, len(seen), total)
	}
}
