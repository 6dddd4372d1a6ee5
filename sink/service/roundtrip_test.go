// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freehold-go/freehold/sink/compress"
	"github.com/freehold-go/freehold/sink/config"
	"github.com/freehold-go/freehold/sink/encode"
)

// A trip is a way of records from a topic to objects and back.
type trip struct {
	format      config.Format
	codec       string
	copy, again string // the topics of replayed and of rejected records
}

func (p trip) String() string {
	f := p.format
	return strings.Join([]string{f.Name, strings.Join(f.Envelope, "+"), f.Key, f.Value, f.Length, f.Newlines, f.Tombstones, p.codec}, " ")
}

// trips are all formats that can be replayed, with all envelopes, settings for tombstones and codecs.
func trips() (all []trip) {
	formats := []config.Format{
		{Name: "lines"}, {Name: "lines", Newlines: "space"}, {Name: "length-prefixed"}, {Name: "length-prefixed", Length: "uint32"},
		{Name: "jsonl"}, {Name: "jsonl", Envelope: []string{"value"}}, {Name: "jsonl", Envelope: []string{"offset", "key", "value"}, Key: "json"},
	}
	for _, as := range [][2]string{{"json", "json"}, {"string", "json"}, {"json", "string"}, {"string", "base64"}, {"base64", "base64"}} {
		formats = append(formats, config.Format{Name: "jsonl", Envelope: encode.Columns, Key: as[0], Value: as[1]})
	}
	for _, f := range formats {
		for _, f.Tombstones = range []string{"bad", "skip", "write"} {
			for _, codec := range compress.Names() {
				n := len(all)
				all = append(all, trip{f, codec, fmt.Sprint("copy-", n), fmt.Sprint("again-", n)})
			}
		}
	}
	return all
}

// strange are records with each combination of keys, values and headers that are missing, empty, null, or not what a format wants.
func strange() (all []*kgo.Record) {
	headers := [][]kgo.RecordHeader{
		nil, {{Key: "h"}}, {{Key: "h", Value: []byte{}}, {Key: "", Value: []byte("null")}}, {{Key: "h", Value: []byte("v")}, {Key: "h"}}, {{Key: "ä\"", Value: []byte{0xff}}}, {{Key: "\xff\"", Value: []byte("v")}, {Key: "k"}},
	}
	keys := [][]byte{nil, {}, []byte("null"), []byte(`"k"`), []byte(" 7\n"), []byte("k\n"), {0xfe}}
	values := [][]byte{nil, {}, []byte("null"), []byte(" null"), []byte(`""`), []byte(`{"a":"\n"}`), []byte("\r\n[1 ,\n2]\n"), []byte("text"), []byte("a\nb"), []byte("\x00\xff")}
	for _, k := range keys {
		for _, v := range values {
			for _, h := range headers {
				all = append(all, &kgo.Record{Topic: topic, Key: k, Value: v, Headers: h, Timestamp: time.UnixMilli(int64(1_700_000_000_000 + len(all)))})
			}
		}
	}
	return all
}

// has reports whether objects have a part of records.
func (p trip) has(part string) bool { return slices.Contains(p.format.Envelope, part) }

// written reports whether the format can write a record that is no tombstone.
func (p trip) written(r *kgo.Record) bool {
	as := func(how string, b []byte) bool {
		switch how {
		case "json":
			return json.Valid(b)
		case "base64":
			return true
		}
		return utf8.Valid(b)
	}
	f := p.format
	switch {
	case f.Name == "length-prefixed":
		return true
	case f.Name == "lines":
		return f.Newlines == "space" || !bytes.ContainsRune(r.Value, '\n')
	case r.Value != nil && !as(or(f.Value, "json"), r.Value), p.has("key") && r.Key != nil && !as(f.Key, r.Key):
		return false
	}
	return !p.has("headers") || f.Key == "base64" || !slices.ContainsFunc(r.Headers, func(h kgo.RecordHeader) bool { return !utf8.ValidString(h.Key) || !utf8.Valid(h.Value) })
}

func or(s, preset string) string {
	if s == "" {
		return preset
	}
	return s
}

// oneLine is JSON as a line of JSON has it, which no reader of JSON takes for another text.
func oneLine(how string, b []byte) []byte {
	if how != "json" || b == nil {
		return b
	}
	return bytes.NewBuffer(bytes.TrimSpace(slices.DeleteFunc(bytes.Clone(b), func(c byte) bool { return c == '\n' || c == '\r' }))).Bytes()
}

// expected is what a replay must give back of a record, and what of it check must have said beforehand.
func (p trip) expected(r *kgo.Record) (want *kgo.Record, said []string) {
	f := p.format
	want = &kgo.Record{Key: r.Key, Value: r.Value, Headers: r.Headers, Timestamp: r.Timestamp}
	change := func(is bool, what string, do func()) {
		if is {
			do()
			said = append(said, what)
		}
	}
	change(!p.has("key"), "without keys", func() { want.Key = nil })
	change(!p.has("headers"), "without headers", func() { want.Headers = nil })
	change(!p.has("timestamp"), "without timestamps", func() { want.Timestamp = time.Time{} })
	change(r.Value == nil && f.Name != "jsonl", "tombstones become empty values", func() { want.Value = []byte{} })
	change(r.Value == nil && f.Name == "jsonl" && len(f.Envelope) == 0, "tombstones become the value null", func() { want.Value = []byte("null") })
	change(f.Newlines == "space" && bytes.ContainsRune(r.Value, '\n'), "line feeds become spaces", func() { want.Value = bytes.ReplaceAll(r.Value, []byte("\n"), []byte(" ")) })
	if f.Name == "jsonl" {
		key, value := oneLine(f.Key, want.Key), oneLine(or(f.Value, "json"), want.Value)
		if len(f.Envelope) == 0 { // White space around a value stays.
			value = bytes.ReplaceAll(bytes.ReplaceAll(want.Value, []byte("\n"), nil), []byte("\r"), nil)
		}
		change(!bytes.Equal(key, want.Key) || !bytes.Equal(value, want.Value), "white space", func() { want.Key, want.Value = key, value })
	}
	return want, said
}

// losses are all that check may say of a replay in these trips.
var losses = []string{"without keys", "without headers", "without timestamps", "tombstones become empty values", "tombstones become the value null", "line feeds become spaces", "white space"}

// TestTopicToTopic: in each way that a topic's records can be stored, a replay gives back which parts are missing, empty or the JSON text null, and each record comes back from
// its object or from that of the rejected ones. What differs check has said, and it says nothing else.
func TestTopicToTopic(t *testing.T) {
	all, records := trips(), strange()
	if testing.Short() { // As under the race detector: all settings, but not all mixes.
		n := 0
		all = slices.DeleteFunc(all, func(trip) bool { n++; return n%7 != 0 })
	}
	topics := []string{topic}
	for _, p := range all {
		topics = append(topics, p.copy, p.again)
	}
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, topics...))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	t.Run("trips", func(t *testing.T) { // It returns when all of them have ended, and before the cluster does.
		for _, p := range all {
			t.Run(p.String(), func(t *testing.T) {
				t.Parallel()
				p.run(t, c, records)
			})
		}
	})
}

func (p trip) run(t *testing.T, c *kfake.Cluster, records []*kgo.Record) {
	conf := configure(t, c)
	conf.Kafka.Group = p.copy
	conf.Objects.Format, conf.Objects.Compression.Codec = p.format, p.codec
	conf.Bad.Action, conf.Bad.Key = "objects", "{topic}/rejected/{partition}-{offset}{extension}" // Among the other objects.
	conf.Rotate = config.Rotate{Records: int64(len(records))}
	var described bytes.Buffer
	if err := Describe(t.Context(), &described, conf, false); err != nil {
		t.Fatal(err)
	}
	storeEpoch(t, conf)
	var stored, rejected []*kgo.Record
	says := map[string]bool{}
	for _, r := range records {
		switch {
		case r.Value == nil && p.format.Tombstones == "skip":
		case r.Value == nil && p.format.Tombstones == "bad", !p.written(r):
			rejected = append(rejected, r)
		default:
			want, said := p.expected(r)
			for _, s := range said {
				says[s] = true
			}
			stored = append(stored, want)
		}
	}
	for _, loss := range losses {
		if strings.Contains(described.String(), loss) != says[loss] {
			t.Errorf("whether replay means %q is %v, but check says\n%s", loss, says[loss], described.String())
		}
	}
	p.replay(t, c, conf, ReplayOptions{From: topic, To: p.copy}, stored)
	if len(rejected) > 0 {
		p.replay(t, c, conf, ReplayOptions{From: topic, To: p.again, Rejected: true}, rejected)
	}
}

// oneService is a lock: a process has one service, because it has one tuner of the collector.
var oneService sync.Mutex

// storeEpoch runs a service until it has committed an epoch.
func storeEpoch(t *testing.T, conf config.Config) {
	t.Helper()
	oneService.Lock()
	defer oneService.Unlock()
	s := start(t, conf)
	for s.Stats().Commits == 0 {
		select {
		case err := <-s.done:
			t.Fatalf("the service has ended: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
}

// replay replays objects and compares the records. A record that is wanted without a time has that of the replay.
func (p trip) replay(t *testing.T, c *kfake.Cluster, conf config.Config, o ReplayOptions, want []*kgo.Record) {
	t.Helper()
	if err := Replay(t.Context(), io.Discard, conf, o); err != nil {
		t.Fatal(err)
	}
	if n := c.PartitionInfo(o.To, 0).HighWatermark; n != int64(len(want)) {
		t.Fatalf("%d records came back, want %d", n, len(want))
	}
	wrong := 0
	for i, got := range consume(t, c, o.To, len(want)) {
		w := want[i]
		if !same(got.Key, w.Key) || !same(got.Value, w.Value) || !w.Timestamp.IsZero() && !got.Timestamp.Equal(w.Timestamp) ||
			!slices.EqualFunc(got.Headers, w.Headers, func(a, b kgo.RecordHeader) bool { return a.Key == b.Key && same(a.Value, b.Value) }) {
			if wrong++; wrong < 5 {
				t.Errorf("record %d of %s came back as key %#v, value %#v, %#v at %v; want %#v, %#v, %#v at %v", i, o.To, got.Key, got.Value, got.Headers, got.Timestamp, w.Key, w.Value, w.Headers, w.Timestamp)
			}
		}
	}
}

// same compares bytes. No bytes are not empty ones.
func same(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }
