// SPDX-License-Identifier: Apache-2.0

package store

import "errors"

// ErrChecksum says that the bytes of a body, or of an object that was read, do not have the
// checksum that they should have. For a body it is permanent: memory was overwritten or freed after
// the checksum was computed.
var ErrChecksum = errors.New("the bytes do not have their CRC32C")

// ErrKey says that a key cannot name an object; see CheckKey. It is permanent.
var ErrKey = errors.New("the key cannot name an object")

// permanent marks an error that the next attempt would meet, too.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// Permanent marks an error that another attempt would meet again, such as a denied access or a
// bucket that does not exist. A full disk is not permanent: room can be made while the sink waits.
// Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanent{err}
}

// IsPermanent reports whether an error was marked by Permanent, or wraps ErrNotFound.
func IsPermanent(err error) bool {
	var p permanent
	return errors.As(err, &p) || errors.Is(err, ErrNotFound)
}
