// SPDX-License-Identifier: Apache-2.0

package compress

import (
	"bytes"
	stdgzip "compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"

	"github.com/freehold-go/freehold/sink/internal/orders"
)

// lines are at least n bytes of orders.
func lines(n int) []byte {
	g, b := orders.New(1), make([]byte, 0, n+4096)
	for i := 0; len(b) < n; i++ {
		b = append(g.AppendValue(b, i), '\n')
	}
	return b
}

// noise are n bytes that cannot be compressed.
func noise(n int) []byte {
	b, r := make([]byte, n), rand.NewChaCha8([32]byte{1})
	r.Read(b)
	return b
}

// codecs are all names with their lowest, default and highest level.
func codecs(t testing.TB) (list []Codec) {
	for _, k := range kinds {
		levels := []int{k.levels[0], k.preset, k.levels[1]}
		slices.Sort(levels)
		for _, level := range slices.Compact(levels) {
			c, err := Parse(k.name, level)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, c)
		}
	}
	return list
}

func open(t testing.TB, c Codec) *Compressor {
	z, err := c.New(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(z.Free)
	return z
}

// inputs are the contents of members.
func inputs() [][]byte {
	text := lines(600 << 10)
	return [][]byte{text[:256<<10], {}, []byte("a"), noise(100_000), make([]byte, 256<<10), text[256<<10:], noise(64 << 10), []byte("\n"), text[:64<<10+1]}
}

// Readers of a format take concatenated members as one stream.
func TestMembers(t *testing.T) {
	for _, c := range codecs(t) {
		t.Run(fmt.Sprint(c.Name, c.Level), func(t *testing.T) {
			z := open(t, c)
			var out bytes.Buffer
			var want []byte
			for _, in := range inputs() {
				if err := z.Member(&out, in); err != nil {
					t.Fatal(err)
				}
				want = append(want, in...)
			}
			readers := map[string]func(io.Reader) (io.Reader, error){"own": func(r io.Reader) (io.Reader, error) { return c.NewReader(r) }}
			switch c.Name {
			case "gzip":
				readers["std"] = func(r io.Reader) (io.Reader, error) { return stdgzip.NewReader(r) }
			case "zstd":
				readers["zstd"] = func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r) }
			case "snappy":
				readers["snappy"] = func(r io.Reader) (io.Reader, error) { return snappy.NewReader(r), nil }
			}
			for name, open := range readers {
				r, err := open(bytes.NewReader(out.Bytes()))
				if err != nil {
					t.Fatal(name, err)
				}
				if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s reads %d bytes of %d, %v", name, len(got), len(want), err)
				}
			}
		})
	}
}

// The tools of a machine read what the package writes.
func TestTools(t *testing.T) {
	text := lines(600 << 10)
	for _, c := range codecs(t) {
		tool, err := exec.LookPath(map[string]string{"gzip": "gzip", "zstd": "zstd", "lz4": "lz4", "snappy": "snzip"}[c.Name])
		if err != nil {
			t.Logf("no tool for %s", c.Name)
			continue
		}
		z := open(t, c)
		var out bytes.Buffer
		for from := 0; from < len(text); from += 256 << 10 {
			if err := z.Member(&out, text[from:min(from+256<<10, len(text))]); err != nil {
				t.Fatal(err)
			}
		}
		file := filepath.Join(t.TempDir(), "object"+c.Extension)
		if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := exec.Command(tool, "-dc", file).Output()
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s of %s %d: %d bytes of %d, %v", tool, c.Name, c.Level, len(got), len(text), err)
		}
	}
}

// A member's bytes do not depend on what the compressor did before.
func TestDeterministic(t *testing.T) {
	for _, c := range codecs(t) {
		used := open(t, c)
		for round := range 2 {
			for i, in := range inputs() {
				fresh := open(t, c)
				var a, b bytes.Buffer
				if err := errors.Join(used.Member(&a, in), fresh.Member(&b, in)); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(a.Bytes(), b.Bytes()) {
					t.Errorf("%s %d: input %d of round %d makes other bytes in a compressor that was used", c.Name, c.Level, i, round)
				}
			}
		}
	}
}

// A header has no time and no name.
func TestGzipHeader(t *testing.T) {
	c, _ := Parse("gzip", 6)
	var out bytes.Buffer
	if err := open(t, c).Member(&out, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if got, want := out.Bytes()[:8], []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0}; !bytes.Equal(got, want) {
		t.Errorf("the header begins with %x, want %x", got, want)
	}
}

type failing struct{ after int }

var errFull = errors.New("full")

func (f *failing) Write(p []byte) (int, error) {
	if f.after -= len(p); f.after < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// A write that fails is the error of Member, and the next member is whole.
func TestFailingWriter(t *testing.T) {
	in := lines(200 << 10)
	for _, c := range codecs(t) {
		z := open(t, c)
		var want, got bytes.Buffer
		if err := z.Member(&want, in); err != nil {
			t.Fatal(err)
		}
		for _, after := range []int{0, 5, 100, want.Len() - 1} {
			if err := z.Member(&failing{after}, in); !errors.Is(err, errFull) {
				t.Errorf("%s %d: a writer that fails after %d bytes makes the error %v", c.Name, c.Level, after, err)
			}
			got.Reset()
			if err := z.Member(&got, in); err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
				t.Errorf("%s %d: the member after a failure is another: %v", c.Name, c.Level, err)
			}
		}
	}
}

func TestParse(t *testing.T) {
	for _, e := range []struct {
		name  string
		level int
		want  string // of the error
	}{
		{"brotli", 0, `no codec "brotli": choose one of gzip, zstd, snappy, lz4, none`}, {"", 0, "no codec"}, {"GZIP", 0, "no codec"},
		{"gzip", 10, "gzip has no level 10: choose 1 to 9"}, {"gzip", -1, "no level -1"}, {"zstd", 23, "1 to 22"}, {"lz4", 11, "1 to 10"},
		{"snappy", 1, "snappy has no levels"}, {"none", 3, "none has no levels"},
	} {
		if _, err := Parse(e.name, e.level); err == nil || !strings.Contains(err.Error(), e.want) {
			t.Errorf("%s %d: the error %v does not say %q", e.name, e.level, err, e.want)
		}
	}
	for _, e := range []struct {
		name                          string
		level                         int
		extension, encoding, versions string
	}{
		{"gzip", 6, ".gz", "gzip", "gzip-6/1 klauspost/compress v1."}, {"zstd", 1, ".zst", "zstd", "zstd-1/1 klauspost/compress v1."},
		{"snappy", 0, ".sz", "", "snappy/1 klauspost/compress v1."}, {"lz4", 1, ".lz4", "", "lz4-1/1 pierrec/lz4/v4 v4."}, {"none", 0, "", "", "none/1"},
	} {
		c, err := Parse(e.name, 0)
		if err != nil || c.Level != e.level || c.Extension != e.extension || c.ContentEncoding != e.encoding {
			t.Errorf("%s is %+v, %v", e.name, c, err)
		}
		if v := c.Version(); !strings.HasPrefix(v, e.versions) {
			t.Errorf("%s has the version %q, want %q…", e.name, v, e.versions)
		}
	}
}

// The versions in the source are those of go.mod.
func TestModules(t *testing.T) {
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []module{klauspost, pierrec} {
		if !bytes.Contains(mod, []byte(m.path+" "+m.version+"\n")) {
			t.Errorf("go.mod does not require %s %s", m.path, m.version)
		}
	}
}

func TestWindow(t *testing.T) {
	for member, want := range map[int]int{1: 1 << 10, 256 << 10: 256 << 10, 256<<10 + 1: 512 << 10, 1 << 30: 8 << 20} {
		if got := window(member); got != want {
			t.Errorf("the window for %d is %d, want %d", member, got, want)
		}
	}
}

// A compressor allocates nothing for a member.
func TestAllocations(t *testing.T) {
	in, out := lines(256 << 10)[:256<<10], bytes.NewBuffer(make([]byte, 0, 1<<20))
	for _, name := range Names() {
		c, _ := Parse(name, 0)
		z := open(t, c)
		if n := testing.AllocsPerRun(20, func() {
			out.Reset()
			if err := z.Member(out, in); err != nil {
				t.Fatal(err)
			}
		}); n > 8 {
			t.Errorf("%s: %v allocations per member of %d lines", name, n, len(in)/1525)
		}
	}
}

func FuzzMember(f *testing.F) {
	f.Add([]byte("abc"), []byte{}, uint8(0))
	f.Add(lines(3000), noise(200), uint8(3))
	list := codecs(f)
	f.Fuzz(func(t *testing.T, a, b []byte, which uint8) {
		z := open(t, list[int(which)%len(list)])
		var out bytes.Buffer
		if err := errors.Join(z.Member(&out, a), z.Member(&out, b)); err != nil {
			t.Fatal(err)
		}
		r, err := list[int(which)%len(list)].NewReader(&out)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, slices.Concat(a, b)) {
			t.Errorf("%d bytes of %d, %v", len(got), len(a)+len(b), err)
		}
	})
}
