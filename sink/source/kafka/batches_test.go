// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freehold-go/freehold/sink/source"
)

// TestUnreadable: a batch that cannot be read ends the source with an error that names the
// partition, and none of its records is handed out.
func TestUnreadable(t *testing.T) { bothPaths(t, testUnreadable) }

func testUnreadable(t *testing.T, by path) {
	damaged := makeBatch(t, 0, 20, 500, kgo.Lz4Compression(), 0)
	damaged[len(damaged)-300] ^= 1
	for want, batch := range map[string][]byte{
		"compressed in a way that is not known: number 5":                          makeBatch(t, 0, 20, 500, kgo.NoCompression(), 5),
		"the batch at offset 0 has more than 100000 bytes when it is decompressed": makeBatch(t, 0, 300, 500, kgo.ZstdCompression(), 0),
		"crc": damaged,
	} {
		c := cluster(t, 1, kfake.SyntheticFetch(kfake.SyntheticBatch{Batch: batch}))
		o := by.options(c)
		o.MaxBatchBytes = 100_000
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		h := newCollector(t)
		if err := s.Run(t.Context(), h); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "t partition 0") {
			t.Errorf("Run: %v, want %s", err, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if len(h.release) > 0 {
			t.Errorf("%s: a batch was handed out", want)
		}
	}
}

// TestCompacted: offsets that compaction has removed are no error. The next position is behind
// the last record.
func TestCompacted(t *testing.T) { bothPaths(t, testCompacted) }

func testCompacted(t *testing.T, by path) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.CreateTopic("t", 1, map[string]string{"cleanup.policy": "compact", "retention.ms": "-1"}); err != nil {
		t.Fatal(err)
	}
	var records []*kgo.Record
	for i := range 100 {
		records = append(records, &kgo.Record{Topic: "t", Key: fmt.Appendf(nil, "k%d", i%7), Value: []byte(strings.Repeat(string(rune('a'+i%7)), 500)), Timestamp: time.UnixMilli(int64(i))})
	}
	for len(records) > 0 { // Batches of 10. The last one is never compacted.
		produceAll(t, c, records[:10])
		records = records[10:]
	}
	c.Compact()
	h := offsets{newCollector(t), map[source.Partition][]string{}}
	_, stop := by.run(t, c, h, nil)
	p0 := source.Partition{Topic: "t"}
	h.until("all that is left", func() bool { return h.next[p0] == 100 })
	// The last record of each key before the last batch, at the offsets 83 to 89, and the last batch.
	if got, want := strings.Join(h.values[p0], ""), "gabcdef"+"gabcdefgab"; got != want {
		t.Errorf("records %s, want %s", got, want)
	}
	stop()
}
