// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/sink/store"
)

// widest is an About whose metadata is as long as a key of MaxKey bytes lets it become.
func widest(group string) store.About {
	return store.About{
		Topic: strings.Repeat("t", store.MaxKey-len(group)), Partition: math.MinInt32, Group: group,
		FirstOffset: math.MinInt64, LastOffset: math.MinInt64, Records: math.MinInt64, InputBytes: math.MinInt64,
		EpochFirst: math.MinInt64, EpochNext: math.MinInt64, Format: strings.Repeat("f", 60),
	}
}

func TestMetadataFitsInS3(t *testing.T) {
	for _, group := range []string{
		strings.Repeat("\xff", store.MaxKey-20), strings.Repeat("é", (store.MaxKey-20)/2), strings.Repeat("%", 500), strings.Repeat("a b", 340),
	} {
		about := widest(group)
		m := about.Metadata()
		size := len("freehold-crc32c") + 8
		for name, value := range m {
			size += len("x-amz-meta-") + len(name) + len(value)
			if i := strings.IndexFunc(name+value, func(r rune) bool { return r <= ' ' || r >= 0x7f }); i >= 0 {
				t.Errorf("%s: %q is not printable ASCII", name, value)
			}
		}
		if size > 2048 {
			t.Errorf("group %.10q: %d bytes, more than 2,048", group, size)
		}
		if got, ok := store.ParseMetadata(m); !ok || got != about {
			t.Errorf("group %.10q came back as %+v", group, got)
		}
	}
}

func FuzzMetadata(f *testing.F) {
	for _, s := range []string{"", "a", "a b", "%", "%~", "%41", "é", "\xff\x00\n", strings.Repeat("長", 100)} {
		f.Add(s, int64(1), int32(2))
	}
	f.Fuzz(func(t *testing.T, s string, n int64, partition int32) {
		about := store.About{Topic: s, Group: s + "x", Format: s, Partition: partition, FirstOffset: n, LastOffset: -n}
		canonical := map[string]string{"Unrelated": "x"}
		for name, value := range about.Metadata() {
			canonical[strings.ToUpper(name)] = value // as HTTP may change it
		}
		if got, ok := store.ParseMetadata(canonical); !ok || got != about {
			t.Errorf("%q came back as %+v, %v", s, got, ok)
		}
	})
}

func TestParseMetadataRefuses(t *testing.T) {
	for change, value := range map[string]string{
		"freehold-first": "x", "freehold-partition": "2147483648", "freehold-topic": "%4", "freehold-group": "%~*", "freehold-format": "%zz",
	} {
		m := store.About{Topic: "t"}.Metadata()
		m[change] = value
		if a, ok := store.ParseMetadata(m); ok || a != (store.About{}) {
			t.Errorf("%s = %q: %+v, %v", change, value, a, ok)
		}
		delete(m, "freehold-next")
	}
	for _, m := range []map[string]string{nil, {"owner": "me"}, {"freehold-topic": "t", "freehold-first": "1"}} {
		if _, ok := store.ParseMetadata(m); ok {
			t.Errorf("%v is no About", m)
		}
	}
}

func TestReaderKeepsTheLastBytesOfAWrongBody(t *testing.T) {
	content := bytes.Repeat([]byte("x"), 10_000)
	r := store.NewReader(t.Context(), wrong{store.Bytes(content)})
	got, err := io.ReadAll(r)
	if !errors.Is(err, store.ErrChecksum) || !store.IsPermanent(err) || !errors.Is(r.Err(), store.ErrChecksum) {
		t.Errorf("%v, %v", err, r.Err())
	}
	if len(got) >= len(content) {
		t.Errorf("the reader of a wrong body returned all its %d bytes", len(got))
	}
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, store.ErrChecksum) {
		t.Errorf("the next Read: %v", err)
	}
}

type wrong struct{ store.Body }

func (w wrong) CRC32C() uint32 { return w.Body.CRC32C() + 1 }

func TestReaderAfterClose(t *testing.T) {
	r := store.NewReader(t.Context(), store.Bytes([]byte("abc")))
	if n, err := r.Read(make([]byte, 2)); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	r.Close()
	if n, err := r.Read(make([]byte, 2)); n != 0 || err == nil || err == io.EOF {
		t.Errorf("after Close: %d, %v", n, err)
	}
}

func TestSplit(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 20_000)
	parts, err := store.Split(store.Bytes(content), 70_001)
	if err != nil || len(parts) != 3 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	var all []byte
	for _, p := range parts {
		got, err := io.ReadAll(store.NewReader(t.Context(), p))
		if err != nil || int64(len(got)) != p.Size() {
			t.Errorf("%d bytes of %d, %v", len(got), p.Size(), err)
		}
		if want := crc32.Checksum(got, crc32.MakeTable(crc32.Castagnoli)); p.CRC32C() != want {
			t.Errorf("CRC32C %08x, want %08x", p.CRC32C(), want)
		}
		all = append(all, got...)
	}
	if !bytes.Equal(all, content) {
		t.Errorf("%d bytes in parts, want %d", len(all), len(content))
	}
	if parts, err := store.Split(store.Bytes(nil), 10); len(parts) != 0 || err != nil {
		t.Errorf("an empty body has %d parts, %v", len(parts), err)
	}
	if _, err := store.Split(wrong{store.Bytes(content)}, 70_001); !errors.Is(err, store.ErrChecksum) {
		t.Errorf("a body with a wrong checksum: %v", err)
	}
}

func TestVerified(t *testing.T) {
	content := []byte("content")
	right := store.Info{Size: 7, CRC32C: store.Bytes(content).CRC32C(), HasCRC: true}
	for _, c := range []struct {
		info  store.Info
		valid bool
	}{
		{right, true},
		{store.Info{Size: 7}, true},
		{store.Info{Size: 8}, false},
		{store.Info{Size: 7, CRC32C: 1, HasCRC: true}, false},
	} {
		_, err := io.ReadAll(store.Verified(io.NopCloser(bytes.NewReader(content)), c.info))
		if c.valid != (err == nil) || !c.valid && !errors.Is(err, store.ErrChecksum) {
			t.Errorf("%+v: %v", c.info, err)
		}
	}
}

func TestFolder(t *testing.T) {
	for path, want := range map[string]string{"": "", "/": "", "a": "a/", "/a/b": "a/b/", "a/b/": "a/b/", "//a": "a/"} {
		if got, err := store.Folder(path); got != want || err != nil {
			t.Errorf("Folder(%q) = %q, %v", path, got, err)
		}
	}
	if _, err := store.Folder("a/../b"); !errors.Is(err, store.ErrKey) {
		t.Error(err)
	}
}

func TestPermanent(t *testing.T) {
	base := errors.New("base")
	wrapped := fmt.Errorf("more: %w", store.Permanent(base))
	if !store.IsPermanent(wrapped) || !errors.Is(wrapped, base) {
		t.Errorf("%v", wrapped)
	}
	if store.IsPermanent(base) || store.IsPermanent(nil) || store.Permanent(nil) != nil {
		t.Error("an error that was not marked is permanent")
	}
	if !store.IsPermanent(fmt.Errorf("key: %w", store.ErrNotFound)) {
		t.Error("ErrNotFound is not permanent")
	}
}
