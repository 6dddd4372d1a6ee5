// SPDX-License-Identifier: Apache-2.0

// Package gcsstore is a store in a bucket of Google Cloud Storage.
//
// # Uploads
//
// A body up to a limit (Options.Whole) is sent in one request of known length, straight from the
// body: the client keeps no copy. The transport can send such a request again if a connection that
// it has kept was closed before. Otherwise a request that fails is an attempt that failed, and
// store.Retry sends the body again. A larger body is a resumable upload in chunks. The client has a buffer of one chunk for
// it, and itself sends a chunk again. In both cases the server gets the body's CRC32C first and
// refuses other bytes, and the store compares the bytes on their way. If an upload fails, its
// context is cancelled before the writer is closed, so that no object appears. A resumable upload
// that was left costs nothing, and the server drops it after a week.
//
// The client allocates a buffer for each upload, 16 MiB by default: this store never uses that
// default.
//
// # About
//
// What Put is told About an object is metadata of the object (freehold-...). A listing has it
// without further requests. Objects with the Content-Encoding gzip are read as they are stored: the
// server's decompression is switched off.
//
// # Credentials
//
// They come from the file that Options names, otherwise from Application Default Credentials: the
// file of GOOGLE_APPLICATION_CREDENTIALS, that of gcloud, or the machine's service account. No
// method or error shows them. If STORAGE_EMULATOR_HOST is set, the client goes there without
// credentials.
package gcsstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	"cloud.google.com/go/storage"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iterator"

	"github.com/freehold-go/freehold/sink/store"
)

// Store is a store in a bucket.
type Store struct {
	o        Options
	client   *storage.Client
	bucket   *storage.BucketHandle
	prefix   string // "" or with a slash at its end
	pageSize int    // of a listing; 0 is the server's, which tests change
}

// Open returns a store. It makes no request to the bucket: Check does. Ctx is that of the
// credentials, which are renewed as long as it is alive.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	prefix, err := store.Folder(o.Prefix)
	if err != nil {
		return nil, fmt.Errorf("gcsstore: the prefix: %w", err)
	}
	client, err := o.client(ctx)
	if err != nil {
		return nil, err
	}
	// store.Retry repeats what fails. The client repeats chunks of a resumable upload in any case.
	client.SetRetry(storage.WithPolicy(storage.RetryNever))
	bucket := client.Bucket(o.Bucket)
	if o.UserProject != "" {
		bucket = bucket.UserProject(o.UserProject)
	}
	return &Store{o: o, client: client, bucket: bucket, prefix: prefix}, nil
}

// String implements store.Store.
func (s *Store) String() string {
	name := strings.TrimSuffix("gs://"+s.o.Bucket+"/"+s.prefix, "/")
	if s.o.host != "" {
		name += " at " + s.o.host
	}
	return name
}

// Close implements store.Store.
func (s *Store) Close() error { return s.client.Close() }

// Check implements store.Store.
func (s *Store) Check(ctx context.Context) error { return store.Probe(ctx, s) }

// Put implements store.Store.
func (s *Store) Put(ctx context.Context, key string, body store.Body, about store.About) error {
	if err := s.ready(ctx, key); err != nil {
		return err
	}
	if err := store.CheckPut(key, body); err != nil {
		return err
	}
	if body.Size() > s.o.Whole {
		return s.putChunks(ctx, key, body, about)
	}
	return s.putWhole(ctx, key, body, about)
}

// putWhole sends the body in one request.
func (s *Store) putWhole(ctx context.Context, key string, body store.Body, about store.About) error {
	upload, cancel := context.WithCancel(ctx)
	defer cancel()
	sent := &whole{ctx: upload, body: body}
	w := s.writer(context.WithValue(upload, wholeKey{}, sent), key, body, about)
	err := w.Close() // sends the request, which transport completes
	if e := sent.end(); e != nil {
		return fmt.Errorf("gcsstore: writing %q: %w", key, e)
	}
	return s.explain(ctx, "writing", key, err)
}

// putChunks sends the body in chunks.
func (s *Store) putChunks(ctx context.Context, key string, body store.Body, about store.About) error {
	upload, cancel := context.WithCancel(ctx)
	defer cancel()
	w := s.writer(upload, key, body, about)
	w.ChunkSize = s.o.ChunkSize
	r := store.NewReader(upload, body)
	if _, err := store.Copy(w, r); err != nil {
		cancel()
		w.Close() // which now finishes nothing
		if e := r.Err(); e != nil {
			return fmt.Errorf("gcsstore: writing %q: %w", key, e)
		}
		return s.explain(ctx, "writing", key, err)
	}
	return s.explain(ctx, "writing", key, w.Close())
}

// writer is the client's for an object in one request.
func (s *Store) writer(ctx context.Context, key string, body store.Body, about store.About) *storage.Writer {
	w := s.bucket.Object(s.prefix + key).NewWriter(ctx)
	w.ChunkSize = 0
	w.CRC32C, w.SendCRC32C = body.CRC32C(), true
	w.ContentType, w.ContentEncoding, w.Metadata = about.ContentType, about.ContentEncoding, about.Metadata()
	w.ForceEmptyContentType = about.ContentType == "" // otherwise the client guesses it from the bytes
	return w
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, store.Info, error) {
	if err := s.ready(ctx, key); err != nil {
		return nil, store.Info{}, err
	}
	r, err := s.bucket.Object(s.prefix + key).ReadCompressed(true).NewReader(ctx)
	if err != nil {
		return nil, store.Info{}, s.explain(ctx, "reading", key, err)
	}
	info := store.Info{Key: key, Size: r.Attrs.Size, CRC32C: r.Attrs.CRC32C, HasCRC: true}
	describe(&info, r.Metadata(), r.Attrs.ContentType, r.Attrs.ContentEncoding)
	return store.Verified(r, info), info, nil
}

// describe adds what the metadata says.
func describe(info *store.Info, metadata map[string]string, contentType, contentEncoding string) {
	if info.About, info.HasAbout = store.ParseMetadata(metadata); info.HasAbout {
		info.About.ContentType, info.About.ContentEncoding = contentType, contentEncoding
	}
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		q := &storage.Query{Prefix: s.prefix + prefix, Projection: storage.ProjectionNoACL}
		if err := q.SetAttrSelection([]string{"Name", "Size", "CRC32C", "Metadata", "ContentType", "ContentEncoding"}); err != nil {
			yield(store.Info{}, fmt.Errorf("gcsstore: %w", err))
			return
		}
		objects := s.bucket.Objects(ctx, q)
		objects.PageInfo().MaxSize = s.pageSize
		for {
			attrs, err := objects.Next()
			if err == iterator.Done {
				return
			}
			if err != nil {
				yield(store.Info{}, s.explain(ctx, "listing", prefix, err))
				return
			}
			if strings.HasSuffix(attrs.Name, "/") {
				continue // a marker that consoles make for a folder
			}
			info := store.Info{Key: strings.TrimPrefix(attrs.Name, s.prefix), Size: attrs.Size, CRC32C: attrs.CRC32C, HasCRC: true}
			describe(&info, attrs.Metadata, attrs.ContentType, attrs.ContentEncoding)
			if !yield(info, nil) {
				return
			}
		}
	}
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := s.ready(ctx, key); err != nil {
		return err
	}
	err := s.bucket.Object(s.prefix + key).Delete(ctx)
	if err = s.explain(ctx, "deleting", key, err); errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// ready is what each method begins with.
func (s *Store) ready(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return store.CheckKey(s.prefix + key)
}

// explain makes an error of the client one of ours: it wraps ErrNotFound or ctx's error where that
// is the case, and is permanent unless another attempt may succeed.
func (s *Store) explain(ctx context.Context, doing, key string, err error) error {
	if err == nil {
		return nil
	}
	text := fmt.Errorf("gcsstore: %s %q in %v: %w", doing, key, s, err)
	var answer *googleapi.Error
	switch known := errors.As(err, &answer); {
	case ctx.Err() != nil:
		if errors.Is(err, ctx.Err()) {
			return text
		}
		return fmt.Errorf("%w: %w", text, ctx.Err())
	case errors.Is(err, storage.ErrObjectNotExist):
		return fmt.Errorf("gcsstore: %s %q in %v: %w", doing, key, s, store.ErrNotFound)
	case errors.Is(err, storage.ErrBucketNotExist), known && answer.Code == http.StatusNotFound:
		return store.Permanent(fmt.Errorf("%w: make the bucket, or correct its name", text))
	case known && (answer.Code == http.StatusForbidden || answer.Code == http.StatusUnauthorized):
		return store.Permanent(fmt.Errorf("%w: the account needs the role Storage Object User for this bucket", text))
	case known && mayPass(answer.Code):
		return text
	case known:
		return store.Permanent(text)
	}
	return text // no answer: the network or the server may be back the next time
}

// mayPass reports whether a status may be another the next time. 410 is a resumable upload that the
// server has dropped.
func mayPass(status int) bool {
	return status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status == http.StatusGone
}
