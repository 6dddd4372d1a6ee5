// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"testing"

	"github.com/freehold-go/freehold/sink/compress"
	"github.com/freehold-go/freehold/sink/config"
	"github.com/freehold-go/freehold/sink/internal/orders"
	"github.com/freehold-go/freehold/sink/store"
	"github.com/freehold-go/freehold/sink/store/open"
)

// appendValue appends the value of record i of a partition: an order that says which it is.
func appendValue(dst []byte, g *orders.Generator, p, i int) []byte {
	dst = fmt.Appendf(dst, `{"id":"%d-%d","event":`, p, i)
	return append(g.AppendValue(dst, i*partitions+p), '}')
}

// identify reads which record a value is.
func identify(value []byte) (p, i int, ok bool) {
	_, rest, _ := bytes.Cut(value, []byte(`{"id":"`))
	id, _, _ := bytes.Cut(rest, []byte(`"`))
	first, second, ok := bytes.Cut(id, []byte("-"))
	p, err := strconv.Atoi(string(first))
	i, err2 := strconv.Atoi(string(second))
	return p, i, ok && err == nil && err2 == nil
}

// lines calls do with each line of the objects whose keys begin with prefix.
func lines(t *testing.T, conf config.Config, prefix string, do func(key string, line []byte)) {
	t.Helper()
	s, err := open.Open(t.Context(), conf.Store.URL, open.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	codec, err := compress.Parse(conf.Objects.Compression.Codec, 0)
	if err != nil {
		t.Fatal(err)
	}
	for info, err := range s.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		if err := object(t, s, codec, info.Key, do); err != nil {
			t.Errorf("%s: %v", info.Key, err)
		}
	}
}

// object reads one object.
func object(t *testing.T, s store.Store, codec compress.Codec, key string, do func(key string, line []byte)) error {
	content, info, err := s.Get(t.Context(), key)
	if err != nil {
		return err
	}
	defer content.Close()
	r, err := codec.NewReader(content)
	if err != nil {
		return err
	}
	defer r.Close()
	n := int64(0)
	for b := bufio.NewReaderSize(r, 64<<10); ; n++ {
		line, err := b.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			break
		}
		if err != nil {
			return err
		}
		do(key, line[:len(line)-1])
	}
	if !info.HasAbout || info.About.Records != n {
		return fmt.Errorf("%d records, but the store was told %d", n, info.About.Records)
	}
	return nil
}

// checkAll reads all objects: each record of the topic is in them exactly once, with its bytes.
func (s *suite) checkAll(t *testing.T, conf config.Config) {
	t.Helper()
	seen := make([][]uint8, partitions)
	for p := range seen {
		seen[p] = make([]uint8, s.each)
	}
	g, want, wrong := orders.New(seed), []byte(nil), 0
	fail := func(format string, args ...any) {
		if wrong++; wrong < 10 {
			t.Errorf(format, args...)
		}
	}
	lines(t, conf, "", func(key string, line []byte) {
		p, i, ok := identify(line)
		if !ok || p >= partitions || i >= s.each {
			fail("%s has the line %.100q", key, line)
			return
		}
		if want = appendValue(want[:0], g, p, i); !bytes.Equal(line, want) {
			fail("%s: record %d-%d is %.100q, want %.100q", key, p, i, line, want)
		}
		seen[p][i]++
	})
	lost, twice := 0, 0
	for p := range seen {
		for i, n := range seen[p] {
			switch {
			case n == 0:
				lost++
				fail("record %d-%d is lost", p, i)
			case n > 1:
				twice++
				fail("record %d-%d is stored %d times", p, i, n)
			}
		}
	}
	t.Logf("%d records: %d lost, %d stored twice", partitions*s.each, lost, twice)
}
