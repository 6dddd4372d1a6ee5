// SPDX-License-Identifier: Apache-2.0

// Package replay reads objects of the sink back into records.
//
// Formats that keep a record's bytes can be read: lines, length-prefixed and JSON Lines. CSV, Avro and Parquet cannot. What an object does
// not hold is not in the records: without an envelope there are values alone, and a tombstone that was written is an empty value or the JSON text null.
package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/sink/compress"
	"github.com/freehold-go/freehold/sink/encode"
	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/store"
)

// Options are the options of Run.
type Options struct {
	Store  store.Store
	Prefix string                  // of the objects' keys
	Topic  string                  // from which the records came
	Format encode.JSONLinesOptions // with which objects of JSON Lines were written
	// Rejected reads the objects of rejected records (encode.Rejected), and leaves all others out. Otherwise it is the other way round.
	Rejected bool
	// From and To bound the offsets of the objects' epochs: epochs that end at or before From, or begin at To or behind it, are left out.
	// To is no bound if it is 0.
	From, To int64
	After    string // a key: the objects up to it are left out, in the order in which Run reads them
}

// Progress is how far Run has come.
type Progress struct {
	Objects, Records int64
	Last             string // key of the last object that was replayed whole, for Options.After
	Foreign          int64  // objects under the prefix that the sink did not write, or whose metadata is lost
}

// Run hands the records of objects to each, and calls flush behind each object: when flush returns nil, its records must be durable. The objects of
// a partition come in the order of their epochs, and those of an epoch in the order of their first offsets. So the order of records is kept where
// objects are not divided into groups, and otherwise within a group.
//
// A record is valid until each returns. Its offset and timestamp are -1 if the objects do not hold them. An error ends the replay; to go
// on later, set After to the last key, and the records of the object that failed come again.
func Run(ctx context.Context, o Options, each func(*record.Record) error, flush func() error) (p Progress, err error) {
	var infos []store.Info
	for info, err := range o.Store.List(ctx, o.Prefix) {
		switch {
		case err != nil:
			return p, fmt.Errorf("listing %v: %w", o.Store, err)
		case !info.HasAbout:
			p.Foreign++
		case (name(info) == encode.RejectedName) != o.Rejected:
		case info.About.Topic == o.Topic && info.About.EpochNext > o.From && (o.To == 0 || info.About.EpochFirst < o.To):
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b store.Info) int {
		return cmp.Or(cmp.Compare(a.About.Partition, b.About.Partition), cmp.Compare(a.About.EpochFirst, b.About.EpochFirst),
			cmp.Compare(a.About.FirstOffset, b.About.FirstOffset), cmp.Compare(a.Key, b.Key))
	})
	if o.After != "" {
		i := slices.IndexFunc(infos, func(i store.Info) bool { return i.Key == o.After })
		if i < 0 {
			return p, fmt.Errorf("there is no object %s to go on behind, among those of the topic %s", o.After, o.Topic)
		}
		infos = infos[i+1:]
	}
	for _, info := range infos {
		n, err := object(ctx, o, info, each)
		p.Records += n
		if err == nil {
			err = flush()
		}
		if err != nil {
			return p, fmt.Errorf("the object %s: %w", info.Key, err)
		}
		p.Objects++
		p.Last = info.Key
	}
	return p, nil
}

// object replays one object.
func object(ctx context.Context, o Options, info store.Info, each func(*record.Record) error) (n int64, err error) {
	codec, err := codecOf(info)
	if err != nil {
		return 0, err
	}
	content, _, err := o.Store.Get(ctx, info.Key)
	if err != nil {
		return 0, err
	}
	defer content.Close()
	plain, err := codec.NewReader(content)
	if err != nil {
		return 0, err
	}
	defer plain.Close()
	d, err := newDecoder(name(info), plain, o.Format)
	if err != nil {
		return 0, err
	}
	for ; ; n++ {
		r, err := d.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return n, fmt.Errorf("record %d: %w", n, err)
		}
		r.Topic, r.Partition = info.About.Topic, info.About.Partition
		if err := each(r); err != nil {
			return n, err
		}
	}
	if n != info.About.Records {
		return n, fmt.Errorf("it has %d records, and its metadata says %d: the format or its options are others than when it was written", n, info.About.Records)
	}
	return n, nil
}

// The format in an object's metadata is its name and the codec: "lines/1 zstd-3/1 klauspost/compress v1.20.3".

// name is the name of an object's format.
func name(info store.Info) string {
	name, _, _ := strings.Cut(info.About.Format, " ")
	return name
}

// codecOf is the codec of an object's content.
func codecOf(info store.Info) (compress.Codec, error) {
	_, version, _ := strings.Cut(info.About.Format, " ")
	version, _, _ = strings.Cut(version, "/")
	version, _, _ = strings.Cut(version, "-")
	return compress.Parse(cmp.Or(version, "none"), 0)
}
