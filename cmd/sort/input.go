// SPDX-License-Identifier: Apache-2.0

package sort

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// readFiles0 returns the names of the inputs that a file lists, with NUL behind each.
func (c *command) readFiles0(name string) (files []string, err error) {
	in, err := c.open(name)
	if err != nil {
		return nil, err
	}
	defer in.close()
	list, err := io.ReadAll(in.r)
	if err != nil {
		return nil, fmt.Errorf("cannot read file names from '%s'", name)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no input from '%s'", name)
	}
	files = strings.Split(strings.TrimSuffix(string(list), "\x00"), "\x00")
	for i, f := range files {
		if f == "" {
			return nil, fmt.Errorf("%s:%d: invalid zero-length file name", name, i+1)
		}
		if f == "-" {
			return nil, fmt.Errorf("when reading file names from standard input, no file name of '-' allowed")
		}
	}
	return files, nil
}

// An input is an open file, or a part of one, that is read in blocks of whole lines.
type input struct {
	name  string
	r     io.Reader
	eol   byte
	most  int    // the longest line
	rest  []byte // the beginning of a line whose end no block has had yet
	read  int64  // bytes
	ended bool
}

// open opens the file of that name, or the standard input for the name "-".
func (c *command) open(name string) (*input, error) {
	in := &input{name: name, r: c.stdin, eol: c.eol, most: c.longest}
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, sysError("open failed", name, err)
		}
		in.r = f
	}
	return in, nil
}

// close closes the file; the standard input stays open.
func (in *input) close() {
	if f, ok := in.r.(*os.File); ok && in.name != "-" {
		f.Close() // it was only read
	}
}

// next reads a block of whole lines into buf, whose capacity is the size of a block. It grows buf
// only for a line that is longer. Each line ends with eol, also the last of the file, which may have
// none. The error is io.EOF behind the last block.
func (in *input) next(buf []byte) ([]byte, error) {
	buf = append(buf[:0], in.rest...)
	for !in.ended {
		if len(buf) == cap(buf) {
			if len(buf) > in.most {
				return buf, fmt.Errorf("%s: the line at byte %d is longer than %d bytes, a quarter of the buffer; -S sets its size", in.name, in.read-int64(len(buf)), in.most)
			}
			grown := make([]byte, len(buf), 2*len(buf)+1)
			copy(grown, buf)
			buf = grown
		}
		searched := len(buf)
		for len(buf) < cap(buf) && !in.ended {
			n, err := in.r.Read(buf[len(buf):cap(buf)])
			buf = buf[:len(buf)+n]
			in.read += int64(n)
			if err == io.EOF {
				in.ended = true
			} else if err != nil {
				return buf, sysError("read failed", in.name, err)
			}
		}
		if in.ended {
			break
		}
		if end := bytes.LastIndexByte(buf[searched:], in.eol); end >= 0 {
			end += searched + 1
			in.rest = append(in.rest[:0], buf[end:]...)
			return buf[:end], nil
		}
	}
	in.rest = nil
	if len(buf) == 0 {
		return buf, io.EOF
	}
	if buf[len(buf)-1] != in.eol {
		buf = append(buf, in.eol)
	}
	return buf, nil
}

// lines reads an input line by line.
type lines struct {
	*input
	buf, block []byte
	line       []byte // valid until the next call of advance
}

// advance moves on to the next line. It returns false at the end.
func (l *lines) advance() (bool, error) {
	if len(l.block) == 0 {
		var err error
		if l.buf, err = l.next(l.buf); err != nil {
			if err == io.EOF {
				return false, nil
			}
			return false, err
		}
		l.block = l.buf
	}
	end := bytes.IndexByte(l.block, l.eol)
	l.line, l.block = l.block[:end], l.block[end+1:]
	return true, nil
}

// checkInputs returns an error for the first file that cannot be read, before anything is written.
func (c *command) checkInputs(files []string) error {
	for _, name := range files {
		if name == "-" {
			continue
		}
		if err := readable(name); err != nil {
			return sysError("cannot read", name, err)
		}
	}
	return nil
}

// outOfFiles reports whether the process has as many open files as it may have.
func outOfFiles(err error) bool { return errors.Is(err, syscall.EMFILE) }
