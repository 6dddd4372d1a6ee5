// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// TestDecodeRecords compares the records read with the memory of a table.
func TestDecodeRecords(t *testing.T) {
	if unsafex.Size[record]() != recordBytes {
		t.Fatalf("a record has %d bytes, want %d", unsafex.Size[record](), recordBytes)
	}
	list := []record{
		{addr: 1, size: 2, lo: 3, hi: 4, arena: 5, serial: 6, allocBy: -7, freeBy: 8, alloc: 9, free: 10, owner: 11, typ: 12, freeOp: 13, flags: flagUsed},
		{addr: 99},
		{addr: 1 << 63, serial: 1, flags: flagUsed | flagFreed},
	}
	data := unsafex.SliceOf[byte](unsafex.DataOf(list), len(list)*recordBytes, len(list)*recordBytes)
	for cut := range recordBytes {
		got := decodeRecords(data[:len(data)-cut])
		if want := 2 - min(cut, 1); len(got) != want || got[0] != list[0] || want == 2 && got[1] != list[2] {
			t.Fatalf("without the last %d bytes: %+v", cut, got)
		}
	}
}

// TestBrokenEvidence: a folder without evidence, or with damaged evidence, is an error that says so or has no report,
// and never a panic.
func TestBrokenEvidence(t *testing.T) {
	about := `{"freehold_evidence":1,"byte_order":"` + byteOrder() + `","record_size":88}`
	used := make([]byte, recordBytes)
	used[recordBytes-4], used[recordBytes-1] = 1, 1 // In use, in both byte orders.
	used[recordBytes-5] = 255                       // The number of a text that does not exist.
	for _, c := range []struct{ about, blocks, texts, crash, want string }{
		{"", "", "", "", "no evidence in"},
		{"{", "", "", "", "is no evidence of freehold's"},
		{`{"x":1}`, "", "", "", "is no evidence of freehold's"},
		{`{"freehold_evidence":2}`, "", "", "", "another version"},
		{strings.Replace(about, "88", "96", 1), "", "", "", "another version"},
		{`{"freehold_evidence":1,"byte_order":"middle","record_size":88}`, "", "", "", "another byte order"},
		{about, "", "", "", "There is no text of a crash"},
		{strings.Repeat(" ", maxAbout) + about, "", "", "", "has more than 65536 bytes"},
		{about, string(make([]byte, recordBytes)), "", "goroutine 1 [select (no cases)]:\nmain.main()\n", "in what the process wrote to standard error"},
		{about, string(make([]byte, recordBytes)), "", "x\x1b]0;y\x07", `to memory: x\x1b]0;y\a`},
		{about, string(used), "\xff\xff\xff\x7f", "[signal SIGSEGV: x addr=0x10 pc=0x1]\n", "of which nothing is known"},
		{about, string(used[:50]), "\x01", "[signal SIGSEGV: x addr=0x", "for a reason that is no invalid access"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{aboutFile: c.about, blocksFile: c.blocks, textsFile: c.texts, crashFile: c.crash} {
			if name != aboutFile || text != "" {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		var b strings.Builder
		_, err := WriteEvidence(&b, dir, nil)
		if text := fmt.Sprint(b.String(), err); !strings.Contains(text, c.want) {
			t.Errorf("%.60q: %s\nwant %q", c.about, text, c.want)
		}
	}
}

// TestWithoutPrefixes reads texts of crashes from logs.
func TestWithoutPrefixes(t *testing.T) {
	const text = "fatal error: fault\n[signal SIGSEGV: segmentation violation code=0x2 addr=0x7f0 pc=0x4]\n\ngoroutine 1 [running]:\nmain.main()\n\t/a b.go:3 +0x1\n\nx\n"
	want, _ := parseCrash(text)
	for _, prefix := range []string{"", "2026-11-22T15:29:55.123Z ", "2026-11-22T15:29:55Z stderr F ", "app | "} {
		var b strings.Builder
		for line := range strings.Lines(text) {
			b.WriteString(prefix + line)
		}
		if got, ok := parseCrash(withoutPrefixes(b.String())); !ok || got != want || got.stack == "" {
			t.Errorf("with %q: %+v, want %+v", prefix, got, want)
		}
		if got := withoutPrefixes(strings.ReplaceAll(b.String(), " \n", "\n")); !strings.HasPrefix(got, "fatal error") {
			t.Errorf("with %q: %q", prefix, got)
		}
	}
	if got := withoutPrefixes("no crash\n"); got != "no crash\n" {
		t.Errorf("%q", got)
	}
}
