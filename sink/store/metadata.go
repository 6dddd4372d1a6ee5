// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// metadataPrefix begins the names of the sink's metadata.
const metadataPrefix = "freehold-"

// Metadata returns what a store that keeps names and values should keep for an About; ParseMetadata
// reads it back. Content type and encoding are not among it, because stores have fields of their
// own for them. Names are lower-case ASCII, values printable ASCII without spaces, so that they
// pass through HTTP headers: bytes beyond that are written as %XX, or the whole value as "%~" and
// base64 without padding if that is shorter. Empty values are left out.
//
// If topic and group together have at most MaxKey bytes, names and values together have at most
// 2,048, the limit of S3. They always do if the object's key holds both.
func (a About) Metadata() map[string]string {
	m := map[string]string{}
	for name, field := range a.fields() {
		switch p := field.(type) {
		case *string:
			if *p != "" {
				m[metadataPrefix+name] = escape(*p)
			}
		case *int32:
			m[metadataPrefix+name] = strconv.FormatInt(int64(*p), 10)
		case *int64:
			m[metadataPrefix+name] = strconv.FormatInt(*p, 10)
		}
	}
	return m
}

// fields maps the names of metadata to pointers to the fields.
func (a *About) fields() map[string]any {
	return map[string]any{
		"topic": &a.Topic, "partition": &a.Partition, "group": &a.Group, "first": &a.FirstOffset, "last": &a.LastOffset,
		"records": &a.Records, "bytes": &a.InputBytes, "epoch": &a.EpochFirst, "next": &a.EpochNext, "format": &a.Format,
	}
}

// ParseMetadata is the inverse of Metadata. Names may come in any case, because HTTP changes it,
// and other names are ignored. It returns false if the metadata is not the sink's or is damaged.
func ParseMetadata(metadata map[string]string) (About, bool) {
	var a About
	fields := a.fields()
	numbers := 0
	for name, value := range metadata {
		short, ours := strings.CutPrefix(strings.ToLower(name), metadataPrefix)
		if !ours {
			continue
		}
		var err error
		switch p := fields[short].(type) {
		case *string:
			*p, err = unescape(value)
		case *int32:
			var n int64
			n, err = strconv.ParseInt(value, 10, 32)
			*p, numbers = int32(n), numbers+1
		case *int64:
			*p, err = strconv.ParseInt(value, 10, 64)
			numbers++
		}
		if err != nil {
			return About{}, false
		}
	}
	const allNumbers = 7
	if numbers != allNumbers {
		return About{}, false
	}
	return a, true
}

func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c > ' ' && c < 0x7f && c != '%' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	if encoded := base64Mark + base64.RawURLEncoding.EncodeToString([]byte(s)); len(encoded) < b.Len() {
		return encoded
	}
	return b.String()
}

// base64Mark is no escape of a byte, so it tells the two ways apart.
const base64Mark = "%~"

func unescape(s string) (string, error) {
	if encoded, ok := strings.CutPrefix(s, base64Mark); ok {
		b, err := base64.RawURLEncoding.DecodeString(encoded)
		return string(b), err
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "%")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		if len(after) < 2 {
			return "", strconv.ErrSyntax
		}
		c, err := strconv.ParseUint(after[:2], 16, 8)
		if err != nil {
			return "", err
		}
		b.WriteByte(byte(c))
		s = after[2:]
	}
}
