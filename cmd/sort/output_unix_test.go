// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sort

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// inFolder moves the test into a new folder with files.
func inFolder(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, content := range files {
		if err := os.WriteFile(name, []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
	}
}

// sortTo runs the command line, whose words stand between blanks, and returns its status and what it
// printed.
func sortTo(t *testing.T, line string) (int, string) {
	t.Helper()
	r := runOurs(t, "", strings.Fields(line), []byte("z\ny\n"))
	return r.status, r.stdout + r.stderr
}

func wantFile(t *testing.T, name, want string) {
	t.Helper()
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("%s is %q (%v), want %q", name, got, err, want)
	}
}

// wantOnly checks that the folder has these files and no others, such as a new file left behind.
func wantOnly(t *testing.T, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(".")
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(want)
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("the folder has %q (%v), want %q", names, err, want)
	}
}

// TestOutputIsInput: -o may name an input of a sort and of a merge. Mode and owner stay.
func TestOutputIsInput(t *testing.T) {
	for _, line := range []string{"-o a a b", "-m -o a a b a", "-o a b a -", "-m -u -o ./a a b"} {
		t.Run(line, func(t *testing.T) {
			inFolder(t, map[string]string{"a": "a\nc\n", "b": "b\n"})
			owner := os.Getuid()
			if owner == 0 {
				owner = 12345
			}
			if err := os.Chown("a", owner, -1); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod("a", 0o751|os.ModeSetuid); err != nil {
				t.Fatal(err)
			}
			if status, text := sortTo(t, line); status != 0 || text != "" {
				t.Fatalf("%d %q", status, text)
			}
			wantFile(t, "a", map[string]string{"-o a a b": "a\nb\nc\n", "-m -o a a b a": "a\na\nb\nc\nc\n", "-o a b a -": "a\nb\nc\ny\nz\n", "-m -u -o ./a a b": "a\nb\nc\n"}[line])
			info, err := os.Stat("a")
			if err != nil || info.Mode() != 0o751|os.ModeSetuid || int(info.Sys().(*syscall.Stat_t).Uid) != owner {
				t.Errorf("mode and owner: %v, %+v", err, info)
			}
			wantOnly(t, "a", "b")
		})
	}
}

// TestOutputStays: a command that fails leaves an output that exists as it was, and creates none.
func TestOutputStays(t *testing.T) {
	inFolder(t, map[string]string{"a": "b\na\n"})
	for _, line := range []string{"-o a a nope", "-o a a .", "-m -o a a .", "-o new a nope", "-o new .", "-m -o new a .", "-o . a", "-o no/new a"} {
		if status, text := sortTo(t, line); status != 2 || text == "" {
			t.Errorf("sort %s: %d %q", line, status, text)
		}
		wantFile(t, "a", "b\na\n")
		wantOnly(t, "a")
	}
}

// TestOutputInPlace: a file that is not regular, has two names, or is a symbolic link, is written
// itself.
func TestOutputInPlace(t *testing.T) {
	inFolder(t, map[string]string{"a": "c\nb\nlong line\n"})
	for _, err := range []error{os.Link("a", "second"), os.Symlink("a", "symbolic"), syscall.Mkfifo("fifo", 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if status, text := sortTo(t, "-o a a -"); status != 0 || text != "" {
		t.Errorf("two names: %d %q", status, text)
	}
	wantFile(t, "second", "b\nc\nlong line\ny\nz\n")
	if status, text := sortTo(t, "-m -r -o symbolic symbolic"); status != 0 || text != "" { // cannot be merged while it is written
		t.Errorf("symbolic link: %d %q", status, text)
	}
	wantFile(t, "second", "z\ny\nlong line\nc\nb\n")
	if info, err := os.Lstat("symbolic"); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
	read := make(chan string)
	go func() {
		content, _ := os.ReadFile("fifo")
		read <- string(content)
	}()
	if status, text := sortTo(t, "-o fifo -"); status != 0 || text != "" || <-read != "y\nz\n" {
		t.Errorf("fifo: %d %q", status, text)
	}
	wantOnly(t, "a", "second", "symbolic", "fifo")
}

// TestOutputFull: a disk that is full is an error.
func TestOutputFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for _, args := range [][]string{{"-o", "/dev/full"}, {"-m", "-o", "/dev/full"}} {
		if r := runOurs(t, "", args, []byte("b\n")); r.status != 2 || !strings.Contains(r.stderr, "write failed: /dev/full: No space left on device") {
			t.Errorf("%q: %+v", args, r)
		}
	}
	var errs bytes.Buffer
	if status := Main(nil, "", strings.NewReader("b\n"), full, &errs); status != 2 || errs.String() != "sort: write failed: 'standard output': No space left on device\n" {
		t.Errorf("standard output: %d %q", status, &errs)
	}
}

// TestOutputFolder: in a folder that takes no new files, the file itself is written.
func TestOutputFolder(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	inFolder(t, map[string]string{"a": "b\na\n"})
	here, err := os.Getwd()
	if err == nil {
		err = os.Chmod(here, 0o500)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(here, 0o700)
	if status, text := sortTo(t, "-o a a"); status != 0 || text != "" {
		t.Errorf("%d %q", status, text)
	}
	wantFile(t, filepath.Join(here, "a"), "a\nb\n")
}
