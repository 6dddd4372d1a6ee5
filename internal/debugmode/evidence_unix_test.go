// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly || solaris || illumos

package debugmode

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/freehold-go/freehold/internal/checks/testenv"
)

func init() {
	programs["evidence"] = func() {
		Start(Config{Guard: true, Evidence: evidenceFolder(), Words: "guard"})
		useAfterFree()
	}
	programs["evidence of leaks"] = func() {
		Start(Config{Leaks: true, Evidence: evidenceFolder(), Words: "leaks"})
		leaker(100)
	}
	programs["evidence of a panic"] = func() {
		Start(Config{Leaks: true, Evidence: evidenceFolder(), Words: "leaks"})
		panic(Misuse("double free", "Free of a block", "found", 0x100, Block{}, 0))
	}
	programs["no evidence"] = func() {
		check(os.WriteFile(evidenceFolder(), nil, 0o600)) // A file where the folder should be.
		Start(Config{Guard: true, Evidence: evidenceFolder()})
		useAfterFree()
	}
	programs["evidence on a full disk"] = func() {
		real := preallocate
		preallocate = func(f *os.File, size int64) error {
			if strings.HasPrefix(f.Name(), evidenceFolder()) {
				return &os.PathError{Op: "fallocate", Path: f.Name(), Err: syscall.ENOSPC}
			}
			return real(f, size)
		}
		Start(Config{Guard: true, Leaks: true, Evidence: evidenceFolder()})
		leaker(100)
		if CheckAtEnd(os.Stderr) {
			os.Exit(23)
		}
	}
	programs["told leaks"] = func() {
		Start(Config{Guard: true, Leaks: true})
		leaker(100)
		if !CheckAtEnd(os.Stdout) {
			panic("no leak")
		}
	}
	programs["crash after told leaks"] = func() {
		Start(Config{Guard: true, Leaks: true})
		CheckAtEnd(os.Stdout)
		useAfterFree()
	}
}

// noRaceSleep keeps the race detector from sleeping at the end of a program.
const noRaceSleep = "GORACE=atexit_sleep_ms=0"

func evidenceFolder() string { return filepath.Join(os.Getenv(outputVariable), "evidence") }

// TestEvidence reads what processes have left.
func TestEvidence(t *testing.T) {
	testenv.MisusesMemory(t)
	needPages(t)
	for _, c := range []struct {
		name     string
		mistakes int
		want     string
	}{
		{"evidence", 1, `^\S+, process \d+, started \S+ \S+ UTC \(go\S+, \S+/\S+, FREEHOLD=guard\)` + faultReport},
		{"evidence of leaks", 1, `FREEHOLD=leaks\)\n\nThere is no text of a crash\. .*\n\nfreehold: leak: 1 block of 100 bytes in all, from 1 place, not freed\n`},
		{"evidence of a panic", 1, `(?s)FREEHOLD=leaks\)\n\nfreehold: double free: Free of a block\n  found by goroutine 1:\n.*\n\nEverything off the heap was freed\.\n$`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stderr, _, dir := runProgram(t, c.name)
			folder := filepath.Join(dir, "evidence")
			if !strings.HasPrefix(stderr, "freehold: evidence of mistakes goes to "+folder) {
				t.Errorf("standard error:\n%s", stderr)
			}
			var b strings.Builder
			n, err := WriteEvidence(&b, folder, nil)
			if err != nil || n != c.mistakes || !regexp.MustCompile(c.want).MatchString(b.String()) {
				t.Errorf("%v, %d mistakes:\n%s\nwant %d and %s", err, n, b.String(), c.mistakes, c.want)
			}
		})
	}
}

// TestNoEvidence: where none can be kept a line says so, and all else works.
func TestNoEvidence(t *testing.T) {
	testenv.MisusesMemory(t)
	needPages(t)
	stderr, _, _ := runProgram(t, "no evidence", noRaceSleep)
	if !strings.HasPrefix(stderr, "freehold: no evidence can be kept: ") || !regexp.MustCompile(faultReport).MatchString(stderr) {
		t.Errorf("standard error:\n%s", stderr)
	}
}

// TestFullDisk: a disk without room for evidence costs the evidence alone: the leaks are listed,
// the disk is named, and no folder is left that would be read as a process without mistakes.
func TestFullDisk(t *testing.T) {
	testenv.MisusesMemory(t)
	needPages(t)
	stderr, state, dir := runProgram(t, "evidence on a full disk", noRaceSleep)
	if state.ExitCode() != 23 || !strings.Contains(stderr, "freehold: no evidence can be kept: fallocate "+filepath.Join(dir, "evidence")) ||
		!strings.Contains(stderr, "no space left on device") || !strings.Contains(stderr, "freehold: leak: 1 block of 100 bytes") {
		t.Errorf("status %d, standard error:\n%s", state.ExitCode(), stderr)
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "evidence")); err != nil || len(entries) != 0 {
		t.Errorf("what is left of the evidence: %v, %v", entries, err)
	}
}

// TestToldLeaks: what the program lists at its end the copy does not list again, but it explains a
// crash.
func TestToldLeaks(t *testing.T) {
	testenv.MisusesMemory(t)
	needPages(t)
	if stderr, state, _ := runProgram(t, "told leaks", noRaceSleep); stderr != "" || state.ExitCode() != 0 {
		t.Errorf("status %d, standard error:\n%s", state.ExitCode(), stderr)
	}
	if stderr, _, _ := runProgram(t, "crash after told leaks", noRaceSleep); !regexp.MustCompile(faultReport).MatchString(stderr) {
		t.Errorf("standard error:\n%s", stderr)
	}
}

// TestPruneEvidence: three kinds of folders stay: the latest of each program, those of running
// processes, and folders that hold other files.
func TestPruneEvidence(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	prefix := filepath.Base(newAbout(Config{}, now).Program) + "-"
	others := []string{prefix + "of-the-user", "other-20300102T030405.000Z-1"}
	for _, name := range others {
		check(os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	var folders []string
	for i := range keptEvidence + 5 {
		folder, err := makeEvidence(Config{Evidence: dir}, now.Add(time.Duration(i)*time.Second))
		check(err)
		check(os.WriteFile(filepath.Join(folder, blocksFile), nil, 0o600))
		folders = append(folders, folder)
	}
	check(os.WriteFile(filepath.Join(folders[7], "mine"), nil, 0o600))
	entries, err := os.ReadDir(dir)
	check(err)
	if len(entries) != keptEvidence+len(others) {
		t.Errorf("%d folders, want %d", len(entries), keptEvidence+len(others))
	}
	if _, err := os.Stat(folders[4]); err == nil {
		t.Error("an old folder is there")
	}
	if latest, err := latestEvidence(dir); err != nil || latest != folders[len(folders)-1] {
		t.Errorf("the latest is %s, %v", latest, err)
	}
	pruneEvidence(dir, prefix)
	if _, err := os.Stat(filepath.Join(folders[7], "mine")); err != nil {
		t.Error("a file that is no evidence is gone")
	}
}

// TestEvidenceInUse: the folder of a process that runs is not removed, also if the process has read
// its own evidence, as a program does that shows its leaks.
func TestEvidenceInUse(t *testing.T) {
	testenv.StartsPrograms(t)
	if folder := os.Getenv("FREEHOLD_TEST_LOCKED"); folder != "" {
		fmt.Println(unlocked(filepath.Join(folder, blocksFile)))
		return
	}
	folder := evidenceOf(t, true)
	wantUnlocked := func(when string, want bool) {
		t.Helper()
		self := exec.Command(os.Args[0], "-test.run=^TestEvidenceInUse$")
		self.Env = append(os.Environ(), "FREEHOLD_TEST_LOCKED="+folder, noRaceSleep)
		out, err := self.CombinedOutput()
		check(err)
		if !strings.HasPrefix(string(out), fmt.Sprintln(want)) {
			t.Errorf("%s: unlocked reports %s, want %t", when, out, want)
		}
	}
	f, err := os.OpenFile(filepath.Join(folder, blocksFile), os.O_RDWR, 0)
	check(err)
	defer f.Close()
	wantUnlocked("before the lock", true)
	check(lock(f))
	wantUnlocked("after the lock", false)
	if unlocked(f.Name()) {
		t.Error("this process does not see its own lock")
	}
	if _, err := WriteEvidence(io.Discard, folder, nil); err != nil {
		t.Error(err)
	}
	wantUnlocked("after the process has explained its own evidence", false)
	f.Close()
	wantUnlocked("after the end", true)
}

// TestPipesAsEvidence: a pipe in the place of a file stops neither the report nor the next process.
func TestPipesAsEvidence(t *testing.T) {
	folder := evidenceOf(t, false)
	path := filepath.Join(folder, blocksFile)
	check(os.Remove(path))
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Skipf("no pipe can be made here: %v", err)
	}
	if _, err := WriteEvidence(io.Discard, folder, nil); err == nil || !strings.Contains(err.Error(), "is no regular file") {
		t.Errorf("a pipe: %v", err)
	}
	unlocked(path) // Returns.
	check(os.Remove(path))
	check(os.Symlink("/dev/zero", path))
	if _, err := WriteEvidence(io.Discard, folder, nil); err == nil || !strings.Contains(err.Error(), "is no regular file") {
		t.Errorf("a link to a device: %v", err)
	}
}
