// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freehold-go/freehold/sink"
	"github.com/freehold-go/freehold/sink/config"
	"github.com/freehold-go/freehold/sink/partition/objectkey"
	"github.com/freehold-go/freehold/sink/protobuf"
	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/schema"
	"github.com/freehold-go/freehold/sink/store"
	"github.com/freehold-go/freehold/sink/store/open"
)

// Describe checks a configuration and writes what would happen. With connect it asks the brokers and the store, too.
func Describe(ctx context.Context, w io.Writer, c config.Config, connect bool) error {
	if err := c.Check(); err != nil {
		return err
	}
	o, err := options(c)
	if err != nil {
		return err
	}
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("records", "from %s as the group %s", strings.Join(c.Kafka.Topics, ", "), c.Kafka.Group)
	if text := describeValues(c); text != "" {
		line("values", "%s", text)
	}
	group, err := sampleGroup(c.Objects.PartitionBy)
	if err != nil {
		return err
	}
	key := o.Key.Append(nil, objectkey.Object{Topic: c.Kafka.Topics[0], Partition: 3, Group: group, Offset: 25_000})
	line("objects", "like %s, as %s", key, o.Format.Name())
	if o.Format.Compresses() {
		line("compressed", "by %s, within the format", c.Objects.Compression.Codec)
	} else {
		line("compressed", "by %s in members of %s", o.Codec.Version(), c.Objects.Compression.MemberBytes)
	}
	line("objects end", "%s", boundaries(o.Rotation))
	line("object size", "%s", objectSize(o.Rotation, len(c.Objects.PartitionBy) > 0))
	switch {
	case !o.Rotation.Deterministic() || o.FlushOnStop:
		line("delivery", "at least once, exactly once while one process at a time writes a partition: the clock ends objects")
	default:
		line("delivery", "exactly once: objects depend on the records alone")
	}
	t, err := messageType(c.Values)
	if err != nil {
		return err
	}
	line("bad records", "%s", describeBad(c, o, t))
	line("replay", "%s", describeReplay(c))
	line("memory", "%s in flight; responses of each broker and their batches take some %s more", c.Memory.InFlight, 6*c.Kafka.FetchBytes)
	switch d, err := spillDir(c.Memory); {
	case err != nil:
		return err
	case d != nil:
		line("", "up to %s more of open objects in files below %s", c.Memory.SpillLimit, c.Memory.SpillDir)
	}
	if err := checkPaths(c.Objects, t); err != nil {
		return err
	}
	r, err := registry(c.Values, func(schema.Attempt) {})
	if err != nil {
		return err
	}
	if r != nil {
		defer r.Close()
	}
	if err := open.Check(c.Store.URL, open.Options{}); err != nil {
		return fmt.Errorf("store.url: %w", err)
	}
	if _, err := values(c.Values, t, r); err != nil || !connect {
		return err
	}
	return describeServers(ctx, line, c, r)
}

// sampleGroup is the group of a record that has all that records are divided by.
func sampleGroup(parts []config.Partition) ([]byte, error) {
	r := record.Record{Key: []byte("KEY"), Timestamp: time.Date(2026, 1, 31, 15, 0, 0, 0, time.UTC).UnixMilli()}
	sample := slices.Clone(parts)
	for i := range sample {
		p := &sample[i]
		if p.Time != "" {
			p.Time = "$timestamp"
		}
		if p.Field != "" {
			p.Header = p.Field[strings.LastIndex(p.Field, ".")+1:]
			p.Field = ""
		}
		r.Headers = append(r.Headers, record.Header{Key: p.Header, Value: []byte("VALUE")})
	}
	all, err := partitioner(sample, false)
	if err != nil {
		return nil, err
	}
	return all.Group(nil, &r)
}

// describeServers asks the brokers, the registry and the store.
func describeServers(ctx context.Context, line func(name, format string, args ...any), c config.Config, r *schema.Registry) error {
	partitions, err := ask(ctx, c)
	if err != nil {
		return err
	}
	line("partitions", "%d", partitions)
	if bytes := int64(c.Rotate.Bytes); bytes > 0 {
		// Each partition has an epoch open and may have one that is being stored; compressed they take a quarter, as a rule.
		if need := int64(partitions) * bytes / 4; need > int64(c.Memory.InFlight) && c.Memory.SpillDir == "" {
			line("", "one instance with all partitions would hold some %s of open objects, more than memory.in_flight; epochs would end early. Raise it, lower rotate.bytes, or set memory.spill_dir", config.Size(need>>20<<20))
		}
	}
	if r != nil {
		types, err := r.Check(ctx)
		if err != nil {
			return err
		}
		line("registry", "answers, and has schemas of the types %s", strings.Join(types, ", "))
	}
	s, err := openStore(ctx, c.Store, func(store.Attempt) {})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Check(ctx); err != nil {
		return fmt.Errorf("the store %v: %w", s, err)
	}
	line("store", "%v: an object was written, read and deleted", s)
	if by := store.ConfirmationOf(s); by != 0 {
		line("", "%v", by)
	}
	return nil
}

// boundaries describes a rotation.
func boundaries(r sink.Rotation) string {
	var parts []string
	add := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(r.Records > 0, "after %d records of a partition", r.Records)
	add(r.Bytes > 0, "after %v of input", config.Size(r.Bytes))
	add(r.Span > 0, "after %v between timestamps", r.Span)
	add(r.Age > 0, "after %v by the clock", r.Age)
	add(r.Every > 0, "each %v by the clock", r.Every)
	text := strings.Join(parts, ", or ")
	if r.Independent {
		text = "each group's object by itself: " + text
	}
	return text
}

// objectSize describes how large the boundaries let objects become.
func objectSize(r sink.Rotation, grouped bool) string {
	share := func(groups int64) string {
		var parts []string
		if r.Bytes > 0 {
			size := config.Size(max(1, r.Bytes/groups))
			if size > 10<<10 {
				size &^= 1<<10 - 1 // An estimate has no single bytes.
			}
			parts = append(parts, fmt.Sprintf("%v of input", size))
		}
		if r.Records > 0 {
			n, plural := max(1, r.Records/groups), "s"
			if n == 1 {
				plural = ""
			}
			parts = append(parts, fmt.Sprintf("%d record%s", n, plural))
		}
		return strings.Join(parts, " or ")
	}
	whole := share(1)
	switch {
	case whole == "":
		return "as much as the topic has in that time"
	case r.Independent:
		return fmt.Sprintf("up to %s; smaller if the partition is rotate.behind offsets beyond the object's first record", whole)
	case grouped:
		return fmt.Sprintf("up to %s, shared by the groups of an epoch: with 1,000 groups some %s each. rotate.independent lets each group reach the boundary", whole, share(1000))
	}
	return "up to " + whole + ", before compression"
}

// describeBad says what happens to bad records, and whether tombstones are bad although they are to be written.
func describeBad(c config.Config, o sink.Options, t *protobuf.Type) string {
	text := map[sink.BadRecords]string{
		sink.StopAtBad: "stop the sink", sink.RejectToObjects: "go to objects of their own", sink.RejectToTopic: "go to the topic " + c.Bad.Topic,
	}[o.Bad]
	if c.Objects.Format.Tombstones != "write" {
		return text
	}
	r := record.Record{Key: []byte("7")} // Text and JSON.
	for _, p := range c.Objects.PartitionBy {
		r.Headers = append(r.Headers, record.Header{Key: p.Header, Value: []byte("VALUE")})
	}
	if t != nil {
		r.Schema = t
	}
	if err := written(o, &r); err != nil {
		text += fmt.Sprintf("; tombstones are among them, although objects.format.tombstones is write: %v", err)
	}
	return text
}

// written says in its error why a record cannot be written.
func written(o sink.Options, r *record.Record) error {
	if _, err := o.Partitioner.Group(nil, r); err != nil {
		return err
	}
	e, err := o.Format.Begin(io.Discard)
	if err != nil {
		return err
	}
	defer e.Free()
	return e.Append(r)
}

// describeReplay says what a replay of the configuration's objects gives back.
func describeReplay(c config.Config) string {
	f := c.Objects.Format
	switch {
	case f.Name != "lines" && f.Name != "length-prefixed" && f.Name != "jsonl":
		return "is not possible: " + f.Name + " does not keep records as they were; lines, length-prefixed and jsonl do"
	case f.Name == "jsonl" && len(f.Envelope) > 0 && !slices.Contains(f.Envelope, "value"):
		return "is not possible: objects.format.envelope has no value"
	}
	var lost []string
	add := func(is bool, what string) {
		if is {
			lost = append(lost, what)
		}
	}
	jsonl := f.Name == "jsonl"
	for _, part := range []string{"key", "header", "timestamp"} {
		held := jsonl && (slices.Contains(f.Envelope, part) || slices.Contains(f.Envelope, part+"s"))
		add(!held, "without "+part+"s")
	}
	text := jsonl && f.Value != "string" && f.Value != "base64" // Values are written as JSON.
	add(f.Tombstones == "write" && !jsonl, "tombstones become empty values")
	add(f.Tombstones == "write" && jsonl && len(f.Envelope) == 0, "tombstones become the value null")
	add(f.Name == "lines" && f.Newlines == "space", "line feeds become spaces")
	add(f.Name == "lines" && f.Newlines == "keep", "a value with line feeds ends the replay with an error")
	add(text || jsonl && f.Key == "json", "JSON loses line breaks and white space around it")
	add(c.Values.Type == "protobuf" && text, "messages become JSON")
	add(c.Values.Framing == "strip" || c.Values.Framing == "keep" && text, "values lack their framing")
	if len(lost) == 0 {
		return "gives records back as they were"
	}
	return "gives records back, but " + strings.Join(lost, ", ")
}

// ask returns the number of partitions of the topics. The error says what the brokers refuse.
func ask(ctx context.Context, c config.Config) (partitions int, err error) {
	opts, err := client(c.Kafka)
	if err != nil {
		return 0, err
	}
	k, err := kgo.NewClient(append(opts, kgo.SeedBrokers(c.Kafka.Brokers...), kgo.ClientID("freehold-sink"))...)
	if err != nil {
		return 0, err
	}
	defer k.Close()
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	topics, err := kadm.NewClient(k).ListTopics(ctx, c.Kafka.Topics...)
	if err != nil {
		return 0, fmt.Errorf("the brokers %s: %w", strings.Join(c.Kafka.Brokers, ", "), err)
	}
	var failed []error
	for _, name := range c.Kafka.Topics {
		t := topics[name]
		if t.Err != nil {
			failed = append(failed, fmt.Errorf("the topic %s: %w", name, t.Err))
		}
		partitions += len(t.Partitions)
	}
	return partitions, errors.Join(failed...)
}
