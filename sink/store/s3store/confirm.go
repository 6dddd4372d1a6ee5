// SPDX-License-Identifier: Apache-2.0

package s3store

import (
	"context"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/freehold-go/freehold/sink/store"
)

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
