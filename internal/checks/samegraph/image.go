// SPDX-License-Identifier: Apache-2.0

package samegraph

import (
	"bytes"
	"fmt"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// An Image is what memory held once.
type Image struct {
	span Span
	held []byte
}

// ImagesOf is images of the memory.
func ImagesOf(spans []Span) []Image {
	list := make([]Image, len(spans))
	for i, s := range spans {
		list[i] = Image{s, bytes.Clone(unsafex.Bytes(s.From, s.End-s.From))}
	}
	return list
}

// Unchanged is an error if any of the memory is not as it was.
func Unchanged(images []Image) error {
	for _, m := range images {
		if now := unsafex.Bytes(m.span.From, m.span.End-m.span.From); !bytes.Equal(now, m.held) {
			for i := range now {
				if now[i] != m.held[i] {
					return fmt.Errorf("byte %d of the %d at %#x was written", i, len(now), m.span.From)
				}
			}
		}
	}
	return nil
}
