// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly || solaris || illumos

package debugmode

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// When a fault ends a Go process, no library runs. So another process, the watcher, waits on a pipe
// into which Go writes the text of the crash, and looks up the address of the crash in the tables
// that both processes share. A pair of sockets is between the two as well: the process sends the file
// of SetCrashOutput over it, and its end is the end of the process.
//
// The watcher is the parent of the program (parent_linux.go), or a copy of the program that the
// program has started.

// watchVariable marks the copy. A process that finds it in its environment is never the program
// itself, for any value.
const watchVariable = "FREEHOLD_WATCH"

// The files that the copy is started with, behind standard input, which is the pipe of the crash,
// and standard error, which is the program's.
const (
	fdLine    = 3
	fdRecords = 4
	fdTexts   = 5
)

// link is what this process has of its watcher.
var link struct {
	mu      sync.Mutex
	files   sharedFiles
	crash   *os.File // what Start has Go write a crash into
	line    *os.File // nil: there is no watcher
	started bool     // Go writes a crash to the watcher
	output  *os.File // a duplicate of what SetCrashOutput was given before
}

func init() {
	if os.Getenv(watchVariable) == "" {
		return
	}
	if _, err := unix.GetsockoptInt(fdLine, unix.SOL_SOCKET, unix.SO_TYPE); err == nil {
		w := watcher{crash: os.Stdin, line: os.NewFile(fdLine, "line"),
			files: sharedFiles{os.NewFile(fdRecords, blocksFile), os.NewFile(fdTexts, textsFile)}}
		w.collect()
		w.report(os.Stderr)
	}
	os.Exit(0)
}

// startWatch shares the tables with the watcher of this process, or with a copy that it starts.
func startWatch() error {
	link.mu.Lock()
	defer link.mu.Unlock()
	if link.line == nil {
		return startCopy()
	}
	if err := link.files.use(); err != nil {
		return err
	}
	return connect()
}

// connect has Go write a crash to the watcher. The caller holds link.mu.
func connect() error {
	err := debug.SetCrashOutput(link.crash, debug.CrashOptions{})
	link.crash.Close()
	link.started = err == nil
	if err != nil || link.output == nil {
		return err
	}
	defer link.output.Close()
	return send(link.output)
}

// startCopy starts a copy of the program as the watcher. The caller holds link.mu.
func startCopy() (err error) {
	if os.Getpid() == 1 {
		say("this is process 1, and when it ends the system ends all others, the one that reports, too. Set guard or sample in the variable FREEHOLD, " +
			"or start the program under an init, such as docker run --init")
	}
	if link.files, err = newSharedFiles(); err != nil {
		return err
	}
	if err := link.files.use(); err != nil {
		link.files.close()
		return err
	}
	ends, err := newPipes()
	if err != nil {
		return err
	}
	defer ends.crash[0].Close()
	defer ends.line[0].Close()
	defer ends.line[1].Close()
	if link.line, err = duplicate(ends.line[1]); err != nil {
		ends.crash[1].Close()
		return err
	}
	link.crash = ends.crash[1]
	p, err := launch([]*os.File{ends.crash[0], nil, os.Stderr, ends.line[0], link.files.records, link.files.texts})
	if err != nil {
		link.crash.Close()
		return err
	}
	_ = p.Release() // Its end does not matter.
	// If the program has closed its standard error, an end of the watcher has its number, and is open
	// still: or else Go's duplicate of the crash would get it.
	return connect()
}

// pipes are the files between a process and its watcher: the ends of the watcher come first.
type pipes struct{ crash, line [2]*os.File }

// newPipes makes them; no other program inherits them.
func newPipes() (p pipes, err error) {
	if p.crash[0], p.crash[1], err = os.Pipe(); err != nil {
		return p, err
	}
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	line, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		p.crash[0].Close()
		p.crash[1].Close()
		return p, err
	}
	for i, fd := range line {
		unix.CloseOnExec(fd)
		p.line[i] = os.NewFile(uintptr(fd), "line")
	}
	return p, nil
}

// launch starts the program itself as a copy with the files, of which nil ones stay closed: by a
// way that finds it even if its file has been replaced meanwhile, and in an environment that
// switches nothing on.
func launch(files []*os.File) (*os.Process, error) {
	exe, err := os.Executable()
	if runtime.GOOS == "linux" {
		exe, err = "/proc/self/exe", nil
	}
	if err != nil {
		return nil, err
	}
	args := append(os.Args[:min(1, len(os.Args)):1], fmt.Sprintf("[freehold: watches process %d]", os.Getpid()))
	var env []string
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != "FREEHOLD" && name != "GODEBUG" && name != "GOMAXPROCS" {
			env = append(env, v)
		}
	}
	return os.StartProcess(exe, args, &os.ProcAttr{
		Env:   append(env, watchVariable+"=1", "GOMAXPROCS=1"),
		Files: files,
		// A group of its own, so that what the terminal sends to the program's is not the end of
		// the copy.
		Sys: &syscall.SysProcAttr{Setpgid: true},
	})
}

// SetCrashOutput makes f receive the text of a crash and, where another process watches, the report.
// It stands in for debug.SetCrashOutput, with its rules: nil ends it, and f may be closed afterwards.
func SetCrashOutput(f *os.File, opts debug.CrashOptions) error {
	link.mu.Lock()
	defer link.mu.Unlock()
	if link.started {
		return send(f)
	}
	if err := debug.SetCrashOutput(f, opts); err != nil {
		return err
	}
	if link.output != nil {
		link.output.Close()
		link.output = nil
	}
	if f == nil {
		return nil
	}
	var err error
	link.output, err = duplicate(f)
	return err
}

// send passes the file for the text of a crash to the watcher; nil: there is none.
func send(f *os.File) error {
	if f == nil {
		return unix.Sendmsg(int(link.line.Fd()), []byte{0}, nil, nil, 0)
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var sendErr error
	err = conn.Control(func(fd uintptr) {
		sendErr = unix.Sendmsg(int(link.line.Fd()), []byte{0}, unix.UnixRights(int(fd)), nil, 0)
	})
	return errors.Join(err, sendErr)
}

// A watcher waits for the end of a process.
type watcher struct {
	crash, line *os.File
	files       sharedFiles

	text   []byte   // of the crash
	output *os.File // what receives the text, too; nil: none
}

// maxText bounds the text of a crash, in bytes.
const maxText = 64 << 20

// collect reads the crash and the files of SetCrashOutput until the end of line, and what was written
// before. It does not wait for the end of the pipe: a process that C code has forked may hold it.
func (w *watcher) collect() {
	buf, rights := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4))
	crash, line := int(w.crash.Fd()), int(w.line.Fd())
	fds := []unix.PollFd{{Fd: int32(crash), Events: unix.POLLIN}, {Fd: int32(line), Events: unix.POLLIN}}
	for timeout, more := -1, true; more; {
		if _, err := unix.Poll(fds, timeout); err == unix.EINTR {
			continue
		}
		more = timeout < 0
		if fds[0].Revents != 0 {
			n, _ := unix.Read(crash, buf)
			w.text = append(w.text, buf[:max(0, min(n, maxText-len(w.text)))]...)
			if n > 0 {
				more = true
			} else {
				fds[0].Fd = -1 // Poll leaves it out.
			}
		}
		if fds[1].Revents != 0 {
			if n, oobn, _, _, _ := unix.Recvmsg(line, buf[:1], rights, 0); n > 0 {
				w.receive(rights[:oobn])
			} else {
				fds[1].Fd, timeout = -1, 0
			}
		}
	}
}

// receive takes over the file that a message carries, or ends the output if it carries none.
func (w *watcher) receive(rights []byte) {
	if w.output != nil {
		w.output.Close()
		w.output = nil
	}
	if list, err := unix.ParseSocketControlMessage(rights); err == nil && len(list) == 1 {
		if fds, err := unix.ParseUnixRights(&list[0]); err == nil && len(fds) == 1 {
			w.output = os.NewFile(uintptr(fds[0]), "crash output")
		}
	}
}

// report writes what there is to say of the process. A standard error that is a broken pipe ends a
// copy, so the output comes first.
func (w *watcher) report(stderr io.Writer) {
	out := stderr
	if w.output != nil {
		_, _ = w.output.Write(w.text)
		out = both{w.output, stderr}
	}
	if len(w.text) > 0 {
		reportCrash(out, string(w.text), w.files)
	} else if w.files.listsLeaks() {
		reportLeaks(out, w.files)
	}
}

// reportCrash explains the text of a crash, as far as it is about memory of ours.
func reportCrash(out io.Writer, text string, files sharedFiles) {
	c, ok := parseCrash(text)
	if !ok {
		return
	}
	records, err := files.load()
	if err != nil {
		fmt.Fprintf(out, "\nfreehold: what is known of the address of this fault cannot be read: %v\n", err)
		return
	}
	if r, ok := explainCrash(c, records); ok {
		fmt.Fprint(out, "\n"+r.String())
	}
}

// reportLeaks lists what the process has left.
func reportLeaks(out io.Writer, files sharedFiles) {
	records, err := files.load()
	if err != nil {
		fmt.Fprintf(out, "freehold: the list of blocks that were not freed cannot be read: %v\n", err)
		return
	}
	_ = WriteLeaks(out, Leaks(func(yield func(Block) bool) {
		for i := range records {
			if r := &records[i]; r.inUse() && !yield(r.block()) {
				return
			}
		}
	}))
	_, _ = io.WriteString(out, lostLeaks(records[0].serial))
}

// both writes twice; a file that is closed or full does not keep the text from the other.
type both struct{ a, b io.Writer }

func (w both) Write(p []byte) (int, error) {
	_, errA := w.a.Write(p)
	_, errB := w.b.Write(p)
	if errA != nil && errB != nil {
		return 0, errA
	}
	return len(p), nil
}
