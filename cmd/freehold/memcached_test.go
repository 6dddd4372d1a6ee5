// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	cacheServe = "freehold-cache-serve" // The name under which this test binary is the server.

	memcachedCheckout  = "FREEHOLD_TEST_MEMCACHED"
	gomemcacheCheckout = "FREEHOLD_TEST_GOMEMCACHE"
)

// A contestant is a server under test.
type contestant struct {
	name    string
	command []string // PORT stands for the port.
}

// contestants are memcached as Debian builds it, and freehold cache serve.
func contestants(t *testing.T) [2]contestant {
	memcached, err := exec.LookPath("memcached")
	if err != nil {
		t.Skip("memcached is not installed: apt-get install memcached libmemcached-tools")
	}
	return [2]contestant{
		{"memcached", []string{memcached, "-u", "nobody", "-l", "127.0.0.1", "-U", "0", "-p", "PORT"}},
		{"freehold", []string{serverLink(t, cacheServe), "-listen", "127.0.0.1:PORT"}},
	}
}

// serverLink is this binary under another name.
func serverLink(t *testing.T, name string) string {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	return link
}

// start runs a server until the test ends, and returns its port.
func (c *contestant) start(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	args := slices.Clone(c.command)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "PORT", port)
	}
	cmd := exec.Command(args[0], args[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if strings.Contains(stderr.String(), "bug:") || strings.Contains(stderr.String(), "goroutine ") {
			t.Errorf("%s: %s", c.name, &stderr)
		}
	})
	awaitServer(t, "127.0.0.1:"+port)
	return port
}

// awaitServer waits until a server listens.
func awaitServer(t *testing.T, address string) {
	for range 500 {
		if nc, err := net.Dial("tcp", address); err == nil {
			nc.Close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("nothing listens at %s", address)
}

// verdicts are the names of assertions, and whether each passed.
type verdicts map[string]bool

func (v verdicts) passed() (n int) {
	for _, ok := range v {
		if ok {
			n++
		}
	}
	return n
}

// compareVerdicts reports the assertions that memcached passes and freehold does not, up to the exceptions of a
// file.
func compareVerdicts(t *testing.T, file string, results [2]verdicts, exceptions map[string]string) {
	theirs, ours := results[0], results[1]
	t.Logf("%-24s %6d of %6d  %6d of %6d", file, theirs.passed(), len(theirs), ours.passed(), len(ours))
	_, whole := exceptions[file+" -"]
	regressions := 0
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		number, _, _ := strings.Cut(name, " ")
		reason, known := exceptions[file+" "+number]
		switch failed := theirs[name] && !ours[name]; {
		case failed && known:
			t.Logf("%s: exception: %s", name, reason)
		case failed:
			if regressions++; regressions <= 10 && !whole {
				t.Errorf("%s %s: memcached passes, freehold does not", file, name)
			}
		case known && ours[name]:
			t.Errorf("%s %s passes and is an exception", file, name)
		}
	}
	switch {
	case whole && regressions == 0:
		t.Errorf("%s passes and is an exception", file)
	case whole:
		t.Logf("%d do not pass: exception: %s", regressions, exceptions[file+" -"])
	case regressions > 10:
		t.Errorf("%s: and %d more", file, regressions-10)
	}
}

// elsewhere are tests of what is not served: they start servers of their own with options for a proxy, TLS
// and extstore, or check the checkout itself. dash-M stores until an error that only the option -M gives.
var elsewhere = regexp.MustCompile(`^(dash-M$|proxy|ssl_|extstore|binary-extstore|binary-sasl|chunked-extstore|error-extstore|whitespace|line-lengths)`)

// TestMemcached runs the tests of a memcached checkout, which is not built, against Debian's memcached and
// against freehold cache serve. Each assertion that memcached passes, freehold must pass. Many tests want a
// server with options that these servers do not have; then both fail.
func TestMemcached(t *testing.T) {
	checkout := os.Getenv(memcachedCheckout)
	if checkout == "" {
		t.Skip("set " + memcachedCheckout + " to a checkout of memcached: make test-memcached MEMCACHED=DIR")
	}
	files, err := filepath.Glob(filepath.Join(checkout, "t/*.t"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no t/*.t: %v", checkout, err)
	}
	servers := contestants(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(checkout)); err != nil {
		t.Fatal(err)
	}
	// The tests look for the server that they would start, and ask it what it was built with.
	stub := []byte("#!/bin/sh\necho memcached 1.6.18\n")
	for _, name := range []string{"memcached-debug", "memcached", "sizes", "testapp", "timedrun"} {
		if err := os.WriteFile(filepath.Join(dir, name), stub, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	exceptions := readExceptions(t, "testdata/memcached/exceptions.txt")
	t.Logf("%-24s %16s  %16s", "assertions passed", "memcached", "freehold")
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".t")
		if elsewhere.MatchString(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var results [2]verdicts
			for i, c := range servers {
				port := c.start(t)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, "perl", "-I", "t/lib", "t/"+name+".t")
				cmd.Dir, cmd.WaitDelay = dir, time.Second
				cmd.Env = append(os.Environ(), "T_MEMD_USE_DAEMON=127.0.0.1:"+port)
				out, _ := cmd.CombinedOutput() // The assertions are the result.
				results[i] = parseTAP(out)
			}
			compareVerdicts(t, name, results, exceptions)
		})
	}
}

// tapLine is an assertion. Those of subtests are indented and come before that of the subtest.
var tapLine = regexp.MustCompile(`^( *)(not )?ok (\d+)`)

// parseTAP reads the output of a test. An assertion's name is its number; in a subtest, the number of the subtest
// stands before it.
func parseTAP(out []byte) verdicts {
	v := verdicts{}
	top := 0
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		m := tapLine.FindStringSubmatch(s.Text())
		switch {
		case m == nil:
		case m[1] == "":
			v[m[3]] = m[2] == ""
			fmt.Sscan(m[3], &top)
		default:
			v[fmt.Sprintf("%d.%s", top+1, m[3])] = m[2] == ""
		}
	}
	return v
}

// TestMemccapable runs libmemcached's test of servers.
func TestMemccapable(t *testing.T) {
	if os.Getenv(memcachedCheckout) == "" {
		t.Skip("make test-memcached MEMCACHED=DIR")
	}
	if _, err := exec.LookPath("memccapable"); err != nil {
		t.Skip("memccapable is not installed: apt-get install libmemcached-tools")
	}
	line := regexp.MustCompile(`(?m)^(ascii [^\[]*?)\s*\[(\w+)\]`)
	var results [2]verdicts
	for i, c := range contestants(t) {
		out, _ := exec.Command("memccapable", "-h", "127.0.0.1", "-p", c.start(t), "-a").CombinedOutput()
		results[i] = verdicts{}
		for _, m := range line.FindAllStringSubmatch(string(out), -1) {
			results[i][strings.ReplaceAll(m[1], " ", "-")] = m[2] == "pass"
		}
		if len(results[i]) == 0 {
			t.Fatalf("%s", out)
		}
	}
	compareVerdicts(t, "memccapable", results, readExceptions(t, "testdata/memcached/exceptions.txt"))
}

// TestGomemcache runs the tests of the client gomemcache, from a checkout: one test against the port of memcached, one
// with a server that it starts itself.
func TestGomemcache(t *testing.T) {
	checkout := os.Getenv(gomemcacheCheckout)
	if checkout == "" {
		t.Skip("make test-memcached MEMCACHED=DIR GOMEMCACHE=DIR")
	}
	link := serverLink(t, cacheServe)
	stub := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = -s ] || exit 1\nexec %s -listen \"$2\"\n", link)
	if err := os.WriteFile(filepath.Join(filepath.Dir(link), "memcached"), []byte(stub), 0o700); err != nil {
		t.Fatal(err)
	}
	const address = "127.0.0.1:11211" // The test has it.
	if nc, err := net.Dial("tcp", address); err == nil {
		nc.Close()
		t.Fatalf("another server listens at %s; stop it: systemctl stop memcached", address)
	}
	server := exec.Command(link, "-listen", address)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	awaitServer(t, address)
	cmd := exec.Command("go", "test", "-count=1", "-v", "-run", "^(TestLocalhost|TestUnixSocket)$", "./memcache")
	cmd.Dir = checkout
	cmd.Env = append(os.Environ(), "GOWORK=off", "PATH="+filepath.Dir(link)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil || bytes.Count(out, []byte("--- PASS")) < 2 || bytes.Contains(out, []byte("--- SKIP")) {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
