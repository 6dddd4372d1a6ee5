// SPDX-License-Identifier: Apache-2.0

package sort

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// outputBlock is the size of a block. One is filled while the one before is written.
const outputBlock = 256 << 10

// An output collects lines in blocks. A goroutine writes them. There are two ways to write a file:
//
//  1. a new file beside it, which takes its name, mode and owner at the end. A file that exists stays
//     whole until then, so it can be an input, and a full disk does not cost it.
//  2. the file itself, if it is not regular, has several names, is a symbolic link or a name in /dev,
//     or if its folder refuses new files. Its old content goes at the first write.
type output struct {
	name    string // "" is the standard output
	w       io.Writer
	eol     byte
	buf     []byte
	written chan writing // of the block before, nil if there is none

	target   *os.File // the file itself, nil for the standard output
	created  bool     // target did not exist
	truncate bool     // target has old content
	fresh    *os.File // the new file, nil if there is none
	signals  chan os.Signal

	mu     sync.Mutex // of the next field, which a signal changes
	rename bool       // fresh exists and has yet to take the name of target
}

// A writing is a block that was written, and the error.
type writing struct {
	block []byte
	err   error
}

// create opens the output.
func (c *command) create() (*output, error) {
	out := &output{name: c.output, w: c.stdout, eol: c.eol}
	if out.name == "" {
		return out, nil
	}
	before, err := os.Lstat(out.name)
	out.created = err != nil
	if out.target, err = os.OpenFile(out.name, os.O_WRONLY|os.O_CREATE, 0o666); err != nil {
		return nil, sysError("open failed", out.name, err)
	}
	out.w = out.target
	if out.replaceable(before) && out.createBeside() == nil {
		return out, nil
	}
	info, err := out.target.Stat()
	out.truncate = err == nil && info.Mode().IsRegular()
	return out, nil
}

// replaceable reports whether another file can take the name of the target. Before describes what
// had the name, nil for nothing.
func (out *output) replaceable(before fs.FileInfo) bool {
	if before == nil {
		return true
	}
	path, err := filepath.Abs(out.name)
	return err == nil && before.Mode().IsRegular() && links(before) == 1 && !strings.HasPrefix(path, "/dev/") && !strings.HasPrefix(path, "/proc/")
}

// createBeside makes the new file. An error means that there is none.
func (out *output) createBeside() error {
	info, err := out.target.Stat()
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(out.name), "."+filepath.Base(out.name)+"-sort-*")
	if err != nil {
		return err
	}
	if err = giveOwner(f, info); err == nil {
		err = f.Chmod(info.Mode()) // behind chown, which clears bits
	}
	if err != nil {
		f.Close()
		os.Remove(f.Name())
		return err
	}
	out.fresh, out.w, out.rename = f, f, true
	out.signals = make(chan os.Signal, 1)
	signal.Notify(out.signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		s := <-out.signals
		out.abort()
		signal.Reset()
		if p, err := os.FindProcess(os.Getpid()); err == nil && p.Signal(s) == nil {
			select {} // the signal ends the process
		}
		os.Exit(exitTrouble)
	}()
	return nil
}

// overwrites reports whether the output is written in place and is one of the files.
func (out *output) overwrites(files []string) bool {
	f, ok := out.w.(*os.File)
	if !ok || f == out.fresh {
		return false
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	for _, name := range files {
		other, err := os.Stdin.Stat()
		if name != "-" {
			other, err = os.Stat(name)
		}
		if err == nil && os.SameFile(info, other) {
			return true
		}
	}
	return false
}

// write appends a line.
func (out *output) write(line []byte) error {
	if len(out.buf)+len(line)+1 > cap(out.buf) {
		if err := out.flush(); err != nil {
			return err
		}
		if len(line)+1 > cap(out.buf) {
			out.buf = make([]byte, 0, max(outputBlock, len(line)+1))
		}
	}
	out.buf = append(append(out.buf, line...), out.eol)
	return nil
}

// flush begins to write the block that is full, when the one before is written.
func (out *output) flush() error {
	next, err := out.settle()
	if err != nil {
		return err
	}
	if out.truncate {
		out.truncate = false
		if err := out.target.Truncate(0); err != nil {
			return sysError("truncate failed", out.name, err)
		}
	}
	if len(out.buf) == 0 {
		return nil
	}
	block, written := out.buf, make(chan writing, 1)
	out.buf, out.written = next, written
	go func() {
		_, err := out.w.Write(block)
		written <- writing{block[:0], err}
	}()
	return nil
}

// settle waits until the block before is written, and returns it.
func (out *output) settle() (block []byte, err error) {
	if out.written == nil {
		return nil, nil
	}
	before := <-out.written
	out.written = nil
	if before.err != nil {
		return nil, sysError("write failed", out.name, before.err)
	}
	return before.block, nil
}

// commit writes the rest and puts the output in its place.
func (out *output) commit() error {
	if err := out.flush(); err != nil {
		return err
	}
	if _, err := out.settle(); err != nil {
		return err
	}
	if out.fresh != nil {
		if err := out.takeName(); err != nil {
			return err
		}
	}
	if out.target != nil {
		if err := out.target.Close(); err != nil {
			return sysError("close failed", out.name, err)
		}
	}
	return nil
}

// takeName gives the new file its name.
func (out *output) takeName() error {
	out.mu.Lock()
	defer out.mu.Unlock()
	if !out.rename {
		return fmt.Errorf("%s: interrupted", out.name)
	}
	if err := out.fresh.Close(); err != nil {
		return sysError("close failed", out.name, err)
	}
	if err := os.Rename(out.fresh.Name(), out.name); err != nil {
		return sysError("rename failed", out.name, err)
	}
	out.rename = false
	signal.Stop(out.signals)
	return nil
}

// abort removes the new file, and the name if the command has created it. It does nothing after
// commit, and for the other kinds of output.
func (out *output) abort() {
	out.mu.Lock()
	defer out.mu.Unlock()
	if !out.rename {
		return
	}
	out.rename = false
	os.Remove(out.fresh.Name())
	if out.created {
		os.Remove(out.name)
	}
	signal.Stop(out.signals)
}
