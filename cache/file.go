// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/freehold-go/freehold/internal/tempfile"
)

// A saved cache is a file:
//
//	"FHCACHE\n" | version 1 | kind length 4 | kind | CRC-32C of all before, 4
//	blocks, each: blockMagic 4 | bytes of the records 4 | number of the block 4 | CRC-32C of these 12 bytes, 4 | CRC-32C of the records, 4 | records
//	the last block has no records
//
// A record is: key length | value length | expiry | idle | key | value. The first four are unsigned
// varints; expiry is Unix milliseconds, or 0; idle is the milliseconds that the entry may still lie unused, or 0. Numbers are little-endian. kind is
// empty for a Cache, and says the types of Values.
//
// If a block is damaged, its records are lost and the next block is found: by the length, if the
// block's head is whole, or else by its magic number.

const (
	fileMagic   = "FHCACHE\n"
	fileVersion = 1
	mostKind    = 1 << 20
	blockMagic  = 0x4b4c4246 // "FBLK".
	blockHead   = 20
	blockSize   = 64 << 10                          // A block ends with the record that reaches it. A larger record has a block of its own.
	mostRecord  = mostKey + 4*binary.MaxVarintLen64 // Of a record without its value.
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// LoadStats says what Load has read.
type LoadStats struct {
	Entries int64 // Entries that were stored.
	Expired int64 // Entries that had expired since.
	Refused int64 // Entries that were not stored, for lack of room or because the types have no such keys or values.
	Damaged int64 // Blocks that were damaged; about 64 KiB each, or one large entry.
}

var (
	// ErrFile says that a file is no saved cache, or of a later version.
	ErrFile = errors.New("cache: not a saved cache")
	// ErrKind says that a file was saved by a cache of other types.
	ErrKind = errors.New("cache: saved by a cache of other types")
)

// save writes all entries to a file. The file appears when it is complete.
func (e *engine) save(path, kind string) (err error) {
	f, err := tempfile.Target(path, 0o600)
	if err != nil {
		return fmt.Errorf("cache: save: %w", err)
	}
	named := false
	defer func() {
		if !named {
			f.Close()
			tempfile.Discard(f)
			err = fmt.Errorf("cache: save to %s: %w", path, err)
		}
	}()
	w := fileWriter{w: bufio.NewWriterSize(f, 1<<20)}
	head := append([]byte(fileMagic), fileVersion)
	head = append(binary.LittleEndian.AppendUint32(head, uint32(len(kind))), kind...)
	w.write(binary.LittleEndian.AppendUint32(head, crc32.Checksum(head, castagnoli)))
	now, wall := e.now(), time.Now().UnixMilli()
	if e.o.Clock != nil {
		wall = e.o.Clock().UnixMilli()
	}
	e.all(func(r record) bool {
		w.add(r, now, wall)
		return w.err == nil
	})
	w.flush()
	w.flush()                            // The last block, which has no records.
	if w.err == nil && e.n.Load() == 0 { // It may have been closed before the last entry.
		w.err = ErrClosed
	}
	if w.err != nil {
		return w.err
	}
	if err := w.w.Flush(); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := tempfile.Name(f, path); err != nil {
		return err
	}
	named = true
	if err := f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return tempfile.SyncFolder(filepath.Dir(path))
}

type fileWriter struct {
	w     *bufio.Writer
	block []byte
	n     uint32
	err   error
}

func (w *fileWriter) write(b []byte) {
	if w.err == nil {
		_, w.err = w.w.Write(b)
	}
}

// add adds a record. now is the engine's time, wall the same as Unix milliseconds.
func (w *fileWriter) add(r record, now, wall int64) {
	expiry, idle := int64(0), int64(0)
	if r.until.at != 0 {
		expiry = r.until.at - now + wall
	}
	if r.until.idle != 0 {
		idle = max(r.until.idle-now, 1)
	}
	if len(w.block) > 0 && len(r.key)+len(r.value) >= blockSize {
		w.flush()
	}
	for _, n := range [4]uint64{uint64(len(r.key)), uint64(len(r.value)), uint64(max(expiry, 0)), uint64(idle)} {
		w.block = binary.AppendUvarint(w.block, n)
	}
	w.block = append(append(w.block, r.key...), r.value...)
	if len(w.block) >= blockSize {
		w.flush()
	}
}

// flush writes a block.
func (w *fileWriter) flush() {
	var head [blockHead]byte
	binary.LittleEndian.PutUint32(head[0:], blockMagic)
	binary.LittleEndian.PutUint32(head[4:], uint32(len(w.block)))
	binary.LittleEndian.PutUint32(head[8:], w.n)
	binary.LittleEndian.PutUint32(head[12:], crc32.Checksum(head[:12], castagnoli))
	binary.LittleEndian.PutUint32(head[16:], crc32.Checksum(w.block, castagnoli))
	w.write(head[:])
	w.write(w.block)
	w.n++
	w.block = w.block[:0]
}

// load stores the entries of a file that save has written, if fits allows them.
func (e *engine) load(path, kind string, fits func(key, value []byte) bool) (s LoadStats, err error) {
	f, err := os.Open(path)
	if err != nil {
		return s, fmt.Errorf("cache: load: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return s, fmt.Errorf("cache: load: %w", err)
	}
	r := bufio.NewReaderSize(f, 1<<20)
	if err := readFileHead(r, kind); err != nil {
		return s, fmt.Errorf("%w: %s", err, path)
	}
	now, wall := e.now(), time.Now().UnixMilli()
	if e.o.Clock != nil {
		wall = e.o.Clock().UnixMilli()
	}
	var block []byte
	for {
		if e.n.Load() == 0 {
			return s, fmt.Errorf("%w: load %s", ErrClosed, path)
		}
		size, sum, err := findBlock(r, &s)
		if err != nil {
			if err != io.EOF {
				return s, fmt.Errorf("cache: load: %w", err)
			}
			s.Damaged++ // The last block is missing.
			return s, nil
		}
		if size == 0 {
			return s, nil
		}
		if int64(size) > info.Size() {
			s.Damaged++
			continue
		}
		if int64(size) > blockSize+mostRecord+e.mostValue() { // So its last entry is too large. No memory is taken for it.
			s.Refused++
			if _, err := io.CopyN(io.Discard, r, int64(size)); err != nil && err != io.EOF {
				return s, fmt.Errorf("cache: load: %w", err)
			}
			continue
		}
		block = append(block[:0], make([]byte, size)...)
		switch _, err := io.ReadFull(r, block); err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			s.Damaged++
			return s, nil
		default:
			return s, fmt.Errorf("cache: load: %w", err)
		}
		if crc32.Checksum(block, castagnoli) != sum || !e.loadBlock(block, &s, now, wall, fits) {
			s.Damaged++
		}
	}
}

func readFileHead(r *bufio.Reader, kind string) error {
	head := make([]byte, len(fileMagic)+5)
	if _, err := io.ReadFull(r, head); err != nil || string(head[:len(fileMagic)]) != fileMagic {
		return ErrFile
	}
	size := binary.LittleEndian.Uint32(head[len(fileMagic)+1:])
	if size > mostKind {
		return fmt.Errorf("%w: its head is damaged", ErrFile)
	}
	rest := make([]byte, size+4)
	if _, err := io.ReadFull(r, rest); err != nil {
		return ErrFile
	}
	n := len(rest) - 4
	head = append(head, rest[:n]...)
	switch {
	case crc32.Checksum(head, castagnoli) != binary.LittleEndian.Uint32(rest[n:]):
		return fmt.Errorf("%w: its head is damaged", ErrFile)
	case head[len(fileMagic)] != fileVersion:
		return fmt.Errorf("%w: version %d, this is %d", ErrFile, head[len(fileMagic)], fileVersion)
	case string(rest[:n]) != kind:
		return fmt.Errorf("%w: %q, not %q", ErrKind, rest[:n], kind)
	}
	return nil
}

// findBlock reads the head of the next block. If the bytes here are none, it looks for one behind them,
// and counts one damaged block.
func findBlock(r *bufio.Reader, s *LoadStats) (size, sum uint32, err error) {
	for skipped := false; ; {
		head, err := r.Peek(blockHead)
		if err != nil {
			return 0, 0, err
		}
		if binary.LittleEndian.Uint32(head) == blockMagic && crc32.Checksum(head[:12], castagnoli) == binary.LittleEndian.Uint32(head[12:]) {
			size, sum = binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint32(head[16:])
			_, err := r.Discard(blockHead)
			return size, sum, err
		}
		if !skipped {
			skipped = true
			s.Damaged++
		}
		if _, err := r.Discard(1); err != nil {
			return 0, 0, err
		}
	}
}

// loadBlock stores the records of a block, and says whether it was whole.
func (e *engine) loadBlock(b []byte, s *LoadStats, now, wall int64, fits func(key, value []byte) bool) bool {
	for len(b) > 0 {
		var n [4]uint64
		for i := range n {
			v, size := binary.Uvarint(b)
			if size <= 0 {
				return false
			}
			n[i], b = v, b[size:]
		}
		if n[0] > uint64(len(b)) || n[1] > uint64(len(b))-n[0] {
			return false
		}
		key, value := b[:n[0]], b[n[0]:n[0]+n[1]]
		b = b[n[0]+n[1]:]
		var t deadlines
		if n[2] != 0 {
			if t.at = int64(min(n[2], 1<<62)) - wall + now; t.at <= now {
				s.Expired++
				continue
			}
			t.at = min(t.at, mostDeadline)
		}
		if idle := e.o.Idle.Milliseconds(); idle > 0 { // Of this cache, whatever that of the file was.
			if t.idle = now + idle; n[3] != 0 {
				t.idle = now + int64(min(n[3], uint64(idle)))
			}
		}
		if !fits(key, value) || e.set(key, value, t) != nil {
			s.Refused++
			continue
		}
		s.Entries++
	}
	return true
}
