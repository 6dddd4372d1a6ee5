// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/freehold-go/freehold/examples/readthrough/front"
)

var small = front.Load{Keys: 2000, Requests: 5001, Goroutines: 4}

// TestRun: both ways give the same responses.
func TestRun(t *testing.T) { both(t, "") }

// TestRedis is TestRun with a real Redis.
func TestRedis(t *testing.T) { both(t, startRedis(t)) }

func both(t *testing.T, address string) {
	t.Helper()
	var results []string
	for _, plain := range []bool{false, true} {
		var out strings.Builder
		if err := run(t.Context(), &out, plain, address, 1<<20, small); err != nil {
			t.Fatal(err)
		}
		line, rest, _ := strings.Cut(out.String(), "\n")
		results = append(results, line)
		if !strings.Contains(rest, "hits     ") || strings.Contains(rest, "hits     100") || strings.Contains(rest, "hits     0") {
			t.Errorf("plain %v: not some hits and some misses:\n%s", plain, rest)
		}
	}
	if results[0] != results[1] || !strings.Contains(results[0], "5001 requests, sum ") {
		t.Errorf("the results differ:\n%s", strings.Join(results, "\n"))
	}
}

// startRedis starts a Redis that keeps nothing on the disk, and returns its address.
func startRedis(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("no redis-server; on Debian: apt-get install redis-server")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(address)
	server := exec.Command(path, "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Process.Kill(); server.Wait() })
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
			return address
		}
		if time.Now().After(end) {
			t.Fatalf("Redis does not listen: %v", err)
		}
	}
}
