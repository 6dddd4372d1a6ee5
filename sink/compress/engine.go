// SPDX-License-Identifier: Apache-2.0

package compress

import (
	"io"
	"runtime/debug"
	"sync"

	"github.com/freehold-go/freehold/offheap"
)

// A kind has what all levels of a codec share.
type kind struct {
	name, extension, encoding string
	levels                    [2]int // the lowest and the highest, or zeros
	preset                    int    // the level that 0 stands for
	scale                     string // what the levels are, for errors
	module                    module // the compressor's
	open                      func(level, member int) (engine, error)
	reader                    func(r io.Reader) (io.ReadCloser, error)
}

// An engine compresses members.
type engine interface {
	member(dst io.Writer, src []byte) error
	free()
}

// room is buf if it has n bytes, or a larger buffer in its place. Its contents are arbitrary.
func room(buf []byte, n int) ([]byte, error) {
	if n <= len(buf) {
		return buf, nil
	}
	offheap.Free(buf)
	return offheap.TryAllocUninit(n)
}

// layout is raised when this package changes the bytes of members.
const layout = 1

// The modules that compress.
var (
	klauspost = module{"github.com/klauspost/compress", "v1.20.3"}
	pierrec   = module{"github.com/pierrec/lz4/v4", "v4.1.33"}
)

// A module has the path of a compressor's module and the version that go.mod requires.
type module struct{ path, version string }

// built is the version that the program was built with. It may be later than the one that go.mod requires. Tests have no list of modules.
func (m module) built() string {
	if v := moduleVersions()[m.path]; v != "" {
		return v
	}
	return m.version
}

// moduleVersions are the versions of the modules that the program was built with, by their paths.
var moduleVersions = sync.OnceValue(func() map[string]string {
	versions := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Replace != nil {
				m.Version = m.Replace.Version
			}
			versions[m.Path] = m.Version
		}
	}
	return versions
})
