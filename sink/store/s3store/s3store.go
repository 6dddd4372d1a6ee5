// SPDX-License-Identifier: Apache-2.0

// Package s3store is a store in a bucket of S3, or of a server that speaks its protocol, such as
// MinIO, Ceph or Cloudflare R2.
//
// # Uploads
//
// A body that is smaller than the part size is one PUT request. A larger one is a multipart upload,
// whose parts are sent at the same time; the object appears when the upload is completed. A part
// that fails is sent up to two more times before the upload fails. Bytes go from the body to the
// connection: no part is held in memory. An upload that fails is aborted, even
// if the context is done. A process that is killed cannot abort: give the bucket a lifecycle rule
// that aborts incomplete uploads after a day (AbortIncompleteMultipartUpload), because their parts
// cost money and no listing shows them.
//
// Each request carries the CRC32C of its bytes, and a server that knows checksums refuses others.
// The store compares the bytes with the body's checksum on their way, so that a server that does
// not know checksums never has the whole of a wrong body, either. The content is not part of a
// request's signature: use https where others can reach the connection.
//
// A success alone is not believed: Put returns nil after the server has confirmed the bytes. AWS and
// servers that know checksums answer with the CRC32C. Otherwise the ETag counts if it is the MD5 of
// the body, which is computed then. If it is not, a HEAD request follows, and if that has no
// checksum either, the object is read and compared. An upload that is not confirmed has failed with
// store.ErrUnconfirmed, and store.Retry sends it again.
//
// # About
//
// What Put is told About an object is user metadata (x-amz-meta-freehold-...), at most 2 KB as S3
// has it. Put refuses more with a permanent error; if the key holds topic and group, there is never
// more. S3 does not list metadata, so List asks for each object by a HEAD request, some at a time.
//
// # Credentials
//
// Keys come from files that Options names, otherwise from the environment (AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY, or MinIO's MINIO_ACCESS_KEY and MINIO_SECRET_KEY), the shared file of the
// AWS tools, and the role of the container or machine, in this order. No method or error shows
// them.
package s3store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/freehold-go/freehold/sink/store"
)

// Store is a store in a bucket.
type Store struct {
	o         Options
	core      *minio.Core
	transport *http.Transport
	prefix    string       // "" or with a slash at its end
	confirmed atomic.Int32 // the store.Confirmation of the newest Put
	pageSize  int          // of a listing; 0 is the server's, which tests change

	// partPause is half of the longest pause before a part is sent for the second time. Each further
	// pause may be twice as long.
	partPause time.Duration
}

// Open returns a store. It makes no request: Check does.
func Open(o Options) (*Store, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	prefix, err := store.Folder(o.Prefix)
	if err != nil {
		return nil, fmt.Errorf("s3store: the prefix: %w", err)
	}
	transport, err := o.transport()
	if err != nil {
		return nil, err
	}
	keys, err := o.credentials(transport)
	if err != nil {
		return nil, err
	}
	lookup := minio.BucketLookupAuto
	if o.PathStyle {
		lookup = minio.BucketLookupPath
	}
	core, err := minio.NewCore(o.host, &minio.Options{
		Creds: keys, Secure: o.secure, Transport: o.through(transport), Region: o.Region, BucketLookup: lookup,
		MaxRetries: 1, // store.Retry is there for more
	})
	if err != nil {
		return nil, fmt.Errorf("s3store: %w", err)
	}
	return &Store{o: o, core: core, transport: transport, prefix: prefix, partPause: 200 * time.Millisecond}, nil
}

// String implements store.Store.
func (s *Store) String() string {
	return fmt.Sprintf("s3://%s/%s at %s", s.o.Bucket, strings.TrimSuffix(s.prefix, "/"), s.o.host)
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// Check implements store.Store.
func (s *Store) Check(ctx context.Context) error { return store.Probe(ctx, s) }

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, store.Info, error) {
	if err := s.ready(ctx, key); err != nil {
		return nil, store.Info{}, err
	}
	r, stat, _, err := s.core.GetObject(ctx, s.o.Bucket, s.prefix+key, minio.GetObjectOptions{Checksum: true})
	if err != nil {
		return nil, store.Info{}, s.explain(ctx, "reading", key, err)
	}
	info := describe(key, stat)
	return store.Verified(r, info), info, nil
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := s.ready(ctx, key); err != nil {
		return err
	}
	err := s.core.RemoveObject(ctx, s.o.Bucket, s.prefix+key, minio.RemoveObjectOptions{})
	if err = s.explain(ctx, "deleting", key, err); errors.Is(err, store.ErrNotFound) {
		return nil // some servers answer so
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
	answer := minio.ToErrorResponse(err)
	text := fmt.Errorf("s3store: %s %q in %v: %w", doing, key, s, err)
	if answer.StatusCode != 0 {
		text = fmt.Errorf("%w (%s, status %d)", text, answer.Code, answer.StatusCode)
	}
	switch {
	case ctx.Err() != nil:
		if errors.Is(err, ctx.Err()) {
			return text
		}
		return fmt.Errorf("%w: %w", text, ctx.Err())
	case answer.Code == minio.NoSuchKey || answer.StatusCode == http.StatusNotFound && answer.Code == "NotFound":
		return fmt.Errorf("s3store: %s %q in %v: %w", doing, key, s, store.ErrNotFound)
	case answer.Code == minio.NoSuchBucket:
		return store.Permanent(fmt.Errorf("%w: make the bucket, or correct its name or region", text))
	case mayPass(answer):
		return text
	case answer.StatusCode == http.StatusForbidden || answer.StatusCode == http.StatusUnauthorized:
		return store.Permanent(fmt.Errorf("%w: the keys need s3:PutObject, s3:GetObject, s3:DeleteObject, s3:ListBucket and "+
			"s3:AbortMultipartUpload for this bucket and prefix", text))
	}
	return store.Permanent(text)
}

// passing are error codes below 500 after which another attempt may succeed: the first two ask for
// it, tokens are renewed, clocks are set, an upload begins anew (a part that the server lacks was
// answered by something else), and bytes that were damaged on their way are sent again.
var passing = []string{
	"RequestTimeout", "SlowDown", "ExpiredToken", "ExpiredTokenException", "RequestTimeTooSkewed", "NoSuchUpload", "InvalidPart", "BadDigest",
	"XAmzContentChecksumMismatch", "IncompleteBody", "OperationAborted",
}

// mayPass reports whether an answer, or the want of one, may be another the next time. A status of
// 200 is a success that the client could not read.
func mayPass(answer minio.ErrorResponse) bool {
	status := answer.StatusCode
	if status < 300 || status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout {
		return true
	}
	for _, code := range passing {
		if answer.Code == code {
			return true
		}
	}
	return false
}
