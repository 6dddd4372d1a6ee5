// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freehold-go/freehold/sink"
	"github.com/freehold-go/freehold/sink/block"
	"github.com/freehold-go/freehold/sink/compress"
	"github.com/freehold-go/freehold/sink/config"
	"github.com/freehold-go/freehold/sink/encode"
	"github.com/freehold-go/freehold/sink/encode/avro"
	"github.com/freehold-go/freehold/sink/encode/parquet"
	"github.com/freehold-go/freehold/sink/partition"
	"github.com/freehold-go/freehold/sink/partition/objectkey"
	"github.com/freehold-go/freehold/sink/source/kafka"
	"github.com/freehold-go/freehold/sink/store"
	"github.com/freehold-go/freehold/sink/store/gcsstore"
	"github.com/freehold-go/freehold/sink/store/open"
	"github.com/freehold-go/freehold/sink/store/s3store"
)

// inferred is the number of values by which the columns of a Parquet object are chosen, if the configuration names none.
const inferred = 1000

// codecsOf are what formats that compress within call the codecs.
var codecsOf = map[string]map[string]string{
	"avro":    {"zstd": "zstandard", "gzip": "deflate", "snappy": "snappy", "none": "null"},
	"parquet": {"zstd": "zstd", "gzip": "gzip", "snappy": "snappy", "none": "none"},
}

// format makes the format of objects.
func format(o config.Objects, messages bool) (encode.Format, error) {
	c := o.Format
	codec, ok := codecsOf[c.Name][o.Compression.Codec]
	if codecsOf[c.Name] != nil && !ok {
		return nil, fmt.Errorf("%s cannot be compressed by %s; let objects.compression.codec be zstd, gzip, snappy or none", c.Name, o.Compression.Codec)
	}
	tombstones := encode.Tombstones(c.Tombstones)
	schema := ""
	if c.SchemaFile != "" {
		text, err := os.ReadFile(c.SchemaFile)
		if err != nil {
			return nil, fmt.Errorf("objects.format.schema_file: %w", err)
		}
		schema = string(text)
	}
	switch c.Name {
	case "lines":
		return encode.Lines(encode.LinesOptions{Newlines: encode.Newlines(c.Newlines), Tombstones: tombstones})
	case "jsonl":
		return encode.JSONLines(encode.JSONLinesOptions{Envelope: c.Envelope, Key: c.Key, Value: c.Value, Tombstones: tombstones})
	case "length-prefixed":
		return encode.Delimited(encode.DelimitedOptions{Length: c.Length, Tombstones: tombstones})
	case "csv":
		return encode.CSV(encode.CSVOptions{Columns: c.Columns, Checked: o.CheckJSON, Tombstones: tombstones})
	case "avro":
		return avro.New(avro.Options{Schema: schema, Envelope: c.Envelope, Codec: codec, Tombstones: tombstones})
	case "parquet":
		return parquetFormat(c, codec, messages)
	}
	return nil, fmt.Errorf("objects.format.name: no format %q", c.Name)
}

func parquetFormat(c config.Format, codec string, messages bool) (encode.Format, error) {
	o := parquet.Options{Envelope: c.Envelope, Codec: codec, Tombstones: encode.Tombstones(c.Tombstones)}
	for _, column := range c.Columns {
		path, kind, ok := strings.Cut(column, ":")
		if !ok {
			kind = "string"
		}
		o.Fields = append(o.Fields, parquet.Field{Path: path, Type: kind})
	}
	switch {
	case messages && len(o.Fields) == 0:
		o.Messages = true
	case len(o.Envelope)+len(o.Fields) == 0:
		o.Infer = inferred
	}
	return parquet.New(o)
}

// partitioner makes what divides records into groups.
func partitioner(parts []config.Partition, checked bool) (partition.Partitioner, error) {
	var all []partition.Partitioner
	for i, p := range parts {
		var one partition.Partitioner
		var err error
		switch {
		case p.Time == "$timestamp":
			one, err = partition.Time(partition.TimeOptions{Layout: p.Layout, Zone: p.Zone, NoTime: p.Missing, OutOfRange: p.OutOfRange})
		case p.Time != "":
			one, err = partition.Time(partition.TimeOptions{Layout: p.Layout, Zone: p.Zone, Field: p.Time, Unit: p.Unit, NoTime: p.Missing, OutOfRange: p.OutOfRange})
		case p.Field != "":
			one, err = partition.Field(partition.FieldOptions{Field: p.Field, Name: p.Name, Missing: p.Missing})
		case p.Header != "":
			one, err = partition.Header(partition.HeaderOptions{Header: p.Header, Name: p.Name, Missing: p.Missing})
		default:
			one, err = partition.Key(partition.KeyOptions{Name: p.Name, Missing: p.Missing})
		}
		if err != nil {
			return nil, fmt.Errorf("objects.partition_by[%d]: %w", i, err)
		}
		all = append(all, one)
	}
	joined := partition.None()
	if len(all) > 0 {
		joined = partition.Join(all...)
	}
	if checked {
		joined = partition.Checked(joined)
	}
	return joined, nil
}

// openStore opens the store, and has its calls repeated.
func openStore(ctx context.Context, c config.Store, attempt func(store.Attempt)) (store.Store, error) {
	s, err := open.Open(ctx, c.URL, open.Options{
		S3:  s3store.Options{CredentialsFile: c.CredentialsFile, AccessKeyFile: c.AccessKeyFile, SecretKeyFile: c.SecretKeyFile, CAFile: c.CAFile},
		GCS: gcsstore.Options{CredentialsFile: c.CredentialsFile},
	})
	if err != nil {
		return nil, fmt.Errorf("store.url: %w", err)
	}
	return store.Retry(s, store.RetryOptions{Deadline: time.Duration(c.RetryFor), OnAttempt: attempt}), nil
}

// connect makes what connections to brokers need. Without TLS the first result is nil.
func connect(c config.Kafka) (overTLS *tls.Config, login []kgo.Opt, err error) {
	if t := c.TLS; t.Enabled {
		overTLS, err = kafka.TLS{CAFile: t.CAFile, CertFile: t.CertFile, KeyFile: t.KeyFile, ServerName: t.ServerName, SkipVerify: t.SkipVerify}.Config()
		if err != nil {
			return nil, nil, err
		}
	}
	if s := c.SASL; s.Mechanism != "" {
		o, err := kafka.SASL{Mechanism: s.Mechanism, User: s.User, PasswordFile: s.PasswordFile, PasswordEnv: s.PasswordEnv, TokenFile: s.TokenFile, TokenEnv: s.TokenEnv}.Option()
		if err != nil {
			return nil, nil, err
		}
		login = append(login, o)
	}
	return overTLS, login, nil
}

// client makes the options of a client that does not fetch.
func client(c config.Kafka) ([]kgo.Opt, error) {
	overTLS, opts, err := connect(c)
	if err == nil && overTLS != nil {
		opts = append(opts, kgo.DialTLSConfig(overTLS))
	}
	return opts, err
}

// newSource makes the member of the group.
func newSource(c config.Kafka, log *slog.Logger) (*kafka.Source, error) {
	overTLS, login, err := connect(c)
	if err != nil {
		return nil, err
	}
	reset := map[string]kafka.Reset{"stop": kafka.ResetStops, "earliest": kafka.ResetToStart, "latest": kafka.ResetToEnd}
	return kafka.New(kafka.Options{
		Brokers: c.Brokers, Topics: c.Topics, Group: c.Group, InstanceID: c.InstanceID, ServerSide: c.ServerSide,
		SessionTimeout: time.Duration(c.SessionTimeout), RebalanceTimeout: time.Duration(c.RebalanceTimeout),
		FromEnd: c.Start == "latest", Reset: reset[c.Reset], ReadCommitted: c.ReadCommitted,
		FetchBytes: int32(c.FetchBytes), FetchPartitionBytes: int32(c.PartitionBytes), MaxBatchBytes: int(c.BatchBytes),
		ClientResponses: c.Responses == "client", TLS: overTLS, Client: login, Logger: log,
	})
}

// spillDir is where open objects go if memory is full of them, or nil.
func spillDir(c config.Memory) (*block.SpillDir, error) {
	if c.SpillDir == "" {
		return nil, nil
	}
	d, err := block.NewSpillDir(c.SpillDir, int64(c.SpillLimit))
	if err != nil {
		return nil, fmt.Errorf("memory.spill_dir: %w", err)
	}
	return d, nil
}

// options makes those of the sink that follow from the configuration alone.
func options(c config.Config) (o sink.Options, err error) {
	if o.Codec, err = compress.Parse(c.Objects.Compression.Codec, c.Objects.Compression.Level); err != nil {
		return o, fmt.Errorf("objects.compression: %w", err)
	}
	if o.Format, err = format(c.Objects, c.Values.Type == "protobuf"); err != nil {
		return o, fmt.Errorf("objects.format: %w", err)
	}
	if o.Partitioner, err = partitioner(c.Objects.PartitionBy, c.Objects.CheckJSON); err != nil {
		return o, err
	}
	key := func(name, text string, f encode.Format, grouped bool) (*objectkey.Template, error) {
		t, err := objectkey.Parse(text, grouped, sink.Extension(f, o.Codec))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, topic := range c.Kafka.Topics {
			if err := t.Check(topic); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		return t, nil
	}
	if o.Key, err = key("objects.key", c.Objects.Key, o.Format, len(c.Objects.PartitionBy) > 0); err != nil {
		return o, err
	}
	switch c.Bad.Action {
	case "objects":
		o.Bad, o.RejectFormat = sink.RejectToObjects, encode.Rejected()
		if o.RejectKey, err = key("bad_records.key", c.Bad.Key, o.RejectFormat, false); err != nil {
			return o, err
		}
	case "topic":
		o.Bad = sink.RejectToTopic
	}
	r := c.Rotate
	o.Rotation = sink.Rotation{Records: r.Records, Bytes: int64(r.Bytes), Span: time.Duration(r.Span), Age: time.Duration(r.Age), Every: time.Duration(r.Every), Independent: r.Independent, Behind: r.Behind}
	if err := o.CheckRotation(); err != nil {
		return o, fmt.Errorf("rotate: %w", err)
	}
	o.MemberBytes, o.OpenBytes = int(c.Objects.Compression.MemberBytes), int64(c.Memory.Open)
	o.Compressors, o.Uploads = c.Memory.Compressors, c.Store.Uploads
	o.FlushOnStop, o.StopTimeout = c.Stop.Flush, time.Duration(c.Stop.Timeout)
	return o, nil
}
