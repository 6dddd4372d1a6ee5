// Command sortlines compares freehold sort with GNU sort: the CPU time and the wall time of the whole process, its peak RSS, and the bytes that it writes to temporary files.
//
//	go run ./sortlines              # lines in memory, and 4 GB in 128 MiB; takes 12 GB of disk
//	go run ./sortlines -run memory  # the first half
//	go run ./sortlines -large       # 20 GB in 512 MiB, freehold sort alone, checked line by line; takes 21 GB of disk
//
// Both sort the same file with two threads and the same -S, write a file, and take turns. The outputs must be the same. A figure is the median of the rounds. It needs
// Linux and GNU sort.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "sortlines:", err)
		os.Exit(1)
	}
}

// A task is an input and its bars. A bar of 0 is none.
type task struct {
	name           string
	line           func(r *rand.Rand, to []byte) []byte
	bytes          int64
	memory         string // the argument of -S
	cpu, wall      float64
	written        float64 // bytes of temporary files by those of the input
	beyond, budget int64   // MiB of resident memory: beyond the budget
}

func tasks(size int64) []task {
	return []task{
		{name: "memory/random", line: randomLine, bytes: 296e6, memory: "4G", cpu: 0.35, wall: 0.5},
		{name: "memory/urls", line: urlLine, bytes: 268e6, memory: "4G", cpu: 0.6, wall: 0.5},
		{name: "disk/random", line: randomLine, bytes: size, memory: "128M", cpu: 0.5, wall: 1.0, written: 1.05, beyond: 32, budget: 128},
	}
}

// randomLine is 8 to 64 random characters.
func randomLine(r *rand.Rand, to []byte) []byte {
	const digits = "0123456789abcdef"
	n := 8 + r.IntN(57)
	for n > 0 {
		bits := r.Uint64()
		for range min(n, 16) {
			to = append(to, digits[bits&15])
			bits >>= 4
		}
		n -= 16
	}
	return append(to, '\n')
}

func urlLine(r *rand.Rand, to []byte) []byte {
	return fmt.Appendf(to, "https://www.example%d.com/path/%d/item?id=%d\n", r.IntN(500), r.IntN(1000), r.IntN(1<<30))
}

func run() error {
	rounds := flag.Int("count", 3, "rounds")
	which := flag.String("run", "", "regular expression: only these tasks")
	size := flag.Int64("size", 4e9, "bytes of the input on disk")
	large := flag.Bool("large", false, "instead, sort -size bytes (by default 20e9) in 512 MiB and check the output")
	dir := flag.String("dir", "", "folder for inputs, outputs and temporary files (default: a temporary one)")
	flag.Parse()
	chosen, err := regexp.Compile(*which)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(*dir, "sortlines-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	binary := filepath.Join(work, "freehold")
	build := exec.Command("go", "build", "-C", "../cmd", "-o", binary, "./freehold")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	if *large {
		if *size == 4e9 {
			*size = 20e9
		}
		return sortLarge(binary, work, *size)
	}
	out, err := exec.Command("sort", "--version").Output()
	if err != nil || !bytes.Contains(out, []byte("GNU coreutils")) {
		return fmt.Errorf("no GNU sort: %v", err)
	}
	gnu, _, _ := strings.Cut(string(out), "\n")
	fmt.Printf("freehold sort beside %s, two threads, median of %d\n\n%-15s %8s %14s %14s %12s %12s\n", gnu, *rounds, "", "MB", "CPU s", "wall s", "peak MiB", "temporary MB")
	missed := 0
	for _, t := range tasks(*size) {
		if !chosen.MatchString(t.name) {
			continue
		}
		n, err := t.run(binary, work, *rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		missed += n
	}
	if missed > 0 {
		return fmt.Errorf("%d bars are missed", missed)
	}
	return nil
}

// A cost is what a process took.
type cost struct {
	cpu, wall time.Duration
	peak      int64 // bytes
	written   int64 // bytes, of all files
}

// measure runs a command to its end.
func measure(cmd *exec.Cmd) (c cost, err error) {
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stderr = os.Stderr
	began := time.Now()
	err = cmd.Run()
	c.wall = time.Since(began)
	if s := cmd.ProcessState; s != nil {
		usage := s.SysUsage().(*syscall.Rusage)
		c.cpu, c.peak, c.written = s.UserTime()+s.SystemTime(), usage.Maxrss<<10, usage.Oublock*512
	}
	return c, err
}

// run compares the two on one task and prints a row for each, and one for the ratios and the bars. It
// returns the number of missed bars.
func (t *task) run(binary, work string, rounds int) (missed int, err error) {
	in, ours, theirs := filepath.Join(work, "in"), filepath.Join(work, "ours"), filepath.Join(work, "gnu")
	size, err := t.generate(in)
	if err != nil {
		return 0, err
	}
	options := []string{"-S", t.memory, "--parallel=2", "-T", work}
	var a, b []cost
	for range rounds {
		c, err := measure(exec.Command(binary, append(append([]string{"sort"}, options...), "-o", ours, in)...))
		if err != nil {
			return 0, err
		}
		a = append(a, c)
		if c, err = measure(exec.Command("sort", append(options, "-o", theirs, in)...)); err != nil {
			return 0, err
		}
		b = append(b, c)
		if err := exec.Command("cmp", ours, theirs).Run(); err != nil {
			return 0, fmt.Errorf("the outputs differ: %w", err)
		}
		os.Remove(ours) // or the next round also pays for the end of these
		os.Remove(theirs)
	}
	x, y := medians(a), medians(b)
	x.written, y.written = max(x.written-size, 0), max(y.written-size, 0)
	row := func(who string, c cost) {
		fmt.Printf("%-15s %8d %14.2f %14.2f %12d %12d\n", who, size/1e6, c.cpu.Seconds(), c.wall.Seconds(), c.peak>>20, c.written/1e6)
	}
	row(t.name, x)
	row("  GNU sort", y)
	bar := func(value, most float64) string {
		if most == 0 {
			return ""
		}
		verdict := "met"
		if value > most {
			verdict = "MISSED"
			missed++
		}
		return fmt.Sprintf("%.2f of %.4g %s", value, most, verdict)
	}
	fmt.Printf("%-15s %8s  CPU %s, wall %s", "  ratios, bars", "", bar(x.cpu.Seconds()/y.cpu.Seconds(), t.cpu), bar(x.wall.Seconds()/y.wall.Seconds(), t.wall))
	if t.written > 0 {
		fmt.Printf(", written by input %s, MiB beyond the budget %s", bar(float64(x.written)/float64(size), t.written), bar(float64(x.peak>>20-t.budget), float64(t.beyond)))
	}
	fmt.Print("\n\n")
	return missed, os.Remove(in)
}

func medians(costs []cost) (c cost) {
	middle := func(of func(cost) int64) int64 {
		var all []int64
		for _, c := range costs {
			all = append(all, of(c))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	return cost{
		cpu: time.Duration(middle(func(c cost) int64 { return int64(c.cpu) })), wall: time.Duration(middle(func(c cost) int64 { return int64(c.wall) })),
		peak: middle(func(c cost) int64 { return c.peak }), written: middle(func(c cost) int64 { return c.written }),
	}
}

// generate writes the input. Its pages are in the page cache and on the disk afterwards, so that no
// contestant waits for their writing.
func (t *task) generate(path string) (size int64, err error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	size, _, err = writeLines(f, t.line, t.bytes)
	return size, errors.Join(err, f.Sync(), f.Close())
}

// writeLines writes lines until there are so many bytes. Sum is that of the lines in any order.
func writeLines(to io.Writer, line func(*rand.Rand, []byte) []byte, most int64) (size int64, sum uint64, err error) {
	w := bufio.NewWriterSize(to, 1<<20)
	r := rand.New(rand.NewPCG(1, 2))
	var b []byte
	for size < most && err == nil {
		b = line(r, b[:0])
		sum += hash(b[:len(b)-1])
		size += int64(len(b))
		_, err = w.Write(b)
	}
	return size, sum, errors.Join(err, w.Flush())
}

func hash(line []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range line {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// sortLarge sorts an input that is generated and an output that is checked while they pass through
// pipes, so that the disk holds the temporary files alone.
func sortLarge(binary, work string, size int64) error {
	const budget = 512
	cmd := exec.Command(binary, "sort", "-S", strconv.Itoa(budget)+"M", "--parallel=2", "-T", work)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	var wrote struct {
		size int64
		sum  uint64
		err  error
	}
	go func() {
		defer in.Close()
		wrote.size, wrote.sum, wrote.err = writeLines(in, randomLine, size)
	}()
	read := make(chan error, 1)
	var got int64
	var sum uint64
	go func() {
		var last []byte
		s := bufio.NewScanner(out)
		s.Buffer(make([]byte, 1<<20), 1<<20)
		for s.Scan() {
			line := s.Bytes()
			if bytes.Compare(last, line) > 0 {
				read <- fmt.Errorf("%q is behind %q", line, last)
				cmd.Process.Kill()
				return
			}
			last = append(last[:0], line...)
			got += int64(len(line)) + 1
			sum += hash(line)
		}
		read <- s.Err()
	}()
	cmd.Stderr = os.Stderr
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := <-read; err != nil {
		return err
	}
	if err := errors.Join(cmd.Wait(), wrote.err); err != nil {
		return err
	}
	if got != wrote.size || sum != wrote.sum {
		return fmt.Errorf("read %d bytes with the sum %x, want %d and %x", got, sum, wrote.size, wrote.sum)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	peak := usage.Maxrss >> 10
	fmt.Printf("%d MB sorted in %s, CPU %.0f s, peak %d MiB with a budget of %d, temporary files %d MB; the output is in order and complete\n",
		got/1e6, time.Since(began).Round(time.Second), (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), peak, budget, usage.Oublock*512/1e6)
	if peak > budget+32 {
		return fmt.Errorf("the peak is more than 32 MiB beyond the budget")
	}
	return nil
}
