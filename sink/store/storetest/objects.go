// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/freehold-go/freehold/sink/store"
)

func putGetReplaceDelete(t *trial) {
	const key = "orders/3/0000001000.jsonl"
	t.absent(key)
	for i, content := range []string{"first\n", "a second one that is longer\n", "3\n"} {
		t.put(key, []byte(content), sample(i))
		t.want(key, []byte(content), sample(i))
	}
	t.put(key+".other", []byte("x"), sample(4))
	for range 2 { // the second time there is nothing to delete
		if err := t.s.Delete(t.ctx, key); err != nil {
			t.Errorf("Delete(%q): %v", key, err)
		}
		t.absent(key)
	}
	t.want(key+".other", []byte("x"), sample(4))
	if name := t.s.String(); name == "" || name != t.s.String() {
		t.Errorf("String() = %q, want the same name each time", name)
	}
}

func empty(t *trial) {
	t.put("empty", nil, sample(1))
	t.want("empty", nil, sample(1))
	t.put("empty", []byte("not any more"), sample(2))
	t.put("empty", nil, sample(3))
	t.want("empty", nil, sample(3))
}

// encoded checks that no HTTP client or server decompresses on the way.
func encoded(t *trial) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(bytes.Repeat([]byte("a line that repeats\n"), 1000))
	w.Close()
	for _, encoding := range []string{"gzip", "zstd", ""} {
		about := sample(1)
		about.ContentEncoding = encoding
		t.put("encoded/"+encoding+"x", b.Bytes(), about)
		t.want("encoded/"+encoding+"x", b.Bytes(), about)
	}
}

func about(t *trial) {
	group := func(g string) store.About {
		a := sample(7)
		a.Group = g
		return a
	}
	extreme := store.About{
		ContentType: "text/csv; charset=utf-8", Topic: strings.Repeat("t", 249), Partition: math.MaxInt32,
		FirstOffset: math.MaxInt64 - 1, LastOffset: math.MaxInt64, Records: math.MaxInt64, InputBytes: math.MaxInt64,
		EpochFirst: math.MinInt64, EpochNext: math.MaxInt64, Format: "parquet v1 zstd=1.5.7 level=3",
	}
	abouts := []store.About{
		{ContentType: "application/octet-stream"},
		extreme,
		group(""),
		group("country=Österreich/city=東京/😀"),
		group("a/b//c/../d%2Fe%zz=\"quoted\"; semi,comma\\back"),
		group(" leading and trailing "),
		group("line\nbreak\r\ttab\x00nul\x7f"),
		group("invalid \xff\xfe UTF-8"),
		group("%~looks like an escape"),
		group(strings.Repeat("long/", 150)),
		group(strings.Repeat("長い", 120)),
	}
	contents := map[string]int{}
	for i, a := range abouts {
		key := fmt.Sprintf("about/%02d", i)
		contents[key] = i
		t.put(key, []byte(key), a)
		t.want(key, []byte(key), a)
	}
	for info, err := range t.s.List(t.ctx, "about/") {
		if err != nil {
			t.Fatalf("List: %v", err)
		}
		t.wantInfo("List", info, info.Key, []byte(info.Key), abouts[contents[info.Key]])
	}
}

func list(t *trial) {
	if keys := t.keys(""); len(keys) != 0 {
		t.Errorf("a new store lists %q", keys)
	}
	keys := []string{"a-b/1", "a.b", "a/1", "a/1.x", "a/10", "a/2/c", "a/2/d", "a0", "ab/1", "b/ä", "b/z", "c=1/x"}
	shuffled := slices.Clone(keys)
	slices.Reverse(shuffled)
	for i, key := range shuffled {
		t.put(key, []byte(key), sample(i))
	}
	slices.Sort(keys)
	for _, prefix := range []string{"", "a", "a/", "a/1", "a/1.", "a/2", "a/2/", "a/2/c", "a/2/c/", "b/", "b/ä", "c=", "d", "a/2/cc"} {
		var want []string
		for _, key := range keys {
			if strings.HasPrefix(key, prefix) {
				want = append(want, key)
			}
		}
		if got := t.keys(prefix); !slices.Equal(got, want) {
			t.Errorf("List(%q) = %q, want %q", prefix, got, want)
		}
	}
	n := 0
	for _, err := range t.s.List(t.ctx, "a") {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 2 {
			break // a caller may stop
		}
	}
	if n != 2 {
		t.Errorf("%d objects, want 2", n)
	}
}

func many(t *trial) {
	want := make([]string, t.Many)
	for i := range want {
		want[i] = fmt.Sprintf("many/%d/%06d", i%3, i*7919%1_000_000)
	}
	t.beside(8, func(g int) error {
		for i := g; i < len(want); i += 8 {
			if err := t.s.Put(t.ctx, want[i], store.Bytes([]byte(want[i])), sample(i)); err != nil {
				return err
			}
		}
		return nil
	})
	abouts := map[string]store.About{}
	for i, key := range want {
		abouts[key] = sample(i)
	}
	slices.Sort(want)
	if got := t.keys("many/"); !slices.Equal(got, want) {
		t.Errorf("List has %d objects, want %d in order: %.200q", len(got), len(want), got)
	}
	for info, err := range t.s.List(t.ctx, "many/1/") {
		if err != nil {
			t.Fatal(err)
		}
		t.wantInfo("List", info, info.Key, []byte(info.Key), abouts[info.Key])
	}
	for _, key := range want[:10] {
		if err := t.s.Delete(t.ctx, key); err != nil {
			t.Fatal(err)
		}
	}
	if got := t.keys(""); !slices.Equal(got, want[10:]) {
		t.Errorf("List has %d objects after 10 were deleted, want %d", len(got), len(want)-10)
	}
}

// beside runs f in n goroutines and fails the test with their errors.
func (t *trial) beside(n int, f func(g int) error) {
	t.Helper()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for g := range n {
		wg.Go(func() { errs[g] = f(g) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func large(t *trial) {
	content := noise(t.Large, 1)
	t.put("large", content, sample(1))
	t.want("large", content, sample(1))

	r, _, err := t.s.Get(t.ctx, "large") // a reader may stop in the middle
	if err != nil {
		t.Fatal(err)
	}
	some := make([]byte, 1000)
	if _, err := io.ReadFull(r, some); err != nil || !bytes.Equal(some, content[:1000]) {
		t.Errorf("the first 1,000 bytes: %v", err)
	}
	r.Close()
}

func oddKeys(t *trial) {
	keys := []string{
		"a key with spaces", "plus+plus", "per%cent", "per%2Fcent", "per%zz", "quo\"te'", "back\\slash", "ques?tion", "ha#sh", "amp&ersand=1",
		"semi;colon", "col:on", "com,ma", "at@sign", "dol$lar", "star*", "pipe|", "less<greater>", "br[ack]et{s}", "til~de", "gr`ave^",
		"Ümläut/日本語/😀", "combining e\u0301", "...", "a/...b", "-dash", ".hidden", "a/.hidden", "~", "UPPER",
		"hour=2024-05-01T10:00:00+02:00/x", "versions", "uploads", "o/p", "acl", "x/acl", strings.Repeat("long/", 100) + "x",
	}
	for i, key := range keys {
		t.put(key, []byte(key), sample(i))
	}
	for i, key := range keys {
		t.want(key, []byte(key), sample(i))
		if got := t.keys(key); !slices.Contains(got, key) {
			t.Errorf("List(%q) = %q", key, got)
		}
	}
	slices.Sort(keys)
	if got := t.keys(""); !slices.Equal(got, keys) {
		t.Errorf("List(\"\") = %q\nwant %q", got, keys)
	}
	for _, key := range keys {
		if err := t.s.Delete(t.ctx, key); err != nil {
			t.Errorf("Delete(%q): %v", key, err)
		}
	}
	if got := t.keys(""); len(got) != 0 {
		t.Errorf("after all were deleted: %q", got)
	}
}

func badKeys(t *trial) {
	for _, key := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/..", "./a", "a/./b", "a\x00b", "a\nb", "a\rb", "a\x7f", "\xff",
		strings.Repeat("x", store.MaxKey+1),
	} {
		_, _, err := t.s.Get(t.ctx, key)
		for method, err := range map[string]error{
			"Put": t.s.Put(t.ctx, key, store.Bytes(nil), sample(1)), "Get": err, "Delete": t.s.Delete(t.ctx, key),
		} {
			if !errors.Is(err, store.ErrKey) || !store.IsPermanent(err) {
				t.Errorf("%s(%.40q): %v, want a permanent ErrKey", method, key, err)
			}
		}
	}
	if got := t.keys(""); len(got) != 0 {
		t.Errorf("objects %q", got)
	}
}
