// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly || solaris || illumos

package debugmode

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// keptEvidence is how many folders of a program stay when one more is made, besides those in use.
const keptEvidence = 20

// makeEvidence makes the folder of this process in that of the configuration.
func makeEvidence(c Config, now time.Time) (folder string, err error) {
	if err := os.MkdirAll(c.Evidence, 0o777); err != nil {
		return "", err
	}
	a := newAbout(c, now)
	prefix := filepath.Base(a.Program) + "-"
	pruneEvidence(c.Evidence, prefix)
	folder = filepath.Join(c.Evidence, prefix+now.UTC().Format("20060102T150405.000Z")+fmt.Sprintf("-%d", a.PID))
	// Stacks name functions and files, and no data; yet other users need not see them.
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(a, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, aboutFile), append(text, '\n'), 0o600)
	}
	if err != nil {
		removeEvidence(folder)
		return "", err
	}
	return folder, nil
}

// pruneEvidence removes the oldest folders of a program that no process writes to.
func pruneEvidence(dir, prefix string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool {
		rest, found := strings.CutPrefix(e.Name(), prefix)
		stamp, _, _ := strings.Cut(rest, "-")
		_, err := time.Parse("20060102T150405.000Z", stamp)
		return !found || err != nil || !e.IsDir()
	})
	for len(entries) >= keptEvidence {
		folder := filepath.Join(dir, entries[0].Name()) // They are sorted by name, and so by time.
		entries = entries[1:]
		if free := unlocked(filepath.Join(folder, blocksFile)); free {
			removeEvidence(folder)
		}
	}
}

// removeEvidence removes a folder of evidence, but for what else is in it.
func removeEvidence(folder string) {
	for _, name := range []string{aboutFile, blocksFile, textsFile, crashFile} {
		_ = os.Remove(filepath.Join(folder, name))
	}
	_ = os.Remove(folder) // Fails if there is something else in it.
}

// lock marks a file as in use until the last descriptor of this opening of it is closed: by this
// process and by the watching copy, which inherits one. It takes the whole file by flock: a POSIX
// record lock ends when the process closes any other descriptor of the file, as it does when it
// explains its own evidence. It waits for the moment in which another process asks (unlocked).
func lock(f *os.File) error { return flock(f, unix.LOCK_EX) }

// unlocked reports whether no process has locked the file with that name.
func unlocked(name string) bool {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0) // It may have become a pipe.
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	defer f.Close()
	return flock(f, unix.LOCK_SH|unix.LOCK_NB) == nil
}

func flock(f *os.File, how int) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var lockErr error
	call := func(fd uintptr) {
		for lockErr = unix.EINTR; lockErr == unix.EINTR; {
			lockErr = unix.Flock(int(fd), how)
		}
	}
	if err := conn.Control(call); err != nil {
		return err
	}
	return lockErr
}

// shareEvidence is share with files in a folder, and opens that for the text of the crash.
func shareEvidence(c Config) (files sharedFiles, crash *os.File, err error) {
	folder, err := makeEvidence(c, time.Now())
	if err != nil {
		return sharedFiles{}, nil, err
	}
	defer func() {
		if err != nil {
			removeEvidence(folder)
		}
	}()
	make := func(name string) (*os.File, error) {
		return os.OpenFile(filepath.Join(folder, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	raw, err := make(crashFile)
	if err == nil {
		crash, err = duplicate(raw)
		raw.Close()
	}
	if err == nil {
		files, err = shareIn(make)
	}
	if err == nil {
		err = lock(files.records)
	}
	if err != nil {
		if crash != nil {
			crash.Close()
		}
		files.close()
		return sharedFiles{}, nil, err
	}
	say("evidence of mistakes goes to %s: freehold explain %s", folder, folder)
	return files, crash, nil
}

// crashToFile makes Go write the text of a crash to the evidence, where no copy can.
func crashToFile(crash *os.File) error { return debug.SetCrashOutput(crash, debug.CrashOptions{}) }
