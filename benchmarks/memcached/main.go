// Command memcached compares freehold cache serve with memcached: requests in a CPU second of the server, with the same client.
//
//	go run ./memcached                # pipelined gets over loopback and over a Unix socket, and other requests
//	go run ./memcached -run '^get/'   # only these
//
// Both servers have two threads (GOMAXPROCS=2, -t 2), the same budget and the same items, and take turns. A client sends batches of 100 requests on each of its
// connections and reads all answers before it sends the next batch. The CPU time is that of the server's process alone. A figure is the median of the rounds. It
// needs Linux and memcached.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	batch     = 100
	valueSize = 100
	ticks     = 100 // USER_HZ, which Linux has on all machines
)

// A task is a kind of requests. A bar of 0 is none.
type task struct {
	name    string
	network string
	// request appends a batch for keys.
	request func(b []byte, keys []string) []byte
	// answer says whether a line is the last one of a request.
	last  func(line []byte) bool
	lasts int // of a batch
	bar   float64
}

func end(line []byte) bool { return bytes.HasPrefix(line, []byte("END")) }

// each appends a request for each key.
func each(command, rest string) func(b []byte, keys []string) []byte {
	return func(b []byte, keys []string) []byte {
		for _, k := range keys {
			b = append(append(append(b, command...), k...), rest...)
		}
		return b
	}
}

func tasks() (all []task) {
	value := strings.Repeat("x", valueSize)
	for _, network := range []string{"tcp", "unix"} {
		all = append(all, task{"get/" + network, network, each("get ", "\r\n"), end, batch, 0.7})
	}
	many := func(b []byte, keys []string) []byte {
		return append(append(append(b, "get "...), strings.Join(keys, " ")...), "\r\n"...)
	}
	meta := func(line []byte) bool {
		return bytes.HasPrefix(line, []byte("VA ")) || bytes.HasPrefix(line, []byte("EN"))
	}
	stored := func(line []byte) bool { return bytes.HasPrefix(line, []byte("STORED")) }
	return append(all,
		task{"getmany/unix", "unix", many, end, 1, 0},
		task{"mg/unix", "unix", each("mg ", " v\r\n"), meta, batch, 0},
		task{"set/unix", "unix", each("set ", fmt.Sprintf(" 0 0 %d\r\n%s\r\n", valueSize, value)), stored, batch, 0},
	)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "memcached:", err)
		os.Exit(1)
	}
}

var (
	rounds  = flag.Int("count", 5, "rounds")
	window  = flag.Duration("time", 2*time.Second, "time of a round")
	items   = flag.Int("items", 1_000_000, "number of items")
	clients = flag.Int("clients", 4, "number of connections")
	memory  = flag.Int("memory", 512, "MiB of each server")
)

func run() error {
	which := flag.String("run", "", "regular expression: only these tasks")
	flag.Parse()
	chosen, err := regexp.Compile(*which)
	if err != nil {
		return err
	}
	theirs, err := exec.LookPath("memcached")
	if err != nil {
		fmt.Println("skipped: memcached is not installed; on Debian: apt-get install memcached")
		return nil
	}
	version, err := exec.Command(theirs, "-V").Output()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "memcached-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.Chmod(work, 0o755); err != nil { // memcached runs as another user
		return err
	}
	ours := filepath.Join(work, "freehold")
	build := exec.Command("go", "build", "-C", "../cmd", "-o", ours, "./freehold")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	fmt.Printf("freehold cache serve beside %s, two threads, %d items of %d bytes, batches of %d on %d connections, median of %d\n\n",
		bytes.TrimSpace(version), *items, valueSize, batch, *clients, *rounds)
	fmt.Printf("%-14s %14s %14s %8s %14s %14s\n", "thousand/CPU s", "freehold", "memcached", "ratio", "hits", "bar")
	missed := 0
	for _, t := range tasks() {
		if !chosen.MatchString(t.name) {
			continue
		}
		ok, err := t.compare(work, ours, theirs)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		if !ok {
			missed++
		}
	}
	if missed > 0 {
		return fmt.Errorf("%d bars are missed", missed)
	}
	return nil
}

// A server is a process that runs during a task.
type server struct {
	cmd     *exec.Cmd
	network string
	address string
	rates   []float64 // requests in a CPU second, of the rounds
	hits    float64   // of the last round
}

// start runs a server until stop. ADDRESS in its arguments stands for the address, and PORT for the port.
func start(t *task, work, name string, command ...string) (*server, error) {
	s := &server{network: t.network, address: filepath.Join(work, name)}
	if t.network == "tcp" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		s.address = l.Addr().String()
		l.Close()
	}
	_, port, _ := strings.Cut(s.address, ":")
	for i := range command {
		command[i] = strings.NewReplacer("ADDRESS", s.address, "PORT", port).Replace(command[i])
	}
	s.cmd = exec.Command(command[0], command[1:]...)
	s.cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for range 500 {
		if nc, err := net.Dial(s.network, s.address); err == nil {
			return s, nc.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, errors.Join(fmt.Errorf("%s does not listen", name), s.stop())
}

func (s *server) stop() error {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	if s.network == "unix" {
		os.Remove(s.address)
	}
	return nil
}

// cpu is the CPU time of the server so far, in seconds.
func (s *server) cpu() (float64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, err1 := strconv.ParseFloat(f[11], 64)
	system, err2 := strconv.ParseFloat(f[12], 64)
	return (user + system) / ticks, errors.Join(err1, err2)
}

func key(i int) string { return fmt.Sprintf("key:%012d", i) }

// fill stores the items, twice: freehold evicts a few while its table grows.
func (s *server) fill() error {
	nc, err := net.Dial(s.network, s.address)
	if err != nil {
		return err
	}
	defer nc.Close()
	w := bufio.NewWriterSize(nc, 1<<16)
	value := strings.Repeat("x", valueSize)
	for range 2 {
		for i := range *items {
			fmt.Fprintf(w, "set %s 0 0 %d noreply\r\n%s\r\n", key(i), valueSize, value)
		}
	}
	fmt.Fprint(w, "mn\r\n")
	if err := w.Flush(); err != nil {
		return err
	}
	line, err := bufio.NewReader(nc).ReadString('\n')
	if line != "MN\r\n" {
		return fmt.Errorf("filling: got %q, %v", line, err)
	}
	return nil
}

// round sends requests for a time.
func (s *server) round(t *task, keys []string) error {
	before, err := s.cpu()
	if err != nil {
		return err
	}
	var sent, hits atomic.Int64
	var all sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	until := time.Now().Add(*window)
	for i := range *clients {
		all.Go(func() {
			n, h, err := s.talk(t, keys, uint64(i), until)
			sent.Add(n)
			hits.Add(h)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	all.Wait()
	after, err := s.cpu()
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	s.rates = append(s.rates, float64(sent.Load())/(after-before))
	s.hits = float64(hits.Load()) / float64(sent.Load())
	return nil
}

// talk is one connection. It returns the numbers of keys and of values.
func (s *server) talk(t *task, keys []string, seed uint64, until time.Time) (sent, hits int64, err error) {
	nc, err := net.Dial(s.network, s.address)
	if err != nil {
		return 0, 0, err
	}
	defer nc.Close()
	rnd := rand.New(rand.NewPCG(seed, 1))
	r := bufio.NewReaderSize(nc, 1<<16)
	chosen := make([]string, batch)
	var request []byte
	for time.Now().Before(until) {
		for i := range chosen {
			chosen[i] = keys[rnd.IntN(len(keys))]
		}
		request = t.request(request[:0], chosen)
		if _, err := nc.Write(request); err != nil {
			return 0, 0, err
		}
		for lasts := 0; lasts < t.lasts; {
			line, err := r.ReadSlice('\n')
			if err != nil {
				return 0, 0, err
			}
			if t.last(line) {
				lasts++
			}
			if line[0] == 'V' {
				hits++
				if _, err := r.Discard(valueSize + 2); err != nil {
					return 0, 0, err
				}
			}
		}
		sent += batch
	}
	return sent, hits, nil
}

// compare runs a task on both servers and prints a row. It returns whether the bar is met.
func (t *task) compare(work, ours, theirs string) (met bool, err error) {
	size := strconv.Itoa(*memory)
	listen := []string{"-l", "127.0.0.1", "-p", "PORT"}
	if t.network == "unix" {
		listen = []string{"-s", "ADDRESS"}
	}
	a, err := start(t, work, "a", ours, "cache", "serve", "-listen", "ADDRESS", "-memory", size+"M")
	if err != nil {
		return false, err
	}
	defer a.stop()
	b, err := start(t, work, "b", append([]string{theirs, "-u", cmp.Or(os.Getenv("USER"), "root"), "-U", "0", "-t", "2", "-m", size}, listen...)...)
	if err != nil {
		return false, err
	}
	defer b.stop()
	keys := make([]string, *items)
	for i := range keys {
		keys[i] = key(i)
	}
	for _, s := range []*server{a, b} {
		if err := s.fill(); err != nil {
			return false, err
		}
		if err := s.round(t, keys); err != nil { // to warm up
			return false, err
		}
		s.rates = nil
	}
	for range *rounds {
		if err := errors.Join(a.round(t, keys), b.round(t, keys)); err != nil {
			return false, err
		}
	}
	x, y := median(a.rates), median(b.rates)
	bar := ""
	met = true
	if t.bar > 0 {
		bar = fmt.Sprintf("%.4g met", t.bar)
		if met = x/y >= t.bar; !met {
			bar = fmt.Sprintf("%.4g MISSED", t.bar)
		}
	}
	fmt.Printf("%-14s %14.0f %14.0f %8.2f %6.3f, %.3f %14s\n", t.name, x/1000, y/1000, x/y, a.hits, b.hits, bar)
	return met, nil
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
