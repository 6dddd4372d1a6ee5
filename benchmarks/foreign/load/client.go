package load

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// The lines between the two processes: the client says that it is ready, the server's process says
// start, and the client answers with the number of requests that it has sent.
const (
	ready = "ready\n"
	start = "start\n"
)

// client is the process that sends the requests.
type client struct {
	Service
	*options
	address, debug string
	seconds        int

	requests []Request
	next     atomic.Int64 // the number of the next request
}

func (c *client) run(in io.Reader, out io.Writer) error {
	if err := c.connect(); err != nil {
		return err
	}
	first := int(c.next.Load())
	if _, err := io.WriteString(out, ready); err != nil {
		return err
	}
	if line, err := bufio.NewReader(in).ReadString('\n'); err != nil || line != start {
		return fmt.Errorf("the server's process says %q, %v", line, err)
	}
	var err error
	if c.profiles != "" {
		err = c.profile()
	} else {
		err = c.send(upTo(first + c.ops))
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, int(c.next.Load())-first)
	return err
}

// connect makes the server and the connections ready, and warms both up.
func (c *client) connect() error {
	if c.Prepare != nil {
		if err := c.Prepare(c.address); err != nil {
			return fmt.Errorf("preparing: %w", err)
		}
	}
	for i := range max(c.Connections, 1) {
		r, err := c.Dial(c.address, i)
		if err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
		c.requests = append(c.requests, r)
	}
	if err := c.send(upTo(c.ops/20 + len(c.requests))); err != nil {
		return fmt.Errorf("warm-up: %w", err)
	}
	return nil
}

// alone sends the requests of a run to a server that nobody measures here.
func (c *client) alone() error {
	if err := c.connect(); err != nil {
		return err
	}
	return c.send(upTo(int(c.next.Load()) + c.ops))
}

func upTo(end int) func(i int) bool { return func(i int) bool { return i < end } }

// send sends requests over all connections as long as more allows the next number.
func (c *client) send(more func(i int) bool) error {
	errs := make([]error, len(c.requests))
	var failed atomic.Bool
	var all sync.WaitGroup
	for n, request := range c.requests {
		all.Go(func() {
			for !failed.Load() {
				i := c.next.Load()
				if !more(int(i)) {
					return
				}
				if !c.next.CompareAndSwap(i, i+1) {
					continue
				}
				if err := request(int(i)); err != nil {
					errs[n] = fmt.Errorf("request %d: %w", i, err)
					failed.Store(true)
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// profile fetches the profiles from the server, the CPU profile under load.
func (c *client) profile() error {
	if err := os.MkdirAll(c.profiles, 0o777); err != nil {
		return err
	}
	if err := c.fetch(HeapFile, "heap"); err != nil {
		return err
	}
	var done atomic.Bool
	fetched := make(chan error, 1)
	go func() {
		err := c.fetch(CPUFile, fmt.Sprintf("profile?seconds=%d", c.seconds))
		done.Store(true)
		fetched <- err
	}()
	err := c.send(func(int) bool { return !done.Load() })
	if err := errors.Join(err, <-fetched); err != nil {
		return err
	}
	if err := c.fetch(HeapEndFile, "heap?gc=1"); err != nil {
		return err
	}
	return c.fetch(HeapTextFile, "heap?debug=1")
}

func (c *client) fetch(file, endpoint string) error {
	answer, err := http.Get("http://" + c.debug + "/debug/pprof/" + endpoint)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", endpoint, answer.Status)
	}
	f, err := os.Create(filepath.Join(c.profiles, file))
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, answer.Body); err != nil {
		f.Close()
		return fmt.Errorf("%s: %w", endpoint, err)
	}
	return f.Close()
}
