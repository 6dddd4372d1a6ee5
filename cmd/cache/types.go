// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"hash/maphash"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freehold-go/freehold/cache"
)

// A server answers clients from a cache.
type server struct {
	o            Options
	cache        *cache.Cache
	listener     net.Listener
	start        time.Time
	wall         int64 // Milliseconds of Unix time at start.
	cas          atomic.Uint64
	seed         maphash.Seed
	locks        [256]keyLock
	counts       totals
	evicted      atomic.Int64 // Evictions before the last stats reset.
	prefixes     prefixes
	writeTimeout time.Duration // A client that reads nothing for so long is dropped.

	stopping  atomic.Bool
	stopAsked chan struct{}
	open      atomic.Int64
	wait      sync.WaitGroup
	mu        sync.Mutex
	conns     map[net.Conn]int64 // Their numbers.
	latest    int64
	flushing  *time.Timer
}

// A keyLock is the lock of the keys of one hash, on a cache line of its own.
type keyLock struct {
	sync.Mutex
	_ [56]byte
}

// A conn is a connection of a client.
type conn struct {
	s  *server
	nc net.Conn

	in     []byte // What was read; from r to w it is not carried out yet.
	r, w   int
	looked int // Bytes from r on in which no line ends.
	skip   int // Bytes of a value to drop.
	out    []byte
	ended  bool
	timed  bool // Reads have a deadline.

	tokens  [][]byte
	noreply bool
	old     []byte        // An item that was read.
	item    []byte        // An item that is written.
	decoded [mostKey]byte // A key that was in base64.
	number  [32]byte
	counts  counters
	batch   batch
}

const (
	leastBuffer = 4 << 10
	keptBuffer  = 256 << 10 // Larger buffers are dropped when the client is calm.
	calm        = time.Second
	mostOut     = 64 << 10 // Bytes of answers that are written at once, at least.
	mostLine    = 2048     // Bytes of a line, as in memcached,
	mostGetLine = 1 << 20  // but of get and gets.
)

// A batch is a run of gets.
type batch struct {
	wants []want
	keys  [][]byte // Of the wants. They lie in the connection's buffer.
	hit   func(i int, value []byte)
	used  []int // The wants whose items need a note of their use.
	from  int   // The want that GetMany began with.
	next  int   // The first want without an answer.
	stop  bool  // GetMany goes on to no purpose: what is due must not be done in its callback.
	now   int64
}

// A want is a key that a client asks for.
type want struct {
	kind  uint8
	last  bool // The last key of its command.
	value bool // Of mg: the flags v, q and u.
	quiet bool
	noUse bool
	flags []byte // Of mg.
}

// The kinds of a want.
const (
	wantGet = iota
	wantGets
	wantMeta
)
