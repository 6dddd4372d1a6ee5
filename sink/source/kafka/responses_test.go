// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/freehold-go/freehold/offheap"
)

// makeBatch makes a batch of n records, from an offset on, whose values have size bytes.
func makeBatch(t *testing.T, from int64, n, size int, codec kgo.CompressionCodec, attributes int16) []byte {
	t.Helper()
	var records []byte
	for i := range n {
		r := kbin.AppendVarint([]byte{0}, int32(i)) // attributes, time
		r = kbin.AppendVarint(r, int32(i))
		r = kbin.AppendVarintBytes(r, []byte("key"))
		r = kbin.AppendVarintBytes(r, sample(size, 1+i%7))
		r = kbin.AppendVarint(r, 1)
		r = kbin.AppendVarintString(r, "h")
		r = kbin.AppendVarintBytes(r, []byte("header"))
		records = append(kbin.AppendVarint(records, int32(len(r))), r...)
	}
	z, err := kgo.DefaultCompressor(codec)
	if err != nil {
		t.Fatal(err)
	}
	if z != nil {
		compressed, kind := z.Compress(new(bytes.Buffer), records)
		records, attributes = bytes.Clone(compressed), attributes|int16(kind)
	}
	b := kmsg.RecordBatch{
		FirstOffset: from, Length: int32(batchHeader - 12 + len(records)), Magic: 2, Attributes: attributes, LastOffsetDelta: int32(n - 1),
		FirstTimestamp: 1000, MaxTimestamp: 1000 + int64(n), ProducerID: 7, NumRecords: int32(n), Records: records,
	}
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[batchSum:], crc32.Checksum(raw[batchSummed:], castagnoli))
	return raw
}

// makeResponse makes a response with the batches of partitions, as it comes from a broker.
func makeResponse(version int16, partitions ...[]byte) []byte {
	resp := kmsg.NewPtrFetchResponse()
	resp.SetVersion(version)
	resp.SessionID = 5
	topic := kmsg.NewFetchResponseTopic()
	topic.Topic, topic.TopicID = "t", [16]byte{1, 2, 3}
	for i, batches := range partitions {
		p := kmsg.NewFetchResponseTopicPartition()
		p.Partition, p.HighWatermark, p.RecordBatches = int32(i), 1000, batches
		p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 9, FirstOffset: 3}}
		topic.Partitions = append(topic.Partitions, p)
	}
	resp.Topics = append(resp.Topics, topic)
	raw := []byte{0, 0, 0, 42} // the correlation id
	if resp.IsFlexible() {
		raw = append(raw, 1, 3, 2, 'x', 'y') // a tag
	}
	return resp.AppendTo(raw)
}

// parse is what the client makes of a response.
func parse(t *testing.T, version int16, raw []byte, d kgo.Decompressor, pool ...kgo.Pool) (partitions []kgo.FetchPartition, next []int64) {
	t.Helper()
	resp := kmsg.NewPtrFetchResponse()
	resp.SetVersion(version)
	body := kbin.Reader{Src: raw[4:]}
	if resp.IsFlexible() {
		kmsg.SkipTags(&body)
	}
	if err := resp.ReadFrom(body.Src); err != nil {
		t.Fatal(err)
	}
	for i := range resp.Topics[0].Partitions {
		p := &resp.Topics[0].Partitions[i]
		f, n := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Topic: "t", Partition: p.Partition, Offset: 2, Pools: pool}, p, d, nil)
		partitions, next = append(partitions, f), append(next, n)
	}
	return partitions, next
}

// over passes what a broker writes through a connection, whose client has asked for a fetch, and returns what the client reads.
func over(t *testing.T, rs *responses, version int16, written []byte) (*conn, []byte) {
	t.Helper()
	client, broker := net.Pipe()
	c := &conn{Conn: client, responses: rs, max: 100 << 20, versions: map[int32]int16{}}
	t.Cleanup(func() { c.Close() })
	go func() {
		io.ReadFull(broker, make([]byte, 12))
		broker.Write(written)
		broker.Close()
	}()
	request := binary.BigEndian.AppendUint32(nil, 8)
	request = binary.BigEndian.AppendUint16(request, uint16(kmsg.Fetch))
	request = binary.BigEndian.AppendUint16(request, uint16(version))
	request = binary.BigEndian.AppendUint32(request, 42)
	if _, err := c.Write(request); err != nil {
		t.Fatal(err)
	}
	read, err := io.ReadAll(c)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	return c, read
}

func framed(p []byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(p))), p...) }

func receivedInUse() int64 {
	for _, p := range offheap.ReadStats().Purposes {
		if p.Name == received().Name() {
			return p.InUse
		}
	}
	return 0
}

// TestNames: the client makes the same records of a response with names as of the response itself, in each version of the protocol and with each codec.
func TestNames(t *testing.T) {
	d, err := newDecompressor(fetched(), 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	for version := int16(4); version <= kmsg.NewPtrFetchRequest().MaxVersion(); version++ {
		for _, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
			cutOff := makeBatch(t, 35, 5, 1000, codec, 0)
			wrong := makeBatch(t, 0, 5, 1000, codec, 0)
			wrong[len(wrong)/2] ^= 1
			raw := makeResponse(version,
				bytes.Join([][]byte{makeBatch(t, 0, 10, 1000, codec, 0), makeBatch(t, 10, 1, 10, codec, 0), makeBatch(t, 20, 15, 100, codec, 0), cutOff[:len(cutOff)-1]}, nil),
				nil, wrong, []byte{}, cutOff[:20])
			c, read := over(t, d.responses, version, append(framed(raw), framed(raw)...))
			seen := read[4:][:binary.BigEndian.Uint32(read)]
			if second := read[4+len(seen):]; !bytes.Equal(second, framed(raw)) {
				t.Fatalf("version %d: a response that belongs to no fetch was changed", version)
			}
			if len(seen) > 2000 || receivedInUse() < int64(len(raw)) {
				t.Errorf("version %d: the client reads %d bytes, %d are off the Go heap", version, len(seen), receivedInUse())
			}
			want, wantNext := parse(t, version, raw, kgo.DefaultDecompressor())
			got, gotNext := parse(t, version, seen, d, d)
			if !reflect.DeepEqual(gotNext, wantNext) || len(got) != len(want) {
				t.Fatalf("version %d: the next offsets are %v, want %v", version, gotNext, wantNext)
			}
			for i := range got {
				if !same(got[i], want[i]) {
					t.Errorf("version %d, codec %v: partition %d is %+v, want %+v", version, codec, i, got[i], want[i])
				}
				for _, r := range got[i].Records {
					r.Recycle()
				}
			}
			c.Close()
		}
	}
	if a, b := inUse(), receivedInUse(); a != 0 || b != 0 {
		t.Errorf("%d and %d bytes are in use", a, b)
	}
}

// same compares partitions of a fetch. The checksums in an error are others.
func same(a, b kgo.FetchPartition) bool {
	if (a.Err == nil) != (b.Err == nil) || len(a.Records) != len(b.Records) || a.HighWatermark != b.HighWatermark {
		return false
	}
	for i, r := range a.Records {
		s := b.Records[i]
		if r.Offset != s.Offset || !r.Timestamp.Equal(s.Timestamp) || !bytes.Equal(r.Key, s.Key) || !bytes.Equal(r.Value, s.Value) || !reflect.DeepEqual(r.Headers, s.Headers) ||
			r.LeaderEpoch != s.LeaderEpoch || r.ProducerID != s.ProducerID || r.Attrs.IsControl() != s.Attrs.IsControl() {
			return false
		}
	}
	return true
}

// TestFreedResponse: a name whose response was freed is an error that has the client fetch again. A response is freed by the next request and by Close, but
// not while a batch of it is decompressed.
func TestFreedResponse(t *testing.T) {
	d, err := newDecompressor(fetched(), 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	raw := makeResponse(12, append(makeBatch(t, 0, 10, 1000, kgo.NoCompression(), 0), makeBatch(t, 10, 10, 1000, kgo.NoCompression(), 0)...))
	free := map[string]func(*conn){
		"close": func(c *conn) { c.Close() },
		"next":  func(c *conn) { c.hold(nil) },
	}
	for name, free := range free {
		c, read := over(t, d.responses, 12, framed(raw))
		b, err := d.responses.take(c.held.names(d.responses)[0])
		if b == nil || err != nil {
			t.Fatal(name, err)
		}
		free(c)
		if receivedInUse() == 0 {
			t.Errorf("%s: a response is freed while a batch of it is decompressed", name)
		}
		d.responses.done(b)
		if n := receivedInUse(); n != 0 {
			t.Errorf("%s: %d bytes are in use", name, n)
		}
		if got, next := parse(t, 12, read[4:], d, d); !kerr.IsRetriable(got[0].Err) || !retriable(got[0].Err) || next[0] != 2 {
			t.Errorf("%s: %v, next offset %d", name, got[0].Err, next[0])
		}
	}
	// What is read after Close is freed, too.
	c, _ := over(t, d.responses, 12, nil)
	c.Close()
	block := offheap.AllocUninit(len(raw))
	copy(block, raw)
	r, _, err := d.responses.name(block, 12)
	if err != nil {
		t.Fatal(err)
	}
	c.hold(r)
	if r.block != nil {
		t.Error("a response that came after Close is not freed")
	}
}

// names are the names of a response.
func (r *response) names(rs *responses) (names [][]byte) {
	for i := range r.batches {
		names = append(names, rs.appendName(nil, r, i))
	}
	return names
}

// TestUntouched: what a connection does not understand, it passes on as it is.
func TestUntouched(t *testing.T) {
	rs := newResponses()
	r := rand.New(rand.NewPCG(1, 2))
	raw := makeResponse(11, makeBatch(t, 0, 10, 1000, kgo.Lz4Compression(), 0))
	small := makeResponse(11, makeBatch(t, 0, 1, 10, kgo.NoCompression(), 0))
	marker := makeResponse(11, makeBatch(t, 0, 1, 1000, kgo.NoCompression(), batchControl))
	legacy := makeBatch(t, 0, 10, 1000, kgo.NoCompression(), 0)
	legacy[batchMagic] = 1
	for name, written := range map[string][]byte{
		"small": framed(small), "marker": framed(marker), "legacy": framed(makeResponse(11, legacy)),
		"damaged": framed(raw[:len(raw)-5]), "negative": {0xff, 0xff, 0xff, 0xf0}, "empty": {0, 0, 0, 0}, "short": {0, 0, 0, 2, 'a', 'b'}, "HTTP": []byte("HTTP/1.1 400 Bad Request"),
	} {
		if _, read := over(t, rs, 11, written); !bytes.Equal(read, written) {
			t.Errorf("%s: the client reads %d bytes of %d", name, len(read), len(written))
		}
	}
	for range 2000 {
		bad := bytes.Clone(raw)
		for range 1 + r.IntN(4) {
			bad[4+r.IntN(len(bad)-4)] ^= byte(1 + r.IntN(255))
		}
		block := offheap.AllocUninit(len(bad))
		copy(block, bad)
		if got, _, _ := rs.name(block, 11); got == nil {
			offheap.Free(block)
		} else {
			rs.drop(got)
		}
	}
	if n := receivedInUse(); n != 0 || len(rs.live) != 0 {
		t.Errorf("%d bytes are in use, %d responses", n, len(rs.live))
	}
}

// TestNamesInTheWild: bytes that look like a name, and are not of this process, are a batch like any other.
func TestNamesInTheWild(t *testing.T) {
	d, err := newDecompressor(fetched(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := d.responses.take(make([]byte, nameLength)); b != nil || err != nil {
		t.Error("a text of zeros is a name:", err)
	}
	if b, err := d.responses.take(d.responses.appendName(nil, &response{number: 99}, 0)); b != nil || !kerr.IsRetriable(err) {
		t.Error("a name that nothing has:", err)
	}
}
