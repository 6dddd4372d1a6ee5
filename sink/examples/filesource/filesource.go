// SPDX-License-Identifier: Apache-2.0

// Package filesource is an example of a source written outside the sink: lines of files are the values of records.
//
// A directory is a topic, its files 0.log, 1.log and so on are the partitions, and a line's number is the offset.
//
// It shows what an implementation of source.Source has to do, and its test how the conformance suite runs on it. It is simple where the Kafka source is not: one process
// reads all partitions, and looks for new lines each 50 ms.
package filesource

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/freehold-go/freehold/sink/record"
	"github.com/freehold-go/freehold/sink/source"
)

// New returns a source of the files in a directory. No other process reads them with a source.
func New(dir string) source.Source {
	return &files{dir: dir, topic: filepath.Base(dir), read: map[int32]*partition{}}
}

type files struct {
	dir, topic string
	read       map[int32]*partition // by their numbers; of Run
	mu         sync.Mutex           // guards the file of commits
}

// partition is a file that is being read.
type partition struct {
	*os.File
	lines  *bufio.Reader
	begun  []byte // a line without its end
	offset int64  // of the next line
}

const (
	pause     = 50 * time.Millisecond
	batch     = 1000 // records at most
	committed = "committed.json"
)

// Run implements source.Source.
func (s *files) Run(ctx context.Context, h source.Handler) error {
	for {
		if err := h.Ready(ctx); err != nil {
			return err
		}
		if err := s.open(h); err != nil {
			return err
		}
		found := false
		for _, n := range slices.Sorted(maps.Keys(s.read)) {
			records, err := s.read[n].fetch(s.topic, n)
			if err != nil {
				return err
			}
			if len(records) == 0 {
				continue
			}
			found = true
			next := source.Position{Next: s.read[n].offset, Epoch: -1}
			// The collector frees the bytes, so there is nothing to release.
			h.Batch(source.Partition{Topic: s.topic, Number: n}, records, next, func() {})
		}
		if found {
			continue
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// open opens files that are new, and goes on where the last process has committed.
func (s *files) open(h source.Handler) error {
	positions, err := s.positions()
	if err != nil {
		return err
	}
	for n := range int32(1 << 16) {
		if s.read[n] != nil {
			continue
		}
		f, err := os.Open(filepath.Join(s.dir, fmt.Sprint(n, ".log")))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("filesource: %w", err)
		}
		p := &partition{File: f, lines: bufio.NewReader(f)}
		s.read[n] = p
		who := source.Partition{Topic: s.topic, Number: n}
		h.Assigned(who)
		at, ok := positions[n]
		if !ok {
			continue
		}
		for p.offset < at.Next {
			line, err := p.line()
			if err == nil && line == nil {
				err = fmt.Errorf("filesource: %s has %d lines, but %d are committed", f.Name(), p.offset, at.Next)
			}
			if err != nil {
				return err
			}
		}
		h.Committed(who, at)
	}
	return nil
}

// line returns the next line without its end, or nil if there is none yet.
func (p *partition) line() ([]byte, error) {
	part, err := p.lines.ReadBytes('\n')
	p.begun = append(p.begun, part...)
	switch {
	case errors.Is(err, io.EOF): // The rest may come later.
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("filesource: %w", err)
	}
	line := bytes.TrimSuffix(p.begun, []byte("\n"))
	p.begun = nil
	p.offset++
	return line, nil
}

// fetch reads the lines that have come.
func (p *partition) fetch(topic string, number int32) (records []record.Record, err error) {
	for len(records) < batch {
		offset := p.offset
		line, err := p.line()
		if err != nil || line == nil {
			return records, err
		}
		records = append(records, record.Record{Topic: topic, Partition: number, Offset: offset, LeaderEpoch: -1, Timestamp: -1, Value: line})
	}
	return records, nil
}

// positions are what was committed.
func (s *files) positions() (at map[int32]source.Position, err error) {
	text, err := os.ReadFile(filepath.Join(s.dir, committed))
	if errors.Is(err, fs.ErrNotExist) {
		return map[int32]source.Position{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &at)
	}
	if err != nil {
		return nil, fmt.Errorf("filesource: %w", err)
	}
	return at, nil
}

// Commit implements source.Source. It replaces the file of commits whole.
func (s *files) Commit(_ context.Context, positions map[source.Partition]source.Position) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, err := s.positions()
	if err != nil {
		return err
	}
	for p, position := range positions {
		at[p.Number] = position
	}
	text, err := json.Marshal(at)
	if err != nil {
		return err
	}
	name := filepath.Join(s.dir, committed)
	f, err := os.Create(name + ".new")
	if err != nil {
		return fmt.Errorf("filesource: %w", err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("filesource: %w", err)
	}
	return nil
}

// Close implements source.Source.
func (s *files) Close() (err error) {
	for _, p := range s.read {
		err = errors.Join(err, p.Close())
	}
	return err
}
