// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// startServer serves until the test ends.
func startServer(t *testing.T, o Options) *server {
	s := newTestServer(t, o)
	serveTest(t, s)
	return s
}

func serveTest(t *testing.T, s *server) {
	if err := s.listen(); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.serve() }()
	t.Cleanup(func() {
		s.stop(0)
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// A client is a connection to a server.
type client struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, s *server) *client {
	nc, err := net.Dial(s.listener.Addr().Network(), s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return &client{t, nc, bufio.NewReader(nc)}
}

// ask sends requests and compares the answers, \n being \r\n in both.
func (c *client) ask(requests, answers string) {
	c.t.Helper()
	if _, err := io.WriteString(c, lines(requests)); err != nil {
		c.t.Fatal(err)
	}
	got := make([]byte, len(lines(answers)))
	if n, err := io.ReadFull(c.r, got); err != nil || string(got) != lines(answers) {
		c.t.Fatalf("%.100q: got %.300q, want %.300q (%v)", requests, got[:n], answers, err)
	}
}

// closed waits until the server has closed the connection.
func (c *client) closed() string {
	rest, _ := io.ReadAll(c.r) // A reset is an end, too.
	return string(rest)
}

func TestUnixSocket(t *testing.T) {
	o := testOptions(t.Output())
	o.Listen = filepath.Join(t.TempDir(), "s")
	s := startServer(t, o)
	dial(t, s).ask("set a 0 0 1\nx\nget a\n", "STORED\nVALUE a 0 1\nx\nEND\n")
	if info, err := os.Stat(o.Listen); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := newTestServer(t, o).listen(); err == nil || !strings.Contains(err.Error(), "another server listens there") {
		t.Errorf("a second server: %v", err)
	}
}

// TestLeftSocket is the socket of a server that was killed.
func TestLeftSocket(t *testing.T) {
	o := testOptions(t.Output())
	o.Listen = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", o.Listen)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	dial(t, startServer(t, o)).ask("get a\n", "END\n")

	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Listen = file
	if err := newTestServer(t, o).listen(); err == nil {
		t.Error("a file was replaced by a socket")
	}
}

func TestHalfClosed(t *testing.T) {
	c := dial(t, startServer(t, testOptions(t.Output())))
	if _, err := io.WriteString(c, lines("set a 0 0 1\nx\nget a\nget b\nmn\nget unfinished")); err != nil {
		t.Fatal(err)
	}
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got := c.closed(); got != lines("STORED\nVALUE a 0 1\nx\nEND\nEND\nMN\n") {
		t.Errorf("got %q", got)
	}
}

// TestSilentReader is a client that reads no answers: it is dropped, and holds little meanwhile.
func TestSilentReader(t *testing.T) {
	s := newTestServer(t, testOptions(t.Output()))
	s.writeTimeout = 100 * time.Millisecond
	serveTest(t, s)
	other := dial(t, s)
	other.ask("set a 0 0 500000\n"+strings.Repeat("x", 500000)+"\n", "STORED\n")
	c := dial(t, s)
	request := []byte(strings.Repeat("get a\r\n", 10000))
	for {
		if _, err := c.Write(request); err != nil {
			break
		}
	}
	other.ask("mg a s\n", "HD s500000\n")
}

// TestSlowClient sends a byte at a time.
func TestSlowClient(t *testing.T) {
	s := startServer(t, testOptions(t.Output()))
	c, other := dial(t, s), dial(t, s)
	for _, b := range []byte(lines("set a 0 0 3\nabc\nget a\n")) {
		if _, err := c.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
		other.ask("mn\n", "MN\n")
	}
	c.ask("", "STORED\nVALUE a 0 3\nabc\nEND\n")
}

func TestIdle(t *testing.T) {
	o := testOptions(t.Output())
	o.Idle = 50 * time.Millisecond
	if got := dial(t, startServer(t, o)).closed(); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestMaxConns(t *testing.T) {
	o := testOptions(t.Output())
	o.MaxConns = 2
	s := startServer(t, o)
	a, b := dial(t, s), dial(t, s)
	a.ask("mn\n", "MN\n")
	b.ask("mn\n", "MN\n")
	if got := dial(t, s).closed(); got != "ERROR Too many open connections\r\n" {
		t.Errorf("got %q", got)
	}
	a.ask("quit\n", "")
	a.closed()
	for s.open.Load() > 1 { // The server may take a moment to note it.
		time.Sleep(time.Millisecond)
	}
	dial(t, s).ask("get a\n", "END\n")
}

func TestManyConnections(t *testing.T) {
	o := testOptions(t.Output())
	o.MaxConns = 300
	s := startServer(t, o)
	var clients []*client
	for range 300 {
		clients = append(clients, dial(t, s))
	}
	for i, c := range clients {
		c.ask(fmt.Sprintf("set k%d 0 0 1\nx\nget k%d\n", i, i), fmt.Sprintf("STORED\nVALUE k%d 0 1\nx\nEND\n", i))
	}
}

// TestAtomic lets clients change one item at the same time.
func TestAtomic(t *testing.T) {
	s := startServer(t, testOptions(t.Output()))
	dial(t, s).ask("set n 0 0 1\n0\nset c 0 0 1\n0\nset l 0 100 0\n\n", "STORED\nSTORED\nSTORED\n")
	const clients, rounds = 4, 100
	var all sync.WaitGroup
	for range clients {
		c := dial(t, s)
		all.Go(func() {
			for range rounds {
				fmt.Fprint(c, lines("incr n 1\nappend l 0 0 1\nx\nget n c\n"))
				for line := ""; line != "END\r\n"; {
					line, _ = c.r.ReadString('\n')
				}
				for done := false; !done; {
					var cas uint64
					var size, n int
					fmt.Fprint(c, "gets c\r\n")
					if _, err := fmt.Fscanf(c.r, "VALUE c 0 %d %d\r\n%d\r\nEND\r\n", &size, &cas, &n); err != nil {
						t.Error(err)
						return
					}
					value := fmt.Sprint(n + 1)
					fmt.Fprintf(c, "cas c 0 0 %d %d\r\n%s\r\n", len(value), cas, value)
					line, _ := c.r.ReadString('\n')
					done = line == "STORED\r\n"
				}
			}
		})
	}
	all.Wait()
	dial(t, s).ask("get n c\nmg l s t\n", fmt.Sprintf("VALUE n 0 3\n%d\nVALUE c 0 3\n%d\nEND\nHD s%d t100\n", clients*rounds, clients*rounds, clients*rounds))
}

func TestDelayedFlush(t *testing.T) {
	s := startServer(t, testOptions(t.Output()))
	c := dial(t, s)
	c.ask("flush_all 1\nset a 0 0 1\nx\nget a\n", "OK\nSTORED\nVALUE a 0 1\nx\nEND\n")
	for s.cache.Len() > 0 {
		time.Sleep(10 * time.Millisecond)
	}
	c.ask("get a\nset a 0 0 1\nx\nflush_all 2000\nflush_all 1000\nget a\n", "END\nSTORED\nOK\nOK\nVALUE a 0 1\nx\nEND\n")
}

// runServer is run in the background. It returns the server's address and a function that stops it and
// returns its error.
func runServer(t *testing.T, o Options) (address string, stop func() error) {
	log := &lockedBuffer{}
	o.Log = log
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, o, func() {}) }()
	for {
		if _, after, ok := strings.Cut(log.String(), "listening on "); ok && strings.Contains(after, "\n") {
			address, _, _ = strings.Cut(after, "\n")
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("%v; %s", err, log)
		case <-time.After(time.Millisecond):
		}
	}
	return address, func() error {
		cancel()
		err := <-ended
		t.Log(log)
		return err
	}
}

func dialAddress(t *testing.T, address string) *client {
	nc, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return &client{t, nc, bufio.NewReader(nc)}
}

// TestWarmRestart saves items and loads them again, once.
func TestWarmRestart(t *testing.T) {
	o := testOptions(t.Output())
	o.Save = filepath.Join(t.TempDir(), "saved")
	address, stop := runServer(t, o)
	c := dialAddress(t, address)
	c.ask("set a 7 1000 3\nabc\nset b 0 0 1\nx\nms c 1 E18446744073709551615\ny\nget b\nmd b I\n", "STORED\nSTORED\nHD\nVALUE b 0 1\nx\nEND\nHD\n")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got := c.closed(); got != "" {
		t.Errorf("a client got %q", got)
	}

	address, stop = runServer(t, o)
	c = dialAddress(t, address)
	c.ask("gets a\nmg b v h u\nmg c c\nset d 0 0 1\nx\ngets d\n", "VALUE a 7 3 1\nabc\nEND\nVA 1 h1 X W\nx\nHD c18446744073709551615\nSTORED\nVALUE d 0 1 4\nx\nEND\n")
	if _, err := os.Stat(o.Save); !os.IsNotExist(err) {
		t.Errorf("the loaded file is still there, and would bring back old items after a crash: %v", err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// TestBadSave is a file that is none of ours, and a folder that is not there.
func TestBadSave(t *testing.T) {
	o := testOptions(t.Output())
	o.Save = filepath.Join(t.TempDir(), "saved")
	if err := os.WriteFile(o.Save, []byte("a letter to my mother"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), o, func() {}); err == nil || !strings.Contains(err.Error(), "not a saved cache") {
		t.Errorf("got %v", err)
	}
	if b, err := os.ReadFile(o.Save); err != nil || string(b) != "a letter to my mother" {
		t.Errorf("the file is %q now, %v", b, err)
	}
	dir := filepath.Join(t.TempDir(), "none")
	o.Save = filepath.Join(dir, "saved")
	if err := run(t.Context(), o, func() {}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	_, stop := runServer(t, o)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err == nil || !strings.Contains(err.Error(), "cache: save") {
		t.Errorf("got %v", err)
	}
}

// TestForeignItems is a file that another program has saved: values without a head are no items.
func TestForeignItems(t *testing.T) {
	s := startServer(t, testOptions(t.Output()))
	if err := s.cache.Set([]byte("a"), []byte("short")); err != nil {
		t.Fatal(err)
	}
	dial(t, s).ask("get a b\nmg a v\nincr a 1\nadd a 0 0 1\nx\nget a\n", "END\nEN\nNOT_FOUND\nSTORED\nVALUE a 0 1\nx\nEND\n")
}

func TestShutdownCommand(t *testing.T) {
	o := testOptions(t.Output())
	o.Shutdown = true
	for _, command := range []string{"shutdown\r\n", "shutdown graceful\r\n"} {
		address, stop := runServer(t, o)
		c := dialAddress(t, address)
		c.ask("shutdown x\n", "CLIENT_ERROR invalid shutdown mode\n")
		fmt.Fprint(c, command)
		c.closed()
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

func TestPanicIsReported(t *testing.T) {
	log := &lockedBuffer{}
	s := startServer(t, testOptions(log))
	c := dial(t, s)
	c.ask("mn\n", "MN\n")
	s.wait.Add(1)
	s.open.Add(1)
	a, b := net.Pipe()
	b.Close()
	s.handle(panicking{a})
	if !strings.Contains(log.String(), "bug: a connection panicked and was closed: read") {
		t.Errorf("log: %s", log)
	}
	c.ask("mn\n", "MN\n")
}

type panicking struct{ net.Conn }

func (panicking) Read([]byte) (int, error) { panic("read") }

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) { o.Listen = "0.0.0.0:11211" }, "which other machines can reach"},
		{func(o *Options) { o.Listen = ":11211" }, "which other machines can reach"},
		{func(o *Options) { o.Listen = "example.org:11211" }, "which other machines can reach"},
		{func(o *Options) { o.Listen = "127.0.0.1" }, "want 127.0.0.1:PORT"},
		{func(o *Options) { o.MaxItem = 100 }, "-max-item is 100 bytes"},
		{func(o *Options) { o.Memory = 4 << 20 }, "eight times -max-item"},
		{func(o *Options) { o.MaxConns = 0 }, "-max-conns is 0"},
		{func(o *Options) { o.Idle = -1 }, "-idle is -1ns"},
		{func(o *Options) { o.Listen = "localhost:0" }, ""},
		{func(o *Options) { o.Listen = "[::1]:0" }, ""},
		{func(o *Options) { o.Listen = "./socket" }, ""},
	} {
		o := testOptions(t.Output())
		c.change(&o)
		if err := o.check(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "64M": 64 << 20, "2g": 2 << 30, "3k": 3072, "1T": 1 << 40, "": 0, "M": 0, "1.5G": 0, "-1": 0, "9999999999G": 0, "64MB": 0} {
		if got, err := parseSize("memory", text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}

// TestStats sees that what clients read is there and adds up.
func TestStats(t *testing.T) {
	s := startServer(t, testOptions(t.Output()))
	c := dial(t, s)
	c.ask("set a 0 0 1\nx\nget a b\ndelete a\ndelete a\nset n 0 0 1\n1\nincr n 1\ntouch n 0\n", "STORED\nVALUE a 0 1\nx\nEND\nDELETED\nNOT_FOUND\nSTORED\n2\nTOUCHED\n")
	read := func(command string) map[string]string {
		fmt.Fprint(c, command+"\r\n")
		stats := map[string]string{}
		for {
			line, err := c.r.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if line == "END\r\n" {
				return stats
			}
			f := strings.Fields(line)
			stats[f[1]] = strings.Join(f[2:], " ")
		}
	}
	want := map[string]string{
		"curr_items": "1", "total_items": "2", "cmd_get": "2", "get_hits": "1", "get_misses": "1", "cmd_set": "2", "delete_hits": "1", "delete_misses": "1",
		"incr_hits": "1", "cmd_touch": "1", "touch_hits": "1", "curr_connections": "1", "total_connections": "1", "limit_maxbytes": "16777216", "evictions": "0",
	}
	stats := read("stats")
	for name, value := range want {
		if stats[name] != value {
			t.Errorf("%s is %q, want %s", name, stats[name], value)
		}
	}
	if got := read("stats settings"); got["item_size_max"] != "1048576" || got["maxbytes"] != "16777216" || got["tcpport"] == "" {
		t.Errorf("settings: %v", got)
	}
	if got := read("stats items"); got["items:1:number"] != "1" {
		t.Errorf("items: %v", got)
	}
	if got := read("stats slabs"); got["1:used_chunks"] != "1" {
		t.Errorf("slabs: %v", got)
	}
	conns := read("stats conns")
	if conns["0:state"] != "conn_listening" || conns["1:state"] != "conn_parse_cmd" || conns["1:addr"] != "tcp:"+c.LocalAddr().String() {
		t.Errorf("conns: %v", conns)
	}
	c.ask("stats reset\n", "RESET\n")
	if got := read("stats"); got["cmd_set"] != "0" || got["curr_items"] != "1" {
		t.Errorf("after reset: %v", got)
	}
}
