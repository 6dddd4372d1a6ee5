// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// testOptions are those of a small server.
func testOptions(log io.Writer) Options {
	return Options{Listen: "127.0.0.1:0", Memory: 16 << 20, MaxItem: 1 << 20, MaxConns: 100, Version: "test", Log: log}
}

func newTestServer(t testing.TB, o Options) *server {
	s, err := newServer(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// A script is a connection whose client has said everything already.
type script struct {
	net.Conn
	io.Reader
	answers bytes.Buffer
}

func (s *script) Read(b []byte) (int, error)       { return s.Reader.Read(b) }
func (s *script) Write(b []byte) (int, error)      { return s.answers.Write(b) }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }

// talk is what a client gets that sends requests.
func talk(s *server, requests io.Reader) string {
	sc := &script{Reader: requests}
	c := newConn(s, sc)
	c.serve()
	if c.ended {
		sc.answers.WriteString("<closed>")
	}
	return sc.answers.String()
}

// A testClock stands still until it is moved.
type testClock struct{ t time.Time }

func (c *testClock) now() time.Time { return c.t }

const key250 = "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk" +
	"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"

// exchanges are requests and the exact answers; \n stands for \r\n in both. Each is a client of an empty
// server whose cas numbers begin with 1.
var exchanges = []struct{ name, requests, answers string }{
	// Storage and retrieval.
	{"set get", "set a 7 0 3\nabc\nget a b\n", "STORED\nVALUE a 7 3\nabc\nEND\n"},
	{"gets", "set a 0 0 1\nx\nset b 1 0 0\n\ngets a b c\n", "STORED\nSTORED\nVALUE a 0 1 1\nx\nVALUE b 1 0 2\n\nEND\n"},
	{"pipelined gets", "set a 0 0 1\nx\nget a\nget b\nget a a\nget b b\n", "STORED\nVALUE a 0 1\nx\nEND\nEND\nVALUE a 0 1\nx\nVALUE a 0 1\nx\nEND\nEND\n"},
	{"gets between changes", "get a\nset a 0 0 1\nx\nget a\ndelete a\nget a\n", "END\nSTORED\nVALUE a 0 1\nx\nEND\nDELETED\nEND\n"},
	{"add replace", "add a 0 0 1\nx\nadd a 0 0 1\ny\nreplace a 2 0 1\nz\nreplace b 0 0 1\ny\nget a\n", "STORED\nNOT_STORED\nSTORED\nNOT_STORED\nVALUE a 2 1\nz\nEND\n"},
	{"append prepend", "append a 0 0 1\nx\nset a 3 0 2\nbc\nappend a 9 0 1\nd\nprepend a 9 0 1\na\nget a\n", "NOT_STORED\nSTORED\nSTORED\nSTORED\nVALUE a 3 4\nabcd\nEND\n"},
	{"cas", "cas a 0 0 1 1\nx\nset a 0 0 1\nx\ncas a 0 0 1 9\ny\ncas a 0 0 1 1\ny\ncas a 0 0 1 1\nz\ngets a\n", "NOT_FOUND\nSTORED\nEXISTS\nSTORED\nEXISTS\nVALUE a 0 1 2\ny\nEND\n"},
	{"delete", "set a 0 0 1\nx\ndelete a\ndelete a\ndelete a 0\ndelete a 5\n", "STORED\nDELETED\nNOT_FOUND\nNOT_FOUND\nCLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\n"},
	{"noreply", "set a 0 0 1 noreply\nx\nadd a 0 0 1 noreply\nx\nincr a 1 noreply\ntouch a 0 noreply\ndelete a noreply\nflush_all noreply\nverbosity 1 noreply\nget a\n", "END\n"},
	{"key of 250 bytes", "set " + key250 + " 0 0 1\nx\nget " + key250 + "\n", "STORED\nVALUE " + key250 + " 0 1\nx\nEND\n"},
	{"data with line ends", "set a 0 0 6\nx\n\ny\nget a\n", "STORED\nVALUE a 0 6\nx\n\ny\nEND\n"},
	{"line feed alone", "set a 0 0 1\nx\nget a\n\x00", "STORED\nVALUE a 0 1\nx\nEND\n"},

	// Arithmetic.
	{"incr decr", "set n 0 0 2\n10\ndecr n 1\nget n\nincr n 1\ndecr n 100\nincr n 18446744073709551615\nincr n 2\n", "STORED\n9\nVALUE n 0 2\n9 \nEND\n10\n0\n18446744073709551615\n1\n"},
	{"incr errors", "incr n 1\nset n 0 0 1\nx\nincr n 1\nincr n x\nincr n -1\nincr n\nset n 0 0 0\n\nincr n 1\n", "NOT_FOUND\nSTORED\nCLIENT_ERROR cannot increment or decrement non-numeric value\nCLIENT_ERROR invalid numeric delta argument\nCLIENT_ERROR invalid numeric delta argument\nCLIENT_ERROR bad command line format\nSTORED\nCLIENT_ERROR cannot increment or decrement non-numeric value\n"},
	{"incr before a space", "set n 0 0 3\n5 x\nincr n 1\nset n 0 0 21\n184467440737095516150\nincr n 1\n", "STORED\n6\nSTORED\nCLIENT_ERROR cannot increment or decrement non-numeric value\n"},
	{"incr changes cas and keeps flags", "set n 5 0 1\n1\nincr n 1\ngets n\n", "STORED\n2\nVALUE n 5 1 2\n2\nEND\n"},

	// Expiry at once, touch and gat.
	{"negative exptime", "set a 0 0 1\nx\nset a 0 -1 1\ny\nget a\nset b 0 2592001 1\nx\nget b\n", "STORED\nSTORED\nEND\nSTORED\nEND\n"},
	{"touch", "touch a 0\nset a 0 0 1\nx\ntouch a 10\ntouch a x\ntouch a\nmg a t\ntouch a -1\nget a\n", "NOT_FOUND\nSTORED\nTOUCHED\nCLIENT_ERROR invalid exptime argument\nCLIENT_ERROR bad command line format\nHD t10\nTOUCHED\nEND\n"},
	{"gat", "set a 0 0 1\nx\ngat 10 a b\nmg a t\ngats 0 a\nmg a t\ngat x a\ngat 0\n", "STORED\nVALUE a 0 1\nx\nEND\nHD t10\nVALUE a 0 1 1\nx\nEND\nHD t-1\nCLIENT_ERROR invalid exptime argument\nCLIENT_ERROR bad command line format\n"},

	// Errors.
	{"unknown", "bogus\nbogus a b\n  get a\n", "ERROR\nERROR\nERROR\n"},
	{"missing words", "get\ngets \nset\nset a 0 0\ncas a 0 0 1\nx\ndelete\ntouch\nincr\nmg\nms\nms a\nmd\nma\nme\n", strings.Repeat("CLIENT_ERROR bad command line format\n", 14)},
	{"wrong numbers", "set a x 0 1\nx\nset a 0 x 1\nx\nset a -1 0 1\nx\nset a 4294967296 0 1\nx\ncas a 0 0 1 x\nx\nset a 0 0 -1\nset a 0 0 x\nset a 0 0 2147483646\nget a\n", strings.Repeat("CLIENT_ERROR bad command line format\n", 8) + "END\n"},
	{"long keys", "set k" + key250 + " 0 0 1\nx\nget k" + key250 + "\nget a k" + key250 + "\ndelete k" + key250 + "\nms k" + key250 + " 1\nx\nmg k" + key250 + " v\ntouch k" + key250 + " 0\ngat 0 k" + key250 + "\n", strings.Repeat("CLIENT_ERROR bad command line format\n", 8)},
	{"bad data chunk", "set a 0 0 3\nabcdef\nversion\n", "CLIENT_ERROR bad data chunk\nERROR\nVERSION test\n"},
	{"too large", "set a 0 0 1\nx\nset a 0 0 1048576\n" + strings.Repeat("x", 1<<20) + "\nget a\nadd a 0 0 1048576 noreply\n" + strings.Repeat("x", 1<<20) + "\nms a 1048576\n" + strings.Repeat("x", 1<<20) + "\nget a\n", "STORED\nSERVER_ERROR object too large for cache\nEND\nSERVER_ERROR object too large for cache\nEND\n"},
	{"append above the limit", "set a 0 0 600000\n" + strings.Repeat("x", 600000) + "\nappend a 0 0 600000\n" + strings.Repeat("x", 600000) + "\nms a 600000 MA\n" + strings.Repeat("x", 600000) + "\nmg a s\n", "STORED\nNOT_STORED\nNS\nHD s600000\n"},
	{"binary protocol", "version\n\x80\x00\x00\x03", "VERSION test\n<closed>"},
	{"web page", "POST / HTTP/1.1\nset a 0 0 1\nx\n", "<closed>"},
	{"long line", "get a\n" + strings.Repeat("x", 3000), "END\n<closed>"},
	{"long line of a get", "set a 0 0 1\nx\nget" + strings.Repeat(" a", 2000) + "\n", "STORED\n" + strings.Repeat("VALUE a 0 1\nx\n", 2000) + "END\n"},

	// Others.
	{"version verbosity", "version\nversion noreply\nverbosity\nverbosity 1\nverbosity x\n", "VERSION test\nVERSION test\nERROR\nOK\nCLIENT_ERROR bad command line format\n"},
	{"quit", "get a\nquit\nget a\n", "END\n<closed>"},
	{"flush_all", "set a 0 0 1\nx\nflush_all\nget a\nset a 0 0 1\nx\nget a\nflush_all x\nflush_all 0\nget a\nset a 0 0 1\nx\nflush_all -1\nget a\nflush_all 10\n", "STORED\nOK\nEND\nSTORED\nVALUE a 0 1\nx\nEND\nCLIENT_ERROR invalid exptime argument\nOK\nEND\nSTORED\nOK\nEND\nOK\n"},
	{"shutdown refused", "shutdown\n", "ERROR: shutdown not enabled\n"},
	{"cache_memlimit", "cache_memlimit\ncache_memlimit x\ncache_memlimit 4\ncache_memlimit 8\ncache_memlimit 32\n", "ERROR\nERROR\nMEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\nOK\nOK\n"},
	{"stats errors", "stats x\nstats reset\nstats cachedump 1\nstats cachedump x 1\nstats cachedump 64 1\nstats cachedump 2 1\nstats detail\nstats items\nstats sizes\n", "ERROR\nRESET\nCLIENT_ERROR bad command line\nCLIENT_ERROR bad command line format\nCLIENT_ERROR Illegal slab id\nEND\nCLIENT_ERROR usage: stats detail on|off|dump\nEND\nSTAT sizes_status disabled\nEND\n"},
	{"stats cachedump", "stats cachedump 1 0\nset a 0 0 3\nabc\nstats cachedump 1 0\nset b 0 0 3\nabc\ndelete a\nstats cachedump 1 1\n", "END\nSTORED\nITEM a [3 b; 0 s]\nEND\nSTORED\nDELETED\nITEM b [3 b; 0 s]\nEND\n"},
	{"stats detail", "stats detail on\nset p:a 0 0 1\nx\nget p:a p:b\nget q\ndelete p:a\nstats detail off\nget p:a\nstats detail dump\nstats reset\nstats detail dump\n", "OK\nSTORED\nVALUE p:a 0 1\nx\nEND\nEND\nDELETED\nOK\nEND\nPREFIX  get 1 hit 0 set 0 del 0\nPREFIX p get 2 hit 1 set 1 del 1\nEND\nRESET\nEND\n"},

	// Meta.
	{"mn", "mn\nmn noreply\n", "MN\nMN\n"},
	{"mg", "ms a 3 F5 T100\nabc\nmg a\nmg a v\nmg a s v k f t c Oq u\nmg b\nmg b v k Oq\nmg b q\nmg b q k Oq\nmn\n", "HD\nHD\nVA 3\nabc\nVA 3 s3 ka f5 t100 c1 Oq\nabc\nEN\nEN kb Oq\nMN\n"},
	{"mg order of misses", "ms a 1\nx\nmg m1\nmg a v\nmg m2 q\nmg m3 k\nget a\nget m4\nmg a k\n", "HD\nEN\nVA 1\nx\nEN km3\nVALUE a 0 1\nx\nEND\nEND\nHD ka\n"},
	{"mg flags", "mg a m\nmg a k k\nmg a Tx\nmg a N\nmg a R\nmg a Oooooooooooooooooooooooooooooooooo\nmg a v" + strings.Repeat(" P", 20) + "\nmg a P1 L2\n", "CLIENT_ERROR invalid flag\nCLIENT_ERROR duplicate flag\nCLIENT_ERROR bad token in command line format\nCLIENT_ERROR bad token in command line format\nCLIENT_ERROR bad token in command line format\nCLIENT_ERROR opaque token too long\nCLIENT_ERROR options flags are too long\nEN\n"},
	{"mg C", "ms a 1\nx\nmg a v C1\nmg a v C2\n", "HD\nHD\nVA 1\nx\n"},
	{"mg T", "ms a 1 T10\nx\nmg a t T20 \nmg a T30 t\nmg a t\nmg a T-1\nmg a\n", "HD\nHD t10\nHD t30\nHD t30\nHD\nEN\n"},
	{"mg h l u", "ms a 1\nx\nmg a u\nmg a h u\nmg a h l\nmg a h\nget a\nms b 1\nx\nget b\nmg b h\n", "HD\nHD\nHD h0\nHD h0 l0\nHD h1\nVALUE a 0 1\nx\nEND\nHD\nVALUE b 0 1\nx\nEND\nHD h1\n"},
	{"mg vivify", "mg a N30 t v\nmg a N30 t v\nms a 1 T20\nx\nmg a v N30\nmg b N0 E77 c k\nmg b c\n", "VA 0 t30 W\n\nVA 0 t30 Z\n\nHD\nVA 1\nx\nHD c77 kb W\nHD c77 Z\n"},
	{"mg recache", "ms a 1 T30\nx\nmg a R30\nmg a R31 v\nmg a R31\nmg a v\nms b 1\nx\nmg b R30\n", "HD\nHD\nVA 1 W\nx\nHD Z\nVA 1 Z\nx\nHD\nHD\n"},
	{"base64", "ms Zm9v 1 b k\nx\nget foo\nmg Zm9v b k v\nmg foo k\nmg YWJj b k\nmg a b\nme Zm9v b\nmd Zm9v b k\n", "HD kZm9v b\nVALUE foo 0 1\nx\nEND\nVA 1 kZm9v b\nx\nHD kZm9v b\nEN kYWJj b\nCLIENT_ERROR error decoding key\nME Zm9v exp=-1 la=0 cas=1 fetch=yes cls=1 size=28\nHD kZm9v b\n"},
	{"ms", "ms a 1 k Oq s c b\nx\nms a 2 k Oq s c\nxy\nms a 1 q\nx\nms a 1 q ME\nx\nms a x\nms a -1\nms a 1 MZ\nx\nms a 1 Fx\nx\nms a 1\nxyz\n", "CLIENT_ERROR error decoding key\nHD ka Oq s2 c1\nNS\nCLIENT_ERROR bad command line format\nCLIENT_ERROR bad command line format\nCLIENT_ERROR invalid mode for ms M token\nCLIENT_ERROR bad command line format\nCLIENT_ERROR bad data chunk\nERROR\n"},
	{"ms modes", "ms a 1 MR\nx\nms a 1 MA\nx\nms a 1 ME\nx\nms a 1 ME\nx\nms a 2 MA s\nyz\nms a 1 MP s\nw\nmg a v\nms a 1 MR\nx\nms a 1 MS\nx\nms b 1 MA N30 s\nx\nmg b t\n", "NS\nNS\nHD\nNS\nHD s3\nHD s4\nVA 4\nwxyz\nHD\nHD\nHD s1\nHD t30\n"},
	{"ms cas", "ms a 1 C1\nx\nms a 1\nx\nms a 1 C9 c k\nx\nms a 1 C1 c\ny\nms a 1 C2 E100 c\nz\nms a 1 C5 MA\nx\nms a 1 C100 MA\nx\nms a 1 C0\nx\nms a 1 C0 MA\nx\nmg a v\n", "NF\nHD\nEX c0 ka\nHD c2\nHD c100\nEX\nHD\nEX\nHD\nVA 3\nzxx\n"},
	{"md", "md a\nmd a q\nms a 1\nx\nmd a C9\nmd a C1 k Oq\nms a 1\nx\nmd a q\nmn\nmd a z\n", "NF\nNF\nHD\nEX\nHD ka Oq\nHD\nMN\nCLIENT_ERROR invalid flag\n"},
	{"stale", "ms a 1 T90\nx\nmd a I T30\nmg a t v c\nmg a v\nget a\nms a 1 I T90 C1\ny\nmg a t v\nms a 1 T90 C3\nz\nmg a v t\n", "HD\nHD\nVA 1 t30 c2 X W\nx\nVA 1 Z X\nx\nVALUE a 0 1\nx\nEND\nHD\nVA 1 t30 Z X\ny\nHD\nVA 1 t90\nz\n"},
	{"stale in a batch", "ms a 1\nx\nms b 1\ny\nmd a I\nmg b v\nmg a v k\nmg c\nmg a\nmg b\n", "HD\nHD\nHD\nVA 1\ny\nVA 1 ka X W\nx\nEN\nHD Z X\nHD\n"},
	{"md x", "ms a 1 F5\nx\nmd a x\nmg a v f\nms a 1\nx\nmd a x I E9\nmg a v c\n", "HD\nHD\nVA 0 f0\n\nHD\nHD\nVA 0 c9 X W\n\n"},
	{"ma", "ma a\nma a q\nma a k Oq\nma a N0 J5 v t\nma a v\nma a MD D100 v k\nma a M+ D7 c\nma a C1\nma a C4 T30 t c v\nma a E50 c\nma a t T40\nma a t q\nmn\n", "NF\nNF\nNF ka Oq\nVA 1 t-1\n5\nVA 1\n6\nVA 1 ka\n0\nHD c4\nEX\nVA 1 t30 c5\n8\nHD c50\nHD t30\nMN\n"},
	{"ma errors", "ma a MX\nma a Dx\nma a z\nms a 1\nx\nma a\n", "CLIENT_ERROR invalid mode for ma M token\nCLIENT_ERROR invalid or duplicate flag\nCLIENT_ERROR invalid or duplicate flag\nHD\nCLIENT_ERROR cannot increment or decrement non-numeric value\n"},
	{"me", "me a\nms a 1 T50\nx\nme a\nget a\nme a\n", "EN\nHD\nME a exp=50 la=0 cas=1 fetch=no cls=1 size=26\nVALUE a 0 1\nx\nEND\nME a exp=50 la=0 cas=1 fetch=yes cls=1 size=26\n"},
}

// lines turns \n into \r\n.
func lines(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

func TestExchanges(t *testing.T) {
	for _, e := range exchanges {
		t.Run(e.name, func(t *testing.T) {
			for _, how := range []struct {
				name string
				read func(io.Reader) io.Reader
			}{{"at once", func(r io.Reader) io.Reader { return r }}, {"byte by byte", iotest.OneByteReader}, {"halves", iotest.HalfReader}} {
				o := testOptions(t.Output())
				o.clock = (&testClock{time.Unix(1e9, 0)}).now
				got := talk(newTestServer(t, o), how.read(strings.NewReader(lines(e.requests))))
				if got != lines(e.answers) {
					t.Errorf("%s:\n got %.1000q\nwant %.1000q", how.name, got, lines(e.answers))
				}
			}
		})
	}
}

func TestLineFeedAlone(t *testing.T) {
	got := talk(newTestServer(t, testOptions(t.Output())), strings.NewReader("set a 0 0 1\nx\r\nget a\nmg a v\n"))
	if want := lines("STORED\nVALUE a 0 1\nx\nEND\nVA 1\nx\n"); got != want {
		t.Errorf("got %q", got)
	}
}

// TestTime is what becomes of items while time passes.
func TestTime(t *testing.T) {
	clock := &testClock{time.Unix(1e9, 0)}
	o := testOptions(t.Output())
	o.clock = clock.now
	s := newTestServer(t, o)
	steps := []struct {
		after             time.Duration
		requests, answers string
	}{
		{0, "set rel 0 10 1\nx\nset abs 0 1000000020 1\nx\nset ever 0 0 1\nx\nset touched 0 5 1\nx\ntouch touched 30\n", "STORED\nSTORED\nSTORED\nSTORED\nTOUCHED\n"},
		{9 * time.Second, "get rel abs ever touched\nmg rel t l h\nappend rel 0 0 1\ny\n", "VALUE rel 0 1\nx\nVALUE abs 0 1\nx\nVALUE ever 0 1\nx\nVALUE touched 0 1\nx\nEND\nHD t1 l0 h1\nSTORED\n"},
		{999 * time.Millisecond, "get rel\nmg rel t\n", "VALUE rel 0 2\nxy\nEND\nHD t1\n"},
		{time.Millisecond, "get rel abs\nadd rel 0 0 1\nz\nmg abs t\n", "VALUE abs 0 1\nx\nEND\nSTORED\nHD t10\n"},
		{10 * time.Second, "get abs\nmg touched t\n", "END\nHD t10\n"},
		{time.Hour, "mg ever l h\nmg ever l\nget touched\n", "HD l3611 h1\nHD l0\nEND\n"},
		{30 * time.Second, "get ever\nmg ever l\n", "VALUE ever 0 1\nx\nEND\nHD l30\n"}, // As memcached, a use is noted once a minute.
	}
	for i, st := range steps {
		clock.t = clock.t.Add(st.after)
		if got := talk(s, strings.NewReader(lines(st.requests))); got != lines(st.answers) {
			t.Fatalf("step %d:\n got %q\nwant %q", i, got, lines(st.answers))
		}
	}
}

// TestLargeAnswers is one batch with more bytes of values than a connection holds.
func TestLargeAnswers(t *testing.T) {
	s := newTestServer(t, testOptions(t.Output()))
	var requests, want strings.Builder
	for i := range 10 {
		value := strings.Repeat(string(rune('a'+i)), 50000)
		fmt.Fprintf(&requests, "set k%d 0 0 50000\r\n%s\r\n", i, value)
		want.WriteString("STORED\r\n")
	}
	for i := range 40 {
		key := fmt.Sprintf("k%d", i%12)
		fmt.Fprintf(&requests, "get %s\r\n", key)
		if i%12 < 10 {
			fmt.Fprintf(&want, "VALUE %s 0 50000\r\n%s\r\n", key, strings.Repeat(string(rune('a'+i%12)), 50000))
		}
		want.WriteString("END\r\n")
	}
	if got := talk(s, strings.NewReader(requests.String())); got != want.String() {
		t.Errorf("got %d bytes, want %d", len(got), want.Len())
	}
}

// A pausing reader says now and then that nothing has come in time.
type pausing struct {
	io.Reader
	pause bool
}

func (p *pausing) Read(b []byte) (int, error) {
	if p.pause = !p.pause; p.pause {
		return 0, os.ErrDeadlineExceeded
	}
	return p.Reader.Read(b)
}

// TestLargeBuffers: a client that is calm after large items gives its buffers back.
func TestLargeBuffers(t *testing.T) {
	s := newTestServer(t, testOptions(t.Output()))
	requests := "set a 0 0 1000000\r\n" + strings.Repeat("x", 1000000) + "\r\nappend a 0 0 1\r\ny\r\nget a\r\n"
	for _, how := range []struct {
		r     io.Reader
		large bool
	}{{strings.NewReader(requests), true}, {&pausing{Reader: iotest.ErrReader(io.EOF)}, false}} {
		sc := &script{Reader: io.MultiReader(strings.NewReader(requests), how.r)}
		c := newConn(s, sc)
		c.serve()
		for i, n := range []int{len(c.in), cap(c.out), cap(c.old), cap(c.item)} {
			if n > keptBuffer != how.large {
				t.Errorf("buffer %d has %d bytes; large: %v", i, n, how.large)
			}
		}
	}
}

// TestNoAllocation is a batch of gets that a connection has seen before.
func TestNoAllocation(t *testing.T) {
	s := newTestServer(t, testOptions(t.Output()))
	talk(s, strings.NewReader(lines("set a 0 0 1\nx\nms b 1\ny\n")))
	requests := []byte(strings.Repeat(lines("get a\nget m a b\ngets a\nmg a v k Oq\nmg m v\n"), 50))
	sc := &script{}
	c := newConn(s, sc)
	c.in = make([]byte, len(requests))
	round := func() {
		sc.answers.Reset()
		c.r, c.w = 0, copy(c.in, requests)
		c.run()
		c.flush()
	}
	round()
	if n := testing.AllocsPerRun(20, round); n != 0 {
		t.Errorf("%v allocations for 250 requests", n)
	}
}
