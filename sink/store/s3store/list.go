// SPDX-License-Identifier: Apache-2.0

package s3store

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"

	"github.com/minio/minio-go/v7"

	"github.com/freehold-go/freehold/sink/store"
)

// List implements store.Store. It reads a page of keys at a time, and asks for the metadata of its
// objects by HEAD requests, some at a time. It leaves out objects that were deleted in between.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // ends the client's goroutine if the caller stops
		var page []minio.ObjectInfo
		flush := func() bool {
			for _, d := range s.describeAll(ctx, page) {
				if errors.Is(d.err, store.ErrNotFound) {
					continue
				}
				if !yield(d.info, d.err) || d.err != nil {
					return false
				}
			}
			page = page[:0]
			return true
		}
		for o := range s.core.ListObjectsIter(ctx, s.o.Bucket, minio.ListObjectsOptions{
			Prefix: s.prefix + prefix, Recursive: true, MaxKeys: s.pageSize,
		}) {
			if o.Err != nil {
				if flush() {
					yield(store.Info{}, s.explain(ctx, "listing", prefix, o.Err))
				}
				return
			}
			if strings.HasSuffix(o.Key, "/") {
				continue // a marker that consoles make for a folder
			}
			if page = append(page, o); len(page) == 8*s.o.Concurrency && !flush() {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(store.Info{}, s.explain(ctx, "listing", prefix, err))
			return
		}
		flush()
	}
}

type described struct {
	info store.Info
	err  error
}

// describeAll asks for the metadata of some objects, in any order, and returns it in theirs.
func (s *Store) describeAll(ctx context.Context, objects []minio.ObjectInfo) []described {
	all := make([]described, len(objects))
	var wg sync.WaitGroup
	limit := make(chan struct{}, s.o.Concurrency)
	for i, o := range objects {
		limit <- struct{}{}
		wg.Go(func() {
			defer func() { <-limit }()
			key := strings.TrimPrefix(o.Key, s.prefix)
			stat, err := s.core.StatObject(ctx, s.o.Bucket, o.Key, minio.StatObjectOptions{})
			all[i] = described{describe(key, stat), s.explain(ctx, "listing", key, err)}
		})
	}
	wg.Wait()
	return all
}
