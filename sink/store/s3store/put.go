// SPDX-License-Identifier: Apache-2.0

package s3store

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/freehold-go/freehold/sink/store"
)

// crcName is metadata of ours beside that of About, for servers that do not keep checksums.
const crcName = "freehold-crc32c"

// maxMetadata is the limit of S3 for names and values of user metadata together, in bytes.
const maxMetadata = 2048

// abortTime is how long aborting an upload may take after the caller's context is done.
const abortTime = 10 * time.Second

// Put implements store.Store.
func (s *Store) Put(ctx context.Context, key string, body store.Body, about store.About) error {
	if err := s.ready(ctx, key); err != nil {
		return err
	}
	if err := store.CheckPut(key, body); err != nil {
		return err
	}
	opts, err := s.putOptions(body, about)
	if err != nil {
		return fmt.Errorf("s3store: writing %q: %w", key, err)
	}
	if body.Size() < s.o.PartSize {
		return s.putWhole(ctx, key, body, opts)
	}
	return s.putParts(ctx, key, body, opts)
}

func (s *Store) putOptions(body store.Body, about store.About) (minio.PutObjectOptions, error) {
	metadata := about.Metadata()
	metadata[crcName] = strconv.FormatUint(uint64(body.CRC32C()), 16)
	size := 0
	for name, value := range metadata {
		size += len(name) + len(value)
	}
	if size > maxMetadata {
		return minio.PutObjectOptions{}, store.Permanent(fmt.Errorf("the metadata has %d bytes, S3 allows %d: topic %d, group %d, format %d bytes",
			size, maxMetadata, len(about.Topic), len(about.Group), len(about.Format)))
	}
	return minio.PutObjectOptions{
		UserMetadata: metadata, ContentType: about.ContentType, ContentEncoding: about.ContentEncoding, StorageClass: s.o.StorageClass,
		// The content is not hashed with SHA-256 for the signature: that costs more than the
		// compression of some formats, and the CRC32C is there against damage.
		DisableContentSha256: true,
	}, nil
}

// putWhole sends the body in one request.
func (s *Store) putWhole(ctx context.Context, key string, body store.Body, opts minio.PutObjectOptions) error {
	opts.UserMetadata[minio.ChecksumCRC32C.Key()] = encode(body.CRC32C()) // the client sends it as a header of its own
	r := store.NewReader(ctx, body)
	stored, err := s.core.PutObject(ctx, s.o.Bucket, s.prefix+key, r, body.Size(), "", "", opts)
	r.Close()
	if e := r.Err(); e != nil {
		return fmt.Errorf("s3store: writing %q: %w", key, e)
	}
	if err != nil {
		return s.explain(ctx, "writing", key, err)
	}
	return s.confirm(ctx, key, upload{body: body}, answer{stored.ChecksumCRC32C, stored.ETag})
}

// putParts sends the body in parts and aborts the upload if anything fails. The body's checksum is
// compared before the first request, and each part's on its way.
func (s *Store) putParts(ctx context.Context, key string, body store.Body, opts minio.PutObjectOptions) error {
	parts, err := store.Split(body, max(s.o.PartSize, (body.Size()+maxParts-1)/maxParts))
	if err != nil {
		return fmt.Errorf("s3store: writing %q: %w", key, err)
	}
	opts.UserMetadata["x-amz-checksum-algorithm"] = "CRC32C"
	opts.UserMetadata["x-amz-checksum-type"] = "FULL_OBJECT"
	name := s.prefix + key
	id, err := s.core.NewMultipartUpload(ctx, s.o.Bucket, name, opts)
	if err == nil && id == "" {
		err = fmt.Errorf("the upload was begun without an id: %w", store.ErrUnconfirmed)
	}
	if err != nil {
		return s.explain(ctx, "writing", key, err)
	}
	sent, err := s.sendParts(ctx, name, id, parts)
	var stored minio.UploadInfo
	if err == nil {
		stored, err = s.core.CompleteMultipartUpload(ctx, s.o.Bucket, name, id, sent, minio.PutObjectOptions{
			UserMetadata: map[string]string{minio.ChecksumCRC32C.Key(): encode(body.CRC32C()), "x-amz-checksum-type": "FULL_OBJECT"},
		})
	}
	if err == nil {
		err = s.confirm(ctx, key, upload{body, parts}, answer{stored.ChecksumCRC32C, stored.ETag})
		if err == nil {
			return nil
		}
		return s.abort(ctx, name, id, err) // if the completion did not reach the server
	}
	var ours bodyError
	if errors.As(err, &ours) {
		err = fmt.Errorf("s3store: writing %q: %w", key, ours.error)
	} else {
		err = s.explain(ctx, "writing", key, err)
	}
	return s.abort(ctx, name, id, err)
}

// abort ends an upload that has failed with err, and returns err. If the upload cannot be aborted,
// the error says so; an upload that is gone needs no abort, because its completion has succeeded
// and the answer was lost.
func (s *Store) abort(ctx context.Context, name, id string, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
	defer cancel()
	failed := s.core.AbortMultipartUpload(ctx, s.o.Bucket, name, id)
	if failed == nil || minio.ToErrorResponse(failed).Code == "NoSuchUpload" {
		return err
	}
	return fmt.Errorf("%w; its parts stay in the bucket, because aborting the upload failed: %w", err, failed)
}

// sendParts sends the parts, several at a time. At the first failure it ends the others, and waits
// until they are gone.
func (s *Store) sendParts(ctx context.Context, name, id string, parts []store.Body) ([]minio.CompletePart, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sent := make([]minio.CompletePart, len(parts))
	numbers := make(chan int)
	var wg sync.WaitGroup
	for range min(s.o.Concurrency, len(parts)) {
		wg.Go(func() {
			for i := range numbers {
				var err error
				if sent[i], err = s.sendPart(ctx, name, id, i+1, parts[i]); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range parts {
		select {
		case numbers <- i:
		case <-ctx.Done():
		}
	}
	close(numbers)
	wg.Wait()
	return sent, context.Cause(ctx)
}

// partAttempts is how often a part is sent if the server or the network fails. A part that fails
// more often makes the upload fail: then all of its parts are sent again.
const partAttempts = 3

// sendPart sends a part, at most partAttempts times.
func (s *Store) sendPart(ctx context.Context, name, id string, number int, part store.Body) (minio.CompletePart, error) {
	for n := 1; ; n++ {
		p, err := s.sendPartOnce(ctx, name, id, number, part)
		if err == nil || n == partAttempts || !partMayPass(err) {
			return p, err
		}
		select {
		case <-ctx.Done():
			return p, err
		case <-time.After(rand.N(s.partPause << n)):
		}
	}
}

// partMayPass reports whether a part that failed with an error may be stored the next time.
func partMayPass(err error) bool {
	var ours bodyError
	answer := minio.ToErrorResponse(err)
	return !errors.As(err, &ours) && answer.Code != "NoSuchUpload" && mayPass(answer)
}

func (s *Store) sendPartOnce(ctx context.Context, name, id string, number int, part store.Body) (minio.CompletePart, error) {
	r := store.NewReader(ctx, part)
	p, err := s.core.PutObjectPart(ctx, s.o.Bucket, name, id, number, r, part.Size(), minio.PutObjectPartOptions{
		DisableContentSha256: true,
		CustomHeader:         http.Header{minio.ChecksumCRC32C.KeyCapitalized(): {encode(part.CRC32C())}},
	})
	r.Close()
	switch e := r.Err(); {
	case e != nil:
		err = bodyError{e}
	case err == nil && (p.ETag == "" || p.ChecksumCRC32C != "" && p.ChecksumCRC32C != encode(part.CRC32C())):
		err = fmt.Errorf("part %d of %d bytes with CRC32C %s was answered with the ETag %q and the CRC32C %q: %w",
			number, part.Size(), encode(part.CRC32C()), p.ETag, p.ChecksumCRC32C, store.ErrUnconfirmed)
	}
	return minio.CompletePart{PartNumber: number, ETag: p.ETag, ChecksumCRC32C: p.ChecksumCRC32C}, err
}

// bodyError is an error of the body's and not of the server's.
type bodyError struct{ error }

func (b bodyError) Unwrap() error { return b.error }

// encode writes a checksum as S3 does.
func encode(crc uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc))
}

// describe makes an Info of an answer.
func describe(key string, stat minio.ObjectInfo) store.Info {
	info := store.Info{Key: key, Size: stat.Size}
	metadata := map[string]string{}
	for name, value := range stat.UserMetadata {
		metadata[strings.ToLower(name)] = value
	}
	if crc, err := strconv.ParseUint(metadata[crcName], 16, 32); err == nil {
		info.CRC32C, info.HasCRC = uint32(crc), true
	}
	if info.About, info.HasAbout = store.ParseMetadata(metadata); info.HasAbout {
		info.About.ContentType, info.About.ContentEncoding = stat.ContentType, stat.Metadata.Get("Content-Encoding")
	}
	return info
}

// Confirmation implements store.Confirmer.
func (s *Store) Confirmation() store.Confirmation { return store.Confirmation(s.confirmed.Load()) }

// upload is what was sent: a body, in parts if it was a multipart upload.
type upload struct {
	body  store.Body
	parts []store.Body
}

// answer is what the server says of an object that it has.
type answer struct{ crc, etag string }

// confirm returns nil if the server has shown that it has the bytes of an upload, which it answered
// with a success. A server or a proxy that fails may answer 200 and store nothing. The answer to
// the upload counts first, then a HEAD request. If both have no checksum, the object is read.
func (s *Store) confirm(ctx context.Context, key string, u upload, first answer) error {
	by, err := u.compare(first)
	if by == 0 && err == nil {
		var stat minio.ObjectInfo
		stat, err = s.core.StatObject(ctx, s.o.Bucket, s.prefix+key, minio.StatObjectOptions{Checksum: true})
		switch {
		case minio.ToErrorResponse(err).StatusCode == http.StatusNotFound:
			err = fmt.Errorf("%w: there is no such object", store.ErrUnconfirmed)
		case err != nil:
			return s.explain(ctx, "confirming", key, err)
		case stat.Size != u.body.Size():
			err = fmt.Errorf("%w: the object has %d bytes, should have %d", store.ErrUnconfirmed, stat.Size, u.body.Size())
		default:
			if by, err = u.compare(answer{stat.ChecksumCRC32C, stat.ETag}); by != 0 {
				by = store.ByInquiry
			}
		}
	}
	if by == 0 && err == nil {
		by, err = store.ByReading, store.Reread(ctx, s, key, u.body)
	}
	if err != nil {
		return fmt.Errorf("s3store: writing %q in %v: %w", key, s, err)
	}
	s.confirmed.Store(int32(by))
	return nil
}

// compare compares an answer with the upload. Without a checksum in the answer it returns 0 and no
// error. An ETag that is not the MD5 is no error: with some kinds of encryption an ETag is something
// else.
func (u upload) compare(a answer) (by store.Confirmation, err error) {
	if a.crc != "" {
		if a.crc != encode(u.body.CRC32C()) && a.crc != u.composite() {
			return 0, fmt.Errorf("%w: its answer has the CRC32C %s, should have %s", store.ErrUnconfirmed, a.crc, encode(u.body.CRC32C()))
		}
		return store.ByAnswer, nil
	}
	sum, count, ofParts := strings.Cut(a.etag, "-")
	if _, err := hex.DecodeString(sum); err != nil || len(sum) != 2*md5.Size || ofParts && count != strconv.Itoa(len(u.parts)) {
		return 0, nil
	}
	ours, err := u.md5(ofParts)
	if err != nil || ours != strings.ToLower(sum) {
		return 0, err
	}
	return store.ByMD5, nil
}

// composite is the checksum that servers return that know none of full objects: the CRC32C of the
// parts' checksums, and the number of parts.
// See https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity-upload.html.
func (u upload) composite() string {
	crc := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	for _, p := range u.parts {
		crc.Write(binary.BigEndian.AppendUint32(nil, p.CRC32C()))
	}
	return fmt.Sprintf("%s-%d", encode(crc.Sum32()), len(u.parts))
}

// md5 is the MD5 of the body, or that of the MD5s of its parts: what an ETag is without encryption.
func (u upload) md5(ofParts bool) (string, error) {
	if !ofParts {
		sum, err := digest(u.body)
		return hex.EncodeToString(sum), err
	}
	whole := md5.New()
	for _, p := range u.parts {
		sum, err := digest(p)
		if err != nil {
			return "", err
		}
		whole.Write(sum)
	}
	return hex.EncodeToString(whole.Sum(nil)), nil
}

// digest is the MD5 of a body.
func digest(body store.Body) ([]byte, error) {
	sum := md5.New()
	_, err := io.Copy(sum, io.NewSectionReader(body, 0, body.Size()))
	return sum.Sum(nil), err
}
