package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/dgraph-io/ristretto/v2/z"
	"github.com/lanrat/extsort"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/workloads"
)

const (
	zBuffer    = "ristretto z.Buffer"
	lanrat     = "lanrat/extsort"
	pebbleName = "pebble sstable"

	ownSorter = "sortbuf.Sorter"
	ownRun    = "sortbuf.Run"
)

func init() {
	const memory, spill, find = "sort/memory", "sort/spill", "sort/find"
	set.Add(memory, bench.Contestant{Name: zBuffer, Prepare: workloads.SortKeys("random", true, zWay)})
	set.AddBars(memory,
		bench.AtMost("sort/memory, the sort alone, sortbuf.Sorter by z.Buffer", 1.0/6, bench.ExtraRatio(memory, ownSorter, zBuffer, "sort_cpu_ns")),
		bench.AtMost("sort/memory, sortbuf.Sorter by z.Buffer", 0.3, bench.TimeRatio(memory, 0, ownSorter, zBuffer)))
	set.Add(spill, bench.Contestant{Name: lanrat, Note: "chunks of 500,000 records", Prepare: workloads.SortKeys("random", true, extsortWay)})
	set.AddBars(spill, bench.AtMost("sort/spill, sortbuf.Sorter by lanrat/extsort", 0.3, bench.TimeRatio(spill, 0, ownSorter, lanrat)))
	set.Add(find, bench.Contestant{Name: pebbleName, Note: "a table without compression, its blocks in a cache, one iterator for all look-ups", Prepare: workloads.SortFind(pebbleFind)})
	set.AddBars(find, bench.AtMost("sort/find, sortbuf.Run by a pebble sstable", 0.6, bench.TimeRatio(find, 0, ownRun, pebbleName)))
}

// zWay is a z.Buffer of the default build.
func zWay(*bench.Run) (workloads.SortWay, error) {
	b := z.NewBuffer(64<<20, "bench")
	return workloads.SortWay{
		Add:  func(key []byte) error { copy(b.SliceAllocate(len(key)), key); return nil },
		Sort: func() error { b.SortSlice(func(l, r []byte) bool { return bytes.Compare(l, r) < 0 }); return nil },
		All: func(f func(key []byte)) error {
			return b.SliceIterate(func(key []byte) error { f(key); return nil })
		},
		Free: func() { _ = b.Release() },
	}, nil
}

// extsortWay is lanrat/extsort with records of []byte. It reads its input from a channel.
func extsortWay(*bench.Run) (workloads.SortWay, error) {
	in := make(chan []byte, 1000)
	identity := func(b []byte) ([]byte, error) { return b, nil }
	config := extsort.DefaultConfig()
	config.ChunkSize = 500_000
	clone := func(b []byte) ([]byte, error) { return bytes.Clone(b), nil }
	sorter, out, errs := extsort.Generic(in, clone, identity, bytes.Compare, config)
	go sorter.Sort(context.Background())
	return workloads.SortWay{
		Add:  func(key []byte) error { in <- bytes.Clone(key); return nil },
		Sort: func() error { close(in); return nil },
		All: func(f func(key []byte)) error {
			for key := range out {
				f(key)
			}
			return <-errs
		},
		Free: func() {},
	}, nil
}

// pebbleFind is a table of pebble.
func pebbleFind() workloads.Find {
	var reader *sstable.Reader
	var iter sstable.Iterator
	format := sstable.TableFormatPebblev4 // Rows. The later formats want a schema of columns.
	return workloads.Find{
		Load: func(dir string, records func(func(key, value []byte) bool)) error {
			path := filepath.Join(dir, "table")
			f, err := vfs.Default.Create(path, vfs.WriteCategoryUnspecified)
			if err != nil {
				return err
			}
			w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), sstable.WriterOptions{Compression: block.NoCompression, TableFormat: format})
			records(func(key, value []byte) bool { err = w.Set(key, value); return err == nil })
			if err := errors.Join(err, w.Close()); err != nil {
				return err
			}
			if f, err = vfs.Default.Open(path); err != nil {
				return err
			}
			readable, err := sstable.NewSimpleReadable(f)
			if err != nil {
				return err
			}
			var o sstable.ReaderOptions
			o.CacheOpts.CacheHandle = pebble.NewCache(2 << 30).NewHandle()
			o.CacheOpts.FileNum = 1
			if reader, err = sstable.NewReader(context.Background(), readable, o); err != nil {
				return err
			}
			if iter, err = reader.NewIter(sstable.NoTransforms, nil, nil, sstable.AssertNoBlobHandles); err != nil {
				return err
			}
			for kv := iter.First(); kv != nil; kv = iter.Next() { // It is warm, then.
			}
			return nil
		},
		Get: func(key []byte) ([]byte, error) {
			kv := iter.SeekGE(key, 0)
			if kv == nil || !bytes.Equal(kv.K.UserKey, key) {
				return nil, fmt.Errorf("the key is missing: %w", iter.Error())
			}
			value, _, err := kv.Value(nil)
			return value, err
		},
		Free: func() { _ = errors.Join(iter.Close(), reader.Close()) },
	}
}
