// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxKey is the length of the longest key in bytes, with the prefix that a store puts in front. It
// is the limit of S3 and of Google Cloud Storage.
const MaxKey = 1024

// CheckKey returns a permanent error that wraps ErrKey if a key cannot name an object in every
// store. A key is valid UTF-8 of 1 to MaxKey bytes without control characters. Slashes divide it
// into names. No name is empty, "." or "..", because HTTP servers and file systems rewrite paths
// with such names.
func CheckKey(key string) error {
	why := ""
	switch {
	case key == "":
		why = "it is empty"
	case len(key) > MaxKey:
		why = fmt.Sprintf("it has %d bytes, more than %d", len(key), MaxKey)
	case !utf8.ValidString(key):
		why = "it is not valid UTF-8"
	case strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }):
		why = "it has a control character"
	}
	for name := range strings.SplitSeq(key, "/") {
		if why == "" && (name == "" || name == "." || name == "..") {
			why = fmt.Sprintf("a name between slashes is %q", name)
		}
	}
	if why == "" {
		return nil
	}
	return Permanent(fmt.Errorf("store: key %.80q: %w: %s", key, ErrKey, why))
}

// CheckPut checks what Put can check before it writes: the key by CheckKey, that the body's size is
// not negative, and that the checksum of an empty body is 0. No Reader sees the bytes of an empty
// body, because HTTP clients do not read it.
func CheckPut(key string, body Body) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	switch n := body.Size(); {
	case n < 0:
		return Permanent(fmt.Errorf("store: key %q: the body's size is %d", key, n))
	case n == 0 && body.CRC32C() != 0:
		return Permanent(fmt.Errorf("store: key %q: empty body with CRC32C %08x: %w", key, body.CRC32C(), ErrChecksum))
	}
	return nil
}

// Folder returns a prefix for keys from a path in an address: "/a/b" and "a/b/" both give "a/b/",
// and "/" gives "". The error is permanent and wraps ErrKey if no key can begin with the path.
func Folder(path string) (string, error) {
	path = strings.Trim(path, "/")
	if path == "" {
		return "", nil
	}
	return path + "/", CheckKey(path)
}
