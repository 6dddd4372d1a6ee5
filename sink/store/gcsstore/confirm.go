// SPDX-License-Identifier: Apache-2.0

package gcsstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"google.golang.org/api/googleapi"
	storage "google.golang.org/api/storage/v1"

	"github.com/freehold-go/freehold/sink/store"
)

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
