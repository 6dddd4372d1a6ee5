// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly || solaris || illumos

package debugmode

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// evidenceOf writes a folder of evidence with one leak, whose texts hold control characters.
func evidenceOf(t *testing.T, leak bool) (folder string) {
	t.Helper()
	folder = t.TempDir()
	a := newAbout(Config{Leaks: true}, time.Now())
	a.Program = "/bin/p\x1b[2J\nforged\u202e" + strings.Repeat("x", maxLine)
	text, err := json.Marshal(a)
	check(err)
	check(os.WriteFile(filepath.Join(folder, aboutFile), text, 0o600))
	list := make([]record, 8)
	list[0].size = 1
	list[1] = record{addr: 64, size: 8, lo: 64, hi: 72, alloc: 1, owner: 2, typ: 2, flags: flagUsed | flagLeak}
	if !leak {
		list[1].flags |= flagFreed
	}
	check(os.WriteFile(filepath.Join(folder, blocksFile), unsafex.SliceOf[byte](unsafex.DataOf(list), len(list)*recordBytes, len(list)*recordBytes), 0o600))
	f, err := os.Create(filepath.Join(folder, textsFile))
	check(err)
	defer f.Close()
	tab := textTable{file: f}
	tab.add("    main.\x1b[31mf\n        a.go:1\n")
	tab.add("a\nb")
	return folder
}

// TestCutEvidence: evidence that is cut off anywhere is called incomplete, and never said to be
// without a mistake.
func TestCutEvidence(t *testing.T) {
	explained := func(folder string) (string, int, error) {
		var b strings.Builder
		n, err := WriteEvidence(&b, folder, nil)
		return b.String(), n, err
	}
	for _, leak := range []bool{false, true} {
		folder := evidenceOf(t, leak)
		text, n, err := explained(folder)
		if err != nil || (n == 1) != leak || strings.Contains(text, "incomplete") || strings.Contains(text, "Everything off the heap was freed.") == leak {
			t.Errorf("whole: %d, %v\n%s", n, err, text)
		}
		for _, name := range []string{blocksFile, textsFile} {
			path := filepath.Join(folder, name)
			data, err := os.ReadFile(path)
			check(err)
			for _, size := range []int{0, 1, 3, 30, 40, len(data) - 5} {
				check(os.WriteFile(path, data[:size], 0o600))
				text, n, err := explained(folder)
				if !strings.Contains(text, "The evidence is incomplete: the file "+name+" is cut off.") ||
					strings.Contains(text, "Everything off") || (err == nil) != (n > 0) {
					t.Errorf("%s cut to %d: %d, %v\n%s", name, size, n, err, text)
				}
			}
			check(os.WriteFile(path, data, 0o600))
		}
	}
}

// TestLostBlocks: a table without room for all blocks says so.
func TestLostBlocks(t *testing.T) {
	folder := evidenceOf(t, false)
	f, err := os.OpenFile(filepath.Join(folder, blocksFile), os.O_RDWR, 0)
	check(err)
	_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, 7), 40)
	check(err)
	check(f.Close())
	var b strings.Builder
	if n, err := WriteEvidence(&b, folder, nil); n != 0 || err != nil || strings.Contains(b.String(), "Everything off") ||
		!strings.Contains(b.String(), "No leak is known") || !strings.Contains(b.String(), "it had no room for 7 blocks") {
		t.Errorf("%d, %v\n%s", n, err, b.String())
	}
}

// TestDamagedRecords: records that no process wrote are left out, and counted.
func TestDamagedRecords(t *testing.T) {
	folder := evidenceOf(t, false)
	path := filepath.Join(folder, blocksFile)
	data, err := os.ReadFile(path)
	check(err)
	check(os.WriteFile(path, append(data, bytes.Repeat([]byte{0xff}, 2*recordBytes)...), 0o600))
	var b strings.Builder
	if n, err := WriteEvidence(&b, folder, nil); n != 0 || err == nil || !strings.Contains(b.String(), "The evidence is incomplete: 2 records damaged") {
		t.Errorf("%d, %v\n%s", n, err, b.String())
	}
}

// TestPrintableEvidence: what a process chose, such as its name, cannot steer a terminal, nor forge
// a line.
func TestPrintableEvidence(t *testing.T) {
	var b strings.Builder
	if _, err := WriteEvidence(&b, evidenceOf(t, true), nil); err != nil {
		t.Error(err)
	}
	for _, want := range []string{`/bin/p\x1b[2J\nforged\u202e`, `main.\x1b[31mf` + "\n        a.go:1\n", `a\nb, a\nb`, "x..., process "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%q", want, b.String())
		}
	}
	if got := printable("a\xff\u200f\x00\té\n"); got != "a\\xff\\u200f\\x00\té\n" {
		t.Errorf("%q", got)
	}
}

// TestIrregularEvidence: only regular files of a bounded size are read, from folders.
func TestIrregularEvidence(t *testing.T) {
	folder := evidenceOf(t, false)
	for _, name := range []string{aboutFile, blocksFile, textsFile, crashFile} {
		path := filepath.Join(folder, name)
		_ = os.Rename(path, path+".old") // There is no crash.
		check(os.Mkdir(path, 0o700))
		if _, err := WriteEvidence(io.Discard, folder, nil); err == nil || !strings.Contains(err.Error(), path+" is no regular file") {
			t.Errorf("with a folder for %s: %v", name, err)
		}
		check(os.Remove(path))
		_ = os.Rename(path+".old", path)
	}
	path := filepath.Join(folder, aboutFile)
	if _, err := WriteEvidence(io.Discard, path, nil); err == nil || !strings.Contains(err.Error(), path+" is no folder") {
		t.Errorf("a file: %v", err)
	}
	if _, err := readBounded(strings.NewReader("12345"), "it", 4); err == nil || err.Error() != "it has more than 4 bytes" {
		t.Error(err)
	}
}

// TestLostTexts: a block whose texts are lost is still known to be freed.
func TestLostTexts(t *testing.T) {
	folder := evidenceOf(t, false)
	check(os.Truncate(filepath.Join(folder, textsFile), 0))
	var b strings.Builder
	n, err := WriteEvidence(&b, folder, strings.NewReader("[signal SIGSEGV: x addr=0x42 pc=0x1]\n\ngoroutine 1 [running]:\n"))
	if n != 1 || err != nil || !strings.Contains(b.String(), "freehold: use after free: access 2 bytes into a block of 8 bytes (of an owner that is not known) that was freed") {
		t.Errorf("%d, %v\n%s", n, err, b.String())
	}
}
