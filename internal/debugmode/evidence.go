// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Evidence.
//
// With Config.Evidence a process leaves what a report needs in a folder of its own: the table of
// blocks and the texts, as files that both this process and the watching copy map (shared.go), and
// the text of a crash. So there is a report even if the system ends the copy together with the
// process, as it does with process 1 of a container. ReadEvidence joins the three, on any machine
// with the same byte order.

// The files in a folder of evidence.
const (
	aboutFile  = "about.json"
	blocksFile = "blocks"
	textsFile  = "texts"
	crashFile  = "crash.txt"
)

// about is the content of aboutFile.
type about struct {
	Evidence   int       `json:"freehold_evidence"` // the version of the files: 1
	Program    string    `json:"program"`
	PID        int       `json:"pid"`
	Started    time.Time `json:"started"`
	Go         string    `json:"go"`
	System     string    `json:"system"`
	Modes      string    `json:"modes"`
	Leaks      bool      `json:"leaks"` // blocks that are in use at the end are leaks
	ByteOrder  string    `json:"byte_order"`
	RecordSize int       `json:"record_size"`
}

const evidenceVersion = 1

func newAbout(c Config, now time.Time) about {
	program, err := os.Executable()
	if err != nil && len(os.Args) > 0 {
		program = os.Args[0]
	}
	return about{
		Evidence: evidenceVersion, Program: program, PID: os.Getpid(), Started: now.UTC().Truncate(time.Second),
		Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, Modes: c.Words, Leaks: c.Leaks,
		ByteOrder: byteOrder(), RecordSize: recordBytes,
	}
}

// WriteEvidence writes to w the report of a folder of evidence: the process, the crash, and, if the
// mode leaks was on, the blocks that were not freed. A folder of such folders stands for the latest
// of them. The text of the crash is read from crash, or from the folder if crash is nil. It returns
// the number of mistakes: of blocks and arenas that were not freed, and one for a crash that memory
// of freehold's is known to have to do with. If the evidence is incomplete the report says so, and
// so does the error if the rest names no mistake.
func WriteEvidence(w io.Writer, folder string, crash io.Reader) (mistakes int, err error) {
	e, err := readEvidence(folder)
	if err != nil {
		return 0, err
	}
	if crash != nil {
		text, err := readBounded(crash, "it", maxText)
		if err != nil {
			return 0, fmt.Errorf("freehold: the text of the crash: %w", err)
		}
		e.crash = withoutPrefixes(string(text))
	}
	var b strings.Builder
	a := &e.about
	fmt.Fprintf(&b, "%s, process %d, started %s (%s, %s, FREEHOLD=%s)\n\n",
		oneLine(a.Program), a.PID, a.Started.Format("2006-01-02 15:04:05 UTC"), oneLine(a.Go), oneLine(a.System), oneLine(a.Modes))
	flaws := strings.Join(e.flaws, ", ")
	if flaws != "" {
		fmt.Fprintf(&b, "The evidence is incomplete: %s.\n\n", flaws)
	}
	mistakes = e.writeCrash(&b)
	if a.Leaks {
		b.WriteString("\n")
		mistakes += e.writeLeaks(&b)
	}
	_, err = io.WriteString(w, printable(b.String()))
	if err == nil && mistakes == 0 && flaws != "" {
		err = fmt.Errorf("freehold: the evidence in %s is incomplete (%s), and the rest names no mistake", folder, flaws)
	}
	return mistakes, err
}

// byteOrder is that of this machine.
func byteOrder() string {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return "little"
	}
	return "big"
}

// withoutPrefixes takes away what a log has put before each line, such as a time. It is known from
// the line about the signal: as many words as stand before that.
func withoutPrefixes(text string) string {
	words := 0
	for line := range strings.Lines(text) {
		at := strings.Index(line, "[signal SIG")
		if at < 0 {
			if at = strings.Index(line, "PC=0x"); at < 0 || !strings.Contains(line, " sigcode=") {
				continue
			}
		}
		words = strings.Count(line[:at], " ")
		break
	}
	if words == 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		rest, found := line, true
		for range words {
			if _, rest, found = strings.Cut(rest, " "); !found {
				rest = "\n" // A line of the prefix alone.
				break
			}
		}
		b.WriteString(rest)
	}
	return b.String()
}

// evidence is what a folder holds.
type evidence struct {
	about   about
	records []record
	texts   []string
	crash   string
	lost    uint64   // blocks that the table had no room for
	flaws   []string // the parts that are cut off or damaged
}

// readEvidence reads a folder, or the latest in it.
func readEvidence(folder string) (*evidence, error) {
	if info, err := os.Stat(folder); err != nil {
		return nil, fmt.Errorf("freehold: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("freehold: %s is no folder: pass the folder of the evidence, which has the files %s, %s, %s and %s, or the one of all evidence", folder, aboutFile, blocksFile, textsFile, crashFile)
	}
	if _, err := os.Lstat(filepath.Join(folder, aboutFile)); errors.Is(err, os.ErrNotExist) {
		latest, err := latestEvidence(folder)
		if err != nil {
			return nil, err
		}
		folder = latest
	}
	data, err := readRegular(folder, aboutFile, maxAbout)
	if err != nil {
		return nil, fmt.Errorf("freehold: %w", err)
	}
	var e evidence
	if err := json.Unmarshal(data, &e.about); err != nil || e.about.Evidence == 0 {
		return nil, fmt.Errorf("freehold: %s is no evidence of freehold's", filepath.Join(folder, aboutFile))
	}
	a := &e.about
	if a.Evidence != evidenceVersion || a.RecordSize != recordBytes || a.ByteOrder != byteOrder() {
		return nil, fmt.Errorf("freehold: the evidence in %s was written by another version of freehold, or on a machine with another byte order (%.20q)", folder, a.ByteOrder)
	}
	blocks, err1 := readRegular(folder, blocksFile, maxBlocks)
	texts, err2 := readRegular(folder, textsFile, maxText)
	crash, err3 := readRegular(folder, crashFile, maxText)
	if errors.Is(err3, os.ErrNotExist) {
		err3 = nil
	}
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, fmt.Errorf("freehold: %w", err)
	}
	e.load(blocks, texts)
	e.crash = string(crash)
	return &e, nil
}

// latestEvidence is the folder of evidence in another that was made last.
func latestEvidence(folder string) (string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", fmt.Errorf("freehold: %w", err)
	}
	var latest string
	var made time.Time
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if info, err := os.Stat(filepath.Join(path, aboutFile)); err == nil && !info.ModTime().Before(made) {
			latest, made = path, info.ModTime()
		}
	}
	if latest == "" {
		return "", fmt.Errorf("freehold: no evidence in %s: it is a folder with the files %s, %s, %s and %s", folder, aboutFile, blocksFile, textsFile, crashFile)
	}
	return latest, nil
}

// text is the text with a number.
func (e *evidence) text(n uint32) string {
	if n == 0 || uint64(n) > uint64(len(e.texts)) {
		return ""
	}
	return e.texts[n-1]
}

// block is the block of a record, with its texts in this process.
func (e *evidence) block(r *record) Block {
	b := r.blockOf(e.line)
	if b.Owner == "" {
		b.Owner = "of an owner that is not known"
	}
	if b.FreeOp == "" && r.flags&(flagFreed|flagTomb) != 0 { // Its name is lost, but not that it was freed.
		b.FreeOp = "free"
	}
	b.Alloc, b.Free = Stack(texts.intern(cut(e.text(r.alloc), maxStack))), Stack(texts.intern(cut(e.text(r.free), maxStack)))
	return b
}

// writeCrash explains the crash, and returns 1 if it has to do with a block that is known.
func (e *evidence) writeCrash(b *strings.Builder) int {
	if strings.TrimSpace(e.crash) == "" {
		b.WriteString("There is no text of a crash. If the process crashed, pass what it wrote to standard error.\n")
		return 0
	}
	c, ok := parseCrash(e.crash)
	if !ok {
		if at := strings.Index(e.crash, "freehold: "); at >= 0 {
			b.WriteString(strings.TrimSuffix(reportIn(e.crash[at:]), "\n") + "\n")
			return 1
		}
		first, _, _ := strings.Cut(strings.TrimSpace(e.crash), "\n")
		if strings.HasPrefix(first, "goroutine ") { // Go says why before it begins to write to the crash output.
			fmt.Fprintf(b, "The process ended for a reason that is no invalid access to memory. It stands in what the process wrote to standard error; here are only the stacks, from: %s\n", oneLine(first))
			return 0
		}
		fmt.Fprintf(b, "The process ended for a reason that is no invalid access to memory: %s\n", oneLine(first))
		return 0
	}
	best := nearest(uint64(c.addr), e.records)
	if best == nil && !e.complete() {
		fmt.Fprintf(b, "The process ended by an access at %#x, of which nothing is known, because the evidence is incomplete.\n", c.addr)
		return 0
	}
	if best == nil {
		fmt.Fprintf(b, "The process ended by an access at %#x, of which nothing is known: it is no guarded block, alive or freed not long before.\n", c.addr)
		return 0
	}
	b.WriteString(c.report(e.block(best)).String())
	return 1
}

// reportIn is the report at the beginning of a text: up to the first empty line, or to the
// traceback. Go indents the lines of a panic's value.
func reportIn(text string) string {
	text, _, _ = strings.Cut(text, "\n\n")
	text, _, _ = strings.Cut(text, "\ngoroutine ")
	return strings.ReplaceAll(text, "\n\t", "\n")
}

// writeLeaks lists the blocks that were in use, and returns their number.
func (e *evidence) writeLeaks(b *strings.Builder) (leaks int) {
	groups := Leaks(func(yield func(Block) bool) {
		for i := range e.records {
			if r := &e.records[i]; r.inUse() && !yield(e.block(r)) {
				return
			}
		}
	})
	for _, g := range groups {
		leaks += g.Blocks
	}
	switch {
	case leaks == 0 && e.complete():
		b.WriteString("Everything off the heap was freed.\n")
	case leaks == 0:
		b.WriteString("No leak is known, because the evidence is incomplete.\n")
	}
	_ = WriteLeaks(b, groups) // A Builder takes everything.
	b.WriteString(lostLeaks(e.lost))
	return leaks
}

// decodeTexts reads what textTable.write wrote, and reports whether the end is that of a write,
// done or begun.
func decodeTexts(data []byte) (list []string, whole bool) {
	for len(data) >= 4 {
		n := binary.NativeEndian.Uint32(data)
		data = data[4:]
		if n == 0 {
			return list, true
		}
		if uint64(n-1) > uint64(len(data)) {
			return list, false
		}
		list = append(list, string(data[:n-1]))
		data = data[n-1:]
	}
	return list, len(data) == 0 && len(list) == 0
}

// recordBytes is the size of a record: the same on all systems.
const recordBytes = 6*8 + 2*8 + 6*4

// decodeRecords reads the records that hold a block from the memory of a table.
func decodeRecords(data []byte) (list []record) {
	for ; len(data) >= recordBytes; data = data[recordBytes:] {
		var r record
		if _, err := binary.Decode(data[recordBytes-4:], binary.NativeEndian, &r.flags); err != nil || r.flags&flagUsed == 0 {
			continue
		}
		words := []any{&r.addr, &r.size, &r.lo, &r.hi, &r.arena, &r.serial, &r.allocBy, &r.freeBy, &r.alloc, &r.free, &r.owner, &r.typ, &r.freeOp}
		at := 0
		for _, w := range words {
			n, err := binary.Decode(data[at:], binary.NativeEndian, w)
			if err != nil {
				return list
			}
			at += n
		}
		list = append(list, r)
	}
	return list
}
