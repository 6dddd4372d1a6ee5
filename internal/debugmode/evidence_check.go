// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Evidence comes from other machines: from full disks, from processes that ended while they wrote,
// and from attackers. So each file must be a regular one of a bounded size, the report names the
// missing parts, and no control character reaches a terminal.

// The largest files of evidence, in bytes. A table has at most about 4 million records.
const (
	maxAbout  = 64 << 10
	maxBlocks = (1<<16 + 1<<22) * recordBytes
	maxText   = 256 << 20
)

// The longest texts of a report, in bytes.
const (
	maxLine  = 4 << 10
	maxStack = 64 << 10
)

// readRegular reads a file of a folder that must be a regular one of at most limit bytes: a pipe
// would block, and a device has no end.
func readRegular(folder, name string, limit int64) ([]byte, error) {
	path := filepath.Join(folder, name)
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readBounded(f, path, limit)
}

// readBounded reads all of r, which is called name in the error for more than limit bytes.
func readBounded(r io.Reader, name string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return data, err
}

// load decodes the records and texts, and notes the missing parts. The caller reads the blocks
// before the texts: a running process writes a text before the record that names it.
func (e *evidence) load(blocks, texts []byte) {
	records := uint64(len(blocks) / recordBytes)
	used := uint64(0)
	if records > 0 { // The head: see table.lose.
		used, e.lost = binary.NativeEndian.Uint64(blocks[8:]), binary.NativeEndian.Uint64(blocks[40:])
	}
	if records > 0 && !isHead(blocks) {
		used, e.lost = 0, 0
		e.flaws = append(e.flaws, "the file "+blocksFile+" is damaged")
	}
	if records == 0 || len(blocks)%recordBytes != 0 || used >= records {
		e.flaws = append(e.flaws, "the file "+blocksFile+" is cut off")
	}
	all := decodeRecords(blocks)
	e.records = slices.DeleteFunc(all, func(r record) bool { return !r.possible() })
	if n := len(all) - len(e.records); n > 0 {
		e.flaws = append(e.flaws, count(uint64(n), "record")+" damaged, or being written")
	}
	list, whole := decodeTexts(texts)
	e.texts = list
	for i := range e.records {
		r := &e.records[i]
		whole = whole && uint64(max(r.alloc, r.free, r.owner, r.typ, r.freeOp)) <= uint64(len(list))
	}
	if !whole {
		e.flaws = append(e.flaws, "the file "+textsFile+" is cut off")
	}
}

// isHead reports whether a table begins with a record without a block.
func isHead(blocks []byte) bool {
	return binary.NativeEndian.Uint32(blocks[recordBytes-4:]) == 0
}

// possible reports whether a record can be one that Add made.
func (r *record) possible() bool {
	const flags = flagUsed | flagFreed | flagLeak | flagGuarded | flagTomb
	return r.addr+r.size >= r.addr && r.size < 1<<60 && r.lo <= r.hi && r.flags&^flags == 0
}

// complete reports whether everything that the process knew is there.
func (e *evidence) complete() bool { return len(e.flaws) == 0 && e.lost == 0 }

// line is the text with a number, as a part of one line.
func (e *evidence) line(n uint32) string { return oneLine(e.text(n)) }

// oneLine is a text as a part of one line.
func oneLine(text string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(printable(cut(text, maxLine)))
}

// cut bounds a text.
func cut(text string, limit int) string {
	if len(text) > limit {
		return text[:limit] + "..."
	}
	return text
}

// printable replaces each unprintable character by its escape in Go's syntax, except newlines and
// tabs.
func printable(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case r == '\n' || r == '\t' || strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		text = text[size:]
	}
	return b.String()
}
