// SPDX-License-Identifier: Apache-2.0

package compress

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"
)

type counter struct{ n int }

func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	return len(p), nil
}

// BenchmarkMember compresses orders. It reports the time for an order of 1,525 bytes and how many times smaller they become.
func BenchmarkMember(b *testing.B) {
	text := lines(4 << 20)
	for _, k := range []struct {
		name   string
		levels []int
	}{{"gzip", []int{1, 2, 6}}, {"zstd", []int{1, 3, 7}}, {"snappy", []int{0}}, {"lz4", []int{1, 4}}, {"none", []int{0}}} {
		for _, level := range k.levels {
			for _, size := range []int{64 << 10, 256 << 10, DefaultMember, 1 << 20} {
				b.Run(fmt.Sprintf("%s%d/%dKiB", k.name, level, size>>10), func(b *testing.B) { benchmarkMember(b, k.name, level, size, text) })
			}
		}
	}
}

func benchmarkMember(b *testing.B, name string, level, size int, text []byte) {
	c, err := Parse(name, level)
	if err != nil {
		b.Fatal(err)
	}
	z, err := c.New(size)
	if err != nil {
		b.Fatal(err)
	}
	defer z.Free()
	var out counter
	in, from := 0, 0
	for b.Loop() {
		if err := z.Member(&out, text[from:from+size]); err != nil {
			b.Fatal(err)
		}
		in += size
		if from += size; from+size > len(text) {
			from = 0
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/(float64(in)/1525), "ns/order")
	b.ReportMetric(float64(in)/float64(out.n), "ratio")
}

// BenchmarkHeld reports the live heap of a compressor after members of 256 KiB. Buffers off the heap are a member's size on top for
// zstd, 64 KiB for snappy.
func BenchmarkHeld(b *testing.B) {
	text := lines(1 << 20)
	for _, c := range codecs(b) {
		b.Run(fmt.Sprint(c.Name, c.Level), func(b *testing.B) {
			const n = 16
			for b.Loop() {
				before := liveHeap()
				list := make([]*Compressor, n)
				for i := range list {
					list[i], _ = c.New(0)
					for from := 0; from < len(text)-256<<10; from += 256 << 10 {
						if err := list[i].Member(io.Discard, text[from:from+256<<10]); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(liveHeap()-before)/n/(1<<20), "MiB")
				for _, z := range list {
					z.Free()
				}
			}
		})
	}
}

func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Members of orders become so much smaller that the sink's bars hold. Gzip's are at most 2 % larger together than one stream.
func TestRatio(t *testing.T) {
	text := lines(4 << 20)
	for name, want := range map[string]float64{"gzip": 4.3, "zstd": 4.3} {
		c, _ := Parse(name, 0)
		size := func(member int) (n int) {
			z, out := open(t, c), new(bytes.Buffer)
			for from := 0; from < len(text); from += member {
				if err := z.Member(out, text[from:min(from+member, len(text))]); err != nil {
					t.Fatal(err)
				}
			}
			return out.Len()
		}
		members, whole := size(DefaultMember), size(len(text))
		if ratio := float64(len(text)) / float64(members); ratio < want || ratio > want+0.5 {
			t.Errorf("%s makes orders %.2f times smaller, want some %.1f", name, ratio, want+0.1)
		}
		t.Logf("%s: members are %.2f %% larger than one stream", name, 100*(float64(members)/float64(whole)-1))
		if name == "gzip" && members*100 > whole*102 {
			t.Errorf("members of gzip take %d bytes, one stream %d", members, whole)
		}
	}
}
