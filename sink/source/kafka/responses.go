// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/freehold-go/freehold/offheap"
)

// Responses outside the Go heap.
//
// The client reads each response into a new slice on the Go heap, and no option changes that. Responses to fetch requests are most of what a
// sink would allocate. So its connections read these responses themselves:
//
//  1. A connection notes the correlation id and the version of each fetch request that the client writes.
//  2. It reads the response to it into a block outside the Go heap.
//  3. It hands the client the same response, in which each large batch of records has its own header, and a name in place of the records. The
//     header says that the batch is compressed, so the client has the name decompressed.
//  4. The decompressor finds the batch by its name, and decompresses it to another block.
//  5. When all batches are decompressed, the block of the response is freed. If the client leaves some out, it is freed when the client writes the next
//     fetch request to the connection, because the client is done with a response before it asks for the next, or closes the connection.
//
// All else is the client's work as before: TLS and SASL, leaders and their epochs, sessions, throttling, transactions, offsets.
//
// A name of a batch whose block is freed is an error that has the client fetch again. So the client may do something that step 5 does not expect, and no
// record is lost or damaged by it.

const (
	batchHeader     = 61 // bytes of a batch before its records
	batchLength     = 8  // where in it the number of bytes behind the number stands
	batchMagic      = 16
	batchSum        = 17
	batchSummed     = 21 // where the bytes begin that the checksum is of
	batchAttributes = 22 // the lower byte
	batchCodec      = 7  // bits of the attributes
	batchControl    = 1 << 5

	smallestNamed = 512 // bytes of records that are worth a name
	nameKey       = 16
	nameLength    = nameKey + 8 + 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// responses are the responses outside the Go heap that have names. Its methods may be called by several goroutines at once.
type responses struct {
	purpose *offheap.Purpose
	key     [nameKey]byte // begins each name, and nothing that a broker sends
	large   turn

	mu   sync.Mutex
	last uint64
	live map[uint64]*response
}

// response is a block with a response. Its fields below batches are guarded by responses.mu.
type response struct {
	block   []byte
	number  uint64
	batches []batch
	left    int // batches that are not taken
	refs    int // one for being live, and one for each batch that is being decompressed
}

// batch is the records of a batch in a response.
type batch struct {
	response *response
	data     []byte
	codec    kgo.CompressionCodecType
	taken    bool
}

// received is the account of responses.
var received = sync.OnceValue(func() *offheap.Purpose { return offheap.NewPurpose("sink/received") })

func newResponses() *responses {
	rs := &responses{purpose: received(), large: newTurn(), live: map[uint64]*response{}}
	rand.Read(rs.key[:])
	return rs
}

// appendName appends the name of a batch: the key, the number of the response and that of the batch in it.
func (rs *responses) appendName(to []byte, r *response, i int) []byte {
	to = append(to, rs.key[:]...)
	to = binary.BigEndian.AppendUint64(to, r.number)
	return binary.BigEndian.AppendUint32(to, uint32(i))
}

// take returns the batch that a name stands for, which done gives back. It is nil if the text is no name.
func (rs *responses) take(text []byte) (*batch, error) {
	if len(text) != nameLength || [nameKey]byte(text) != rs.key {
		return nil, nil
	}
	number, i := binary.BigEndian.Uint64(text[nameKey:]), int(binary.BigEndian.Uint32(text[nameKey+8:]))
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := rs.live[number]
	if r == nil || r.batches[i].taken {
		return nil, fmt.Errorf("the response was freed: %w", kerr.CorruptMessage) // The client fetches again.
	}
	r.batches[i].taken = true
	r.refs++
	if r.left--; r.left == 0 {
		rs.forget(r)
	}
	return &r.batches[i], nil
}

// done says that a batch is decompressed.
func (rs *responses) done(b *batch) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.unref(b.response)
}

// drop forgets the names of a response. Its block is freed when no batch of it is being decompressed.
func (rs *responses) drop(r *response) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.forget(r)
}

func (rs *responses) forget(r *response) {
	if rs.live[r.number] == r {
		delete(rs.live, r.number)
		rs.unref(r)
	}
}

func (rs *responses) unref(r *response) {
	if r.refs--; r.refs == 0 {
		free(r.block)
		r.block = nil
	}
}

// name gives names to the batches of a response that lies in a block. It returns the response as the client is to see it. If there is nothing to
// name, the response is nil. Otherwise it owns the block.
func (rs *responses) name(block []byte, version int16) (r *response, seen []byte, err error) {
	resp := kmsg.NewPtrFetchResponse()
	resp.SetVersion(version)
	body := kbin.Reader{Src: block[4:]} // behind the correlation id
	if resp.IsFlexible() {
		kmsg.SkipTags(&body)
	}
	if !body.Ok() {
		return nil, nil, kbin.ErrNotEnoughData
	}
	head := len(block) - len(body.Src)
	if err := resp.ReadFrom(body.Src); err != nil {
		return nil, nil, err
	}
	rs.mu.Lock()
	rs.last++
	r = &response{block: block, number: rs.last, refs: 1}
	rs.mu.Unlock()
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			p := &resp.Topics[i].Partitions[j]
			p.RecordBatches = rs.nameBatches(r, p.RecordBatches)
		}
	}
	if r.left = len(r.batches); r.left == 0 {
		return nil, nil, nil
	}
	seen = append(make([]byte, 4, 1<<10), block[:head]...)
	seen = resp.AppendTo(seen)
	binary.BigEndian.PutUint32(seen, uint32(len(seen)-4))
	rs.mu.Lock()
	rs.live[r.number] = r
	rs.mu.Unlock()
	return r, seen, nil
}

// nameBatches returns the batches of a partition with names in place of their records. Small batches and those of markers stay as they are.
func (rs *responses) nameBatches(r *response, src []byte) []byte {
	if len(src) == 0 {
		return src // nil and empty are different.
	}
	to := []byte{}
	for len(src) >= batchHeader {
		n := int64(int32(binary.BigEndian.Uint32(src[batchLength:]))) + batchLength + 4
		if n < batchHeader || n > int64(len(src)) || src[batchMagic] != 2 {
			break
		}
		whole := src[:n]
		src = src[n:]
		attributes := whole[batchAttributes]
		if attributes&batchControl != 0 || n-batchHeader < smallestNamed {
			to = append(to, whole...)
			continue
		}
		at := len(to)
		to = rs.appendName(append(to, whole[:batchHeader]...), r, len(r.batches))
		r.batches = append(r.batches, batch{response: r, data: whole[batchHeader:], codec: kgo.CompressionCodecType(attributes & batchCodec)})
		named := to[at:]
		binary.BigEndian.PutUint32(named[batchLength:], batchHeader+nameLength-batchLength-4)
		if attributes&batchCodec == 0 {
			named[batchAttributes] |= byte(kgo.CodecZstd) // Any codec will do.
		}
		// The checksum is wrong if it was wrong before, and the client reports it.
		difference := binary.BigEndian.Uint32(whole[batchSum:]) ^ crc32.Checksum(whole[batchSummed:], castagnoli)
		binary.BigEndian.PutUint32(named[batchSum:], crc32.Checksum(named[batchSummed:], castagnoli)^difference)
	}
	// What is left is a batch that the response cuts off, which the client leaves out, or it is of a format before version 2.
	if len(src) > batchMagic && src[batchMagic] != 2 {
		to = append(to, src...)
	}
	return to
}

// conn is a connection to a broker. As with any net.Conn, one goroutine may read while another one writes and a third one closes.
type conn struct {
	net.Conn
	responses *responses
	max       int // bytes of a response; the client refuses larger ones

	mu       sync.Mutex
	versions map[int32]int16 // of fetch requests that are not answered, by correlation id
	held     *response       // the last one
	closed   bool

	// Of the goroutine that reads alone.
	head [8]byte
	next []byte // what the client reads next
	rest int    // bytes of the response that follow from the connection itself
}

// dialer returns what the client dials brokers by.
func (rs *responses) dialer(config *tls.Config, max int) func(ctx context.Context, network, address string) (net.Conn, error) {
	d := &net.Dialer{Timeout: 10 * time.Second}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		var c net.Conn
		var err error
		if config == nil {
			c, err = d.DialContext(ctx, network, address)
		} else {
			c, err = (&tls.Dialer{NetDialer: d, Config: config}).DialContext(ctx, network, address)
		}
		if err != nil {
			return nil, err
		}
		return &conn{Conn: c, responses: rs, max: max, versions: map[int32]int16{}}, nil
	}
}

// Write writes a request. The client writes each request by one call.
func (c *conn) Write(p []byte) (int, error) {
	const key, version, correlation, end = 4, 6, 8, 12
	if len(p) >= end && kmsg.Key(binary.BigEndian.Uint16(p[key:])) == kmsg.Fetch {
		c.mu.Lock()
		c.versions[int32(binary.BigEndian.Uint32(p[correlation:]))] = int16(binary.BigEndian.Uint16(p[version:]))
		c.mu.Unlock()
		c.hold(nil)
	}
	return c.Conn.Write(p)
}

// hold keeps a response, and gives up the one before it.
func (c *conn) hold(r *response) {
	c.mu.Lock()
	if c.closed && r != nil {
		c.held, r = r, nil
	}
	before := c.held
	c.held = r
	c.mu.Unlock()
	if before != nil {
		c.responses.drop(before)
	}
}

// Close closes the connection. The client may still be decompressing a batch.
func (c *conn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.hold(nil)
	return c.Conn.Close()
}

// Read reads responses.
func (c *conn) Read(p []byte) (int, error) {
	if len(c.next) == 0 && c.rest == 0 {
		if err := c.begin(); err != nil {
			return 0, err
		}
	}
	if len(c.next) > 0 {
		n := copy(p, c.next)
		c.next = c.next[n:]
		return n, nil
	}
	n, err := c.Conn.Read(p[:min(len(p), c.rest)])
	c.rest -= n
	return n, err
}

// begin reads the size and the correlation id of a response, and all of it if it is to lie outside the Go heap.
func (c *conn) begin() error {
	if _, err := io.ReadFull(c.Conn, c.head[:4]); err != nil {
		return err
	}
	size := int(int32(binary.BigEndian.Uint32(c.head[:])))
	c.next, c.rest = c.head[:4], max(size, 0)
	if size < 4 || size > c.max {
		return nil // The client knows what it makes of it.
	}
	if _, err := io.ReadFull(c.Conn, c.head[4:]); err != nil {
		return err
	}
	c.next = c.head[:]
	c.rest -= 4
	id := int32(binary.BigEndian.Uint32(c.head[4:]))
	c.mu.Lock()
	version, ok := c.versions[id]
	delete(c.versions, id)
	c.mu.Unlock()
	if !ok {
		return nil
	}
	if size >= largeBatch {
		c.responses.large.wait()
	}
	block, err := c.responses.purpose.TryAllocUninit(size)
	if err != nil {
		return nil // The Go heap takes it.
	}
	if _, err := io.ReadFull(c.Conn, block[copy(block, c.head[4:]):]); err != nil {
		offheap.Free(block)
		return err
	}
	c.rest = 0
	r, seen, _ := c.responses.name(block, version)
	if r == nil {
		// Nothing in it is large, or it is damaged, which the client reports.
		c.next = append(c.next[:4:4], block...)
		offheap.Free(block)
		return nil
	}
	c.next = seen
	c.hold(r)
	return nil
}
