// SPDX-License-Identifier: Apache-2.0

// Package gcsstore is a store in a bucket of Google Cloud Storage.
//
// # Uploads
//
// A body up to a limit (Options.Whole) is sent in one request of known length, straight from the
// body: nothing copies it. The transport can send such a request again if a connection that it has
// kept was closed before. Otherwise a request that fails is an attempt that failed, and store.Retry
// sends the body again. A larger body is a resumable upload in chunks. The client has a buffer of
// one chunk for it, and itself sends a chunk again for half a minute. In both cases the server gets
// the body's CRC32C first and refuses other bytes, and the store compares the bytes on their way. A
// resumable upload that was left costs nothing, and the server drops it after a week.
//
// A success alone is not believed: Put returns nil after the server's answer had the body's CRC32C
// and size. Without them the store asks for the object's metadata, and if those have no checksum
// either, it reads the object and compares it. An upload that is not confirmed has failed with
// store.ErrUnconfirmed, and store.Retry sends it again.
//
// # The client
//
// Requests go to the JSON API (https://cloud.google.com/storage/docs/json_api), most of them through
// Google's generated client for it. The package cloud.google.com/go/storage can do more, and brings
// 44 packages of Envoy with it, whose descriptors each process registers when it starts. With it
// freehold-sink has 86 MB and takes 45 MiB of memory before it reads its configuration, without it 60
// MB and 28 MiB.
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
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"google.golang.org/api/googleapi"
	storage "google.golang.org/api/storage/v1"

	"github.com/freehold-go/freehold/sink/store"
)

// Store is a store in a bucket.
type Store struct {
	o         Options
	client    *http.Client // with the credentials
	service   *storage.Service
	prefix    string       // "" or with a slash at its end
	confirmed atomic.Int32 // the store.Confirmation of the newest Put
	pageSize  int64        // of a listing; 0 is the server's, which tests change
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
	client, service, err := o.connect(ctx)
	if err != nil {
		return nil, err
	}
	return &Store{o: o, client: client, service: service, prefix: prefix}, nil
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
func (s *Store) Close() error {
	s.client.CloseIdleConnections()
	return nil
}

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
	upload, cancel := context.WithCancel(ctx)
	defer cancel()
	object := &storage.Object{
		Name: s.prefix + key, Crc32c: encodeCRC(body.CRC32C()),
		ContentType: about.ContentType, ContentEncoding: about.ContentEncoding, Metadata: about.Metadata(),
	}
	send := s.putWhole
	if body.Size() > s.o.Whole {
		send = s.putChunks
	}
	stored, bodyErr, err := send(upload, object, body)
	switch {
	case bodyErr != nil:
		return fmt.Errorf("gcsstore: writing %q: %w", key, bodyErr)
	case err != nil:
		return s.explain(ctx, "writing", key, err)
	}
	return s.confirm(ctx, key, body, stored)
}

// putChunks sends the body in chunks. It returns what the server says that it has stored, and the
// body's own error apart from the upload's.
func (s *Store) putChunks(ctx context.Context, object *storage.Object, body store.Body) (stored *storage.Object, bodyErr, err error) {
	r := store.NewReader(ctx, body)
	defer r.Close()
	call := s.service.Objects.Insert(s.o.Bucket, object).Context(ctx)
	if s.o.UserProject != "" {
		call.UserProject(s.o.UserProject)
	}
	// With a type, although it may be empty, the client does not guess one from the bytes.
	stored, err = call.Media(r, googleapi.ChunkSize(s.o.ChunkSize), googleapi.ContentType(object.ContentType)).Do()
	return stored, r.Err(), err
}

// Get implements store.Store. It is one request to the XML API, whose answer has the content of a
// generation, as it is stored, and its metadata in headers. By the JSON API these are two requests,
// and a writer between them takes the generation away.
// See https://cloud.google.com/storage/docs/xml-api/get-object-download.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, store.Info, error) {
	if err := s.ready(ctx, key); err != nil {
		return nil, store.Info{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.service.BasePath, nil)
	if err != nil {
		return nil, store.Info{}, fmt.Errorf("gcsstore: reading %q: %w", key, err)
	}
	r.URL = r.URL.ResolveReference(&url.URL{Path: "/" + s.o.Bucket + "/" + s.prefix + key})
	r.Header.Set("User-Agent", userAgent)
	r.Header.Set("Accept-Encoding", "gzip") // otherwise the server or the transport decompresses
	if s.o.UserProject != "" {
		r.Header.Set("X-Goog-User-Project", s.o.UserProject)
	}
	answer, err := s.client.Do(r)
	if err == nil {
		if err = googleapi.CheckResponse(answer); err != nil {
			answer.Body.Close()
		}
	}
	if err != nil {
		return nil, store.Info{}, s.explainObject(ctx, "reading", key, err)
	}
	info := store.Info{Key: key, Size: answer.ContentLength}
	for _, hashes := range answer.Header.Values("X-Goog-Hash") {
		for hash := range strings.SplitSeq(hashes, ",") {
			if crc, ok := strings.CutPrefix(strings.TrimSpace(hash), "crc32c="); ok {
				info.CRC32C, info.HasCRC = decodeCRC(crc)
			}
		}
	}
	metadata := map[string]string{}
	for name, values := range answer.Header {
		if name, ok := strings.CutPrefix(name, "X-Goog-Meta-"); ok {
			metadata[name] = values[0]
		}
	}
	describe(&info, metadata, answer.Header.Get("Content-Type"), answer.Header.Get("Content-Encoding"))
	return store.Verified(answer.Body, info), info, nil
}

// describe adds what the metadata says.
func describe(info *store.Info, metadata map[string]string, contentType, contentEncoding string) {
	if info.About, info.HasAbout = store.ParseMetadata(metadata); info.HasAbout {
		info.About.ContentType, info.About.ContentEncoding = contentType, contentEncoding
	}
}

// encodeCRC writes a CRC32C as the API has it: big-endian, in base64.
func encodeCRC(crc uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc))
}

func decodeCRC(s string) (crc uint32, ok bool) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(b) != 4 {
		return 0, false
	}
	return binary.BigEndian.Uint32(b), true
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		call := s.service.Objects.List(s.o.Bucket).Prefix(s.prefix+prefix).Projection("noAcl").Fields("nextPageToken", "items(name,size,crc32c,metadata,contentType,contentEncoding)")
		if s.o.UserProject != "" {
			call.UserProject(s.o.UserProject)
		}
		if s.pageSize > 0 {
			call.MaxResults(s.pageSize)
		}
		enough := errors.New("enough")
		err := call.Pages(ctx, func(page *storage.Objects) error {
			for _, object := range page.Items {
				if strings.HasSuffix(object.Name, "/") {
					continue // a marker that consoles make for a folder
				}
				info := store.Info{Key: strings.TrimPrefix(object.Name, s.prefix), Size: int64(object.Size)}
				info.CRC32C, info.HasCRC = decodeCRC(object.Crc32c)
				describe(&info, object.Metadata, object.ContentType, object.ContentEncoding)
				if !yield(info, nil) {
					return enough
				}
			}
			return nil
		})
		if err != nil && err != enough {
			yield(store.Info{}, s.explain(ctx, "listing", prefix, err))
		}
	}
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := s.ready(ctx, key); err != nil {
		return err
	}
	call := s.service.Objects.Delete(s.o.Bucket, s.prefix+key).Context(ctx)
	if s.o.UserProject != "" {
		call.UserProject(s.o.UserProject)
	}
	err := s.explainObject(ctx, "deleting", key, call.Do())
	if errors.Is(err, store.ErrNotFound) {
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

// explainObject is explain for requests to an object that may not be there. Whether the object or
// the bucket is missing, the server says in words alone.
func (s *Store) explainObject(ctx context.Context, doing, key string, err error) error {
	var answer *googleapi.Error
	if ctx.Err() == nil && errors.As(err, &answer) && answer.Code == http.StatusNotFound {
		return fmt.Errorf("gcsstore: %s %q in %v: %w", doing, key, s, store.ErrNotFound)
	}
	return s.explain(ctx, doing, key, err)
}

// explain makes an error of the client one of ours: it wraps ctx's error where that is the case,
// and is permanent unless another attempt may succeed.
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
	case known && answer.Code == http.StatusNotFound:
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

// Confirmation implements store.Confirmer.
func (s *Store) Confirmation() store.Confirmation { return store.Confirmation(s.confirmed.Load()) }

// confirm returns nil if the server has shown that it has the bytes of a body, whose upload it
// answered with a success. A server or a proxy that fails may answer 200 and store nothing. The
// answer to the upload counts first, then the object's metadata. If both have no checksum, the
// object is read.
func (s *Store) confirm(ctx context.Context, key string, body store.Body, first *storage.Object) error {
	by, err := compare(first, body)
	if by == 0 && err == nil {
		call := s.service.Objects.Get(s.o.Bucket, s.prefix+key).Fields("crc32c", "size").Context(ctx)
		if s.o.UserProject != "" {
			call.UserProject(s.o.UserProject)
		}
		stat, failed := call.Do()
		var refusal *googleapi.Error
		switch {
		case errors.As(failed, &refusal) && refusal.Code == http.StatusNotFound:
			err = fmt.Errorf("%w: there is no such object", store.ErrUnconfirmed)
		case failed != nil:
			return s.explain(ctx, "confirming", key, failed)
		default:
			if by, err = compare(stat, body); by != 0 {
				by = store.ByInquiry
			}
		}
	}
	if by == 0 && err == nil {
		by, err = store.ByReading, store.Reread(ctx, s, key, body)
	}
	if err != nil {
		return fmt.Errorf("gcsstore: writing %q in %v: %w", key, s, err)
	}
	s.confirmed.Store(int32(by))
	return nil
}

// compare compares what the server says of an object with the body. If it does not say checksum and
// size, compare returns 0 and no error.
func compare(object *storage.Object, body store.Body) (store.Confirmation, error) {
	if object == nil {
		return 0, nil // The answer was the JSON null.
	}
	crc, ok := decodeCRC(object.Crc32c)
	size := int64(object.Size)
	switch {
	case !ok || size == 0 && body.Size() > 0: // The API's client reads a missing size as 0.
		return 0, nil
	case crc != body.CRC32C() || size != body.Size():
		return 0, fmt.Errorf("%w: its answer has %d bytes with CRC32C %s, should have %d with %s",
			store.ErrUnconfirmed, size, object.Crc32c, body.Size(), encodeCRC(body.CRC32C()))
	}
	return store.ByAnswer, nil
}
