// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// ErrUnconfirmed says that a server reported a success and did not show that it has the bytes. A
// proxy or a server with a fault answers so and has stored nothing. Another attempt may be
// confirmed, so the error is not permanent.
var ErrUnconfirmed = errors.New("the server answered with a success, but has not confirmed the bytes")

// A Confirmation is what showed that a server has the bytes of an object.
type Confirmation int32

// The confirmations, the cheapest one first.
const (
	ByAnswer  Confirmation = iota + 1 // The answer to the upload had the CRC32C of the body.
	ByMD5                             // The answer to the upload had the MD5 of the body, for which the body is read again.
	ByInquiry                         // The answer had no checksum. A further request returned one.
	ByReading                         // The server has no checksums. The object was read and compared.
)

// String describes the confirmation for people.
func (c Confirmation) String() string {
	switch c {
	case ByAnswer:
		return "each upload is confirmed by the CRC32C in its answer"
	case ByMD5:
		return "each upload is confirmed by the MD5 in its answer, which the sink computes for each object, because the store answers no CRC32C"
	case ByInquiry:
		return "the store answers no checksum to uploads: a further request for each object confirms it"
	case ByReading:
		return "the store has no checksums: each object is read after its upload and compared, which doubles the traffic"
	}
	return "no upload was confirmed yet"
}

// A Confirmer is a Store over a network. Confirmation returns what confirmed the newest Put that
// succeeded, or 0 before the first one.
type Confirmer interface{ Confirmation() Confirmation }

// ConfirmationOf returns the Confirmation of a Store or of the Store that Retry has wrapped. It is 0
// for a Store that is no Confirmer, such as a directory.
func ConfirmationOf(s Store) Confirmation {
	if r, ok := s.(*retrying); ok {
		s = r.Store
	}
	if c, ok := s.(Confirmer); ok {
		return c.Confirmation()
	}
	return 0
}

// Reread reads the object of a key from the store and compares it with the body that was put. It is
// the confirmation that is left if a server answers no checksum. The error wraps ErrUnconfirmed if
// the object is missing or has other bytes.
func Reread(ctx context.Context, s Store, key string, body Body) error {
	r, _, err := s.Get(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("store: %q in %v: %w: there is no such object", key, s, ErrUnconfirmed)
	}
	if err != nil {
		return err
	}
	// Verified compares the size and the checksum at the end of the object.
	r = Verified(r, Info{Key: key, Size: body.Size(), CRC32C: body.CRC32C(), HasCRC: true})
	defer r.Close()
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	for {
		switch _, err := r.Read(*buf); {
		case err == io.EOF:
			return nil
		case errors.Is(err, ErrChecksum):
			return fmt.Errorf("%w: %w", ErrUnconfirmed, err)
		case err != nil:
			return fmt.Errorf("store: reading %q in %v, to confirm its upload: %w", key, s, err)
		}
	}
}
