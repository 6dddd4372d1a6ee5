// SPDX-License-Identifier: Apache-2.0

// Package compress compresses the content of objects in members.
//
// A member is a complete gzip member, zstd frame, lz4 frame or framed snappy stream. Readers of these formats take members that
// stand one behind the other as one stream. So the sink gathers the bytes of an object in a block of fixed size, compresses the full block as a
// member, and appends the member to the object. A compressor is needed only while a member is compressed: their number is that of the goroutines
// that compress, and does not depend on the number of open objects. The price is a few percent of compression, because no member refers to
// the bytes of another: with gzip and blocks of 512 KiB about 1 %, with blocks of 256 KiB 2 %.
//
// The bytes of a member are a function of its input, the codec and the versions of this package and the codec's module. [Codec.Version]
// names them all.
package compress

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// DefaultMember is the number of bytes of input that are compressed as a member by default. Larger members need more memory for each open
// object and hardly compress better.
const DefaultMember = 512 << 10

// A Codec is a way to compress with its level. Its methods may be called by several goroutines at once. The zero Codec is not valid: Parse
// makes codecs.
type Codec struct {
	Name  string // "gzip", "zstd", "snappy", "lz4" or "none"
	Level int    // of the codec's scale, never 0 if the codec has levels

	// Extension is what names of compressed files end with: ".gz".
	Extension string
	// ContentEncoding is the codec's name in HTTP, or "" if it has none there. Stores that know it may decompress an object for readers that
	// do not ask for it compressed.
	ContentEncoding string

	kind *kind
}

var kinds = []*kind{&gzipKind, &zstdKind, &snappyKind, &lz4Kind, &noneKind}

// Parse returns the codec of a name and a level. Level 0 is the codec's default: 6 of gzip's 1 to 9, 1 of zstd's 1 to 22, 1 of lz4's
// 1 to 10. Snappy and none have no levels. The error names what is allowed.
func Parse(name string, level int) (Codec, error) {
	i := slices.IndexFunc(kinds, func(k *kind) bool { return k.name == name })
	if i < 0 {
		return Codec{}, fmt.Errorf("compress: no codec %q: choose one of %s", name, strings.Join(Names(), ", "))
	}
	k := kinds[i]
	switch low, high := k.levels[0], k.levels[1]; {
	case level == 0:
		level = k.preset
	case high == 0:
		return Codec{}, fmt.Errorf("compress: %s has no levels: leave out the level %d", name, level)
	case level < low || level > high:
		return Codec{}, fmt.Errorf("compress: %s has no level %d: choose %d to %d (%s), or 0 for %d", name, level, low, high, k.scale, k.preset)
	}
	return Codec{Name: name, Level: level, Extension: k.extension, ContentEncoding: k.encoding, kind: k}, nil
}

// Names lists the names that Parse takes.
func Names() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// Version names all that the bytes of a member depend on besides its input: "gzip-6/1 klauspost/compress v1.20.3". Codecs of equal
// versions and equal sizes of members make equal bytes.
func (c Codec) Version() string {
	v := c.Name
	if c.Level != 0 {
		v = fmt.Sprintf("%s-%d", c.Name, c.Level)
	}
	v = fmt.Sprintf("%s/%d", v, layout)
	if m := c.kind.module; m.path != "" {
		v += " " + strings.TrimPrefix(m.path, "github.com/") + " " + m.built()
	}
	return v
}

// NewReader decompresses the members that r has, one behind the other. Closing it does not close r. Without compression it is r itself.
func (c Codec) NewReader(r io.Reader) (io.ReadCloser, error) { return c.kind.reader(r) }

// A Compressor compresses members. It serves one goroutine at a time.
//
// It keeps the memory that its codec needs, most of it for the largest member so far, until it is freed.
type Compressor struct {
	engine engine
}

// New makes a compressor for members of up to so many bytes of input, or of DefaultMember if member is 0. It takes larger inputs, too, but
// with a little less compression than a compressor that was made for them.
func (c Codec) New(member int) (*Compressor, error) {
	if member == 0 {
		member = DefaultMember
	}
	e, err := c.kind.open(c.Level, member)
	if err != nil {
		return nil, fmt.Errorf("compress: %s: %w", c.Name, err)
	}
	return &Compressor{e}, nil
}

// Member appends one complete member with the content src to dst. It keeps neither. If it fails, dst may have a part of the member, and the
// compressor can go on with the next.
//
// An empty src makes a member without content, except without compression, which adds nothing.
func (z *Compressor) Member(dst io.Writer, src []byte) error {
	if err := z.engine.member(dst, src); err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	return nil
}

// Free gives up the compressor's memory. Nothing may be called afterwards.
func (z *Compressor) Free() {
	z.engine.free()
	z.engine = nil
}
