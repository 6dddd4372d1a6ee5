package main

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// A trace is a list of requests. Keys are numbered in the order of their first request.
type trace struct {
	most     int // The number of requests.
	requests []uint32
	number   map[[2]uint64]uint32
	sizes    []int // Of each key in bytes; empty if all entries have 1 KiB.
}

func (t *trace) keys() int { return len(t.number) }

// add adds a request for a key. A key with another size is another key.
func (t *trace) add(key uint64, size int) (more bool) {
	if t.number == nil {
		t.number = map[[2]uint64]uint32{}
	}
	at := [2]uint64{key, uint64(size)}
	n, ok := t.number[at]
	if !ok {
		n = uint32(len(t.number))
		t.number[at] = n
		if size > 0 {
			t.sizes = append(t.sizes, size)
		}
	}
	t.requests = append(t.requests, n)
	return len(t.requests) < t.most
}

// bytes are those of all keys.
func (t *trace) bytes() (sum int64) {
	for _, n := range t.sizes {
		sum += int64(n)
	}
	return sum
}

// A source is a trace that is not yet read. The cache was tuned on those that are not held out.
type source struct {
	name string
	held bool
	read func() (*trace, error)
}

// A format adds what a reader has to a trace.
type format func(t *trace, r *bufio.Reader) error

func readFile(path string, f format, most int) (_ *trace, err error) {
	t := &trace{most: most}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var in io.Reader = file
	switch {
	case strings.HasSuffix(path, ".gz"):
		if in, err = gzip.NewReader(file); err != nil {
			return nil, err
		}
	case strings.HasSuffix(path, ".xz"):
		cmd := exec.Command("xz", "-dc")
		cmd.Stdin = file
		pipe, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		in = pipe
		defer func() {
			pipe.Close()
			if e := cmd.Wait(); e != nil && len(t.requests) < most && err == nil {
				err = fmt.Errorf("xz: %w", e)
			}
		}()
	}
	if err := f(t, bufio.NewReaderSize(in, 1<<20)); err != nil {
		return nil, err
	}
	if len(t.requests) == 0 {
		return nil, fmt.Errorf("no requests in %s", path)
	}
	return t, nil
}

// words32 are keys of 4 bytes, the highest first.
func words32(t *trace, r *bufio.Reader) error {
	return words(r, 4, func(b []byte) bool { return t.add(uint64(binary.BigEndian.Uint32(b)), 0) })
}

// words64 are keys of 8 bytes, the highest first.
func words64(t *trace, r *bufio.Reader) error {
	return words(r, 8, func(b []byte) bool { return t.add(binary.BigEndian.Uint64(b), 0) })
}

func words(r *bufio.Reader, n int, add func(b []byte) bool) error {
	b := make([]byte, n)
	for {
		switch _, err := io.ReadFull(r, b); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case !add(b):
			return nil
		}
	}
}

// lines are keys in decimals, one a line, with empty lines and stars between.
func lines(t *trace, r *bufio.Reader) error {
	return fields(r, "\n", 1, func(n []uint64) bool { return t.add(n[0], 0) })
}

// adaptSize is a time, a key and a size on each line; the size does not count here.
func adaptSize(t *trace, r *bufio.Reader) error {
	return fields(r, " ", 3, func(n []uint64) bool { return t.add(n[1], 0) })
}

// adaptSizeSized is adaptSize with the size.
func adaptSizeSized(t *trace, r *bufio.Reader) error {
	return fields(r, " ", 3, func(n []uint64) bool { return t.add(n[1], int(n[2])) })
}

// csv has a head, and version, time, operation in hexadecimals, size and block.
func csv(t *trace, r *bufio.Reader) error {
	return blocks(r, func(_, block uint64) bool { return t.add(block, 0) })
}

// csvSized is csv with the size.
func csvSized(t *trace, r *bufio.Reader) error {
	return blocks(r, func(size, block uint64) bool { return t.add(block, int(size)) })
}

func blocks(r *bufio.Reader, add func(size, block uint64) bool) error {
	if _, err := r.ReadString('\n'); err != nil {
		return err
	}
	return each(r, func(line string) (bool, error) {
		f := strings.Split(line, ",")
		if len(f) != 5 {
			return false, fmt.Errorf("bad line %q", line)
		}
		size, err := strconv.ParseUint(f[3], 10, 31)
		if err != nil {
			return false, err
		}
		block, err := strconv.ParseUint(f[4], 10, 64)
		return err == nil && add(size, block), err
	})
}

// fields reads lines of n numbers.
func fields(r *bufio.Reader, between string, n int, add func(numbers []uint64) bool) error {
	numbers := make([]uint64, n)
	return each(r, func(line string) (bool, error) {
		if line == "" || line == "*" {
			return true, nil
		}
		f := strings.Split(line, between)
		if len(f) != n {
			return false, fmt.Errorf("bad line %q", line)
		}
		for i := range numbers {
			var err error
			if numbers[i], err = strconv.ParseUint(f[i], 10, 63); err != nil {
				return false, err
			}
		}
		return add(numbers), nil
	})
}

// each calls f with each line, until it wants no more.
func each(r *bufio.Reader, f func(line string) (more bool, err error)) error {
	for s := bufio.NewScanner(r); ; {
		if !s.Scan() {
			return s.Err()
		}
		if more, err := f(strings.TrimSpace(s.Text())); !more || err != nil {
			return err
		}
	}
}

// zipf draws keys of which few are popular. With scans each fourth run of 20,000 requests is for keys
// that never come again.
func zipf(scans bool, most int) *trace {
	t := &trace{most: most}
	z := rand.NewZipf(rand.New(rand.NewPCG(3, 4)), 1.01, 1, 999_999)
	for i, more := 0, true; more; i++ {
		if scans && i/20_000%4 == 3 {
			more = t.add(uint64(2_000_000+i), 0)
		} else {
			more = t.add(z.Uint64(), 0)
		}
	}
	return t
}
