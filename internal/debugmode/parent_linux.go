// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// The life of a program with guard or sample in FREEHOLD:
//
//  1. An init function of the root package calls Watch. This first process makes two files for the
//     tables, a pipe for the text of a crash and a pair of sockets. It starts itself again with them
//     and becomes the watcher. It never reaches main.
//  2. In the child Watch takes the files and returns, and the child is the program. The system kills
//     it when the watcher dies.
//  3. The child's Start puts the tables into the files, and has Go write a crash into the pipe. Over
//     the socket it says whether leaks are to be listed, and passes on the file of SetCrashOutput.
//  4. The watcher passes signals on to the child, and waits for its end. Then it writes the report,
//     and ends with the child's exit status, or by the child's signal.
//
// The report is so written before the program has ended for its caller. As process 1 of a PID
// namespace the watcher can write it, too: the system ends the others only when process 1 ends.

// parentVariable tells the child of the watcher: its process ID, and the numbers of the files.
const parentVariable = "FREEHOLD_WATCHER"

// The child's messages to the watcher, of one byte each.
const (
	sayLeaks    = 'l' // If there is no crash, list the leaks.
	sayTold     = 't' // The leaks are listed.
	sayOutput   = 'o' // The crash output is the file that comes with the message.
	sayNoOutput = 'n' // There is no crash output.
)

// parent is what the child has of its watcher.
var parent struct {
	files sharedFiles // none: there is no watcher
	crash *os.File
	line  int // a socket
}

// Watch makes this process the watcher of a child, in which alone Watch returns. It returns here,
// too, if the child cannot be started. Only an init function may call it.
func Watch() {
	if sanitize.Enabled {
		return // Guard and sample are ignored.
	}
	if text, found := os.LookupEnv(parentVariable); found {
		_ = os.Unsetenv(parentVariable)
		adopt(text)
		return
	}
	// The child dies with the thread that started it (PR_SET_PDEATHSIG), so this must be one that
	// does not end.
	runtime.LockOSThread()
	w, err := startChild()
	if err != nil {
		runtime.UnlockOSThread()
		say("no process watches the program from its start: %v", err)
		return
	}
	w.watch()
}

// adopt makes this process the child of a watcher.
func adopt(text string) {
	var pid int
	var fds [4]int
	if n, err := fmt.Sscanf(text, "%d,%d,%d,%d,%d", &pid, &fds[0], &fds[1], &fds[2], &fds[3]); n != 5 || err != nil {
		return
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	// Here, and not at the start: exec clears it for a file with capabilities. It is an attribute of
	// the main thread, which runs the init functions and lives as long as the process.
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	if os.Getppid() != pid { // The watcher died before.
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	}
	for _, name := range []string{"LISTEN_PID", "WATCHDOG_PID"} { // Of systemd, which knows the watcher.
		if os.Getenv(name) == strconv.Itoa(pid) {
			_ = os.Setenv(name, strconv.Itoa(os.Getpid()))
		}
	}
	parent.crash, parent.line = os.NewFile(uintptr(fds[0]), "crash"), fds[1]
	parent.files = sharedFiles{os.NewFile(uintptr(fds[2]), blocksFile), os.NewFile(uintptr(fds[3]), textsFile)}
}

// hasParent says whether a watcher started this process.
func hasParent() bool { return parent.files.records != nil }

// startParent is startWatch in the child of a watcher.
func startParent() error {
	if err := parent.files.use(); err != nil {
		return err
	}
	if Current().Leaks {
		tell(sayLeaks)
	}
	err := debug.SetCrashOutput(parent.crash, debug.CrashOptions{})
	parent.crash.Close()
	return err
}

// tell sends a message to the watcher, with a file if it is given. A watcher that is dead takes this
// process with it.
func tell(message byte, f ...*os.File) {
	var rights []byte
	for _, f := range f {
		rights = unix.UnixRights(int(f.Fd()))
	}
	_ = unix.Sendmsg(parent.line, []byte{message}, rights, nil, unix.MSG_NOSIGNAL)
}

// outputToParent is SetCrashOutput in the child of a watcher.
func outputToParent(f *os.File, opts debug.CrashOptions) error {
	if f == nil {
		tell(sayNoOutput)
	} else {
		own, err := duplicate(f)
		if err != nil {
			return err
		}
		defer own.Close()
		tell(sayOutput, own)
	}
	if current.Load() != nil {
		return nil // Go writes the crash to the watcher already.
	}
	return debug.SetCrashOutput(f, opts)
}

// childWatch is the watcher's view of its child.
type childWatch struct {
	pid     int
	crash   int // the end of the pipe
	line    int // the end of the socket
	files   sharedFiles
	signals chan os.Signal

	text   []byte   // of the crash
	leaks  bool     // List them.
	told   bool     // The child has listed them.
	output *os.File // nil: none
}

// startChild starts the child.
func startChild() (w *childWatch, err error) {
	w = &childWatch{signals: make(chan os.Signal, 64)}
	var pipe, line [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	defer unix.Close(pipe[1])
	if line, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0); err != nil {
		unix.Close(pipe[0])
		return nil, err
	}
	defer unix.Close(line[1])
	w.crash, w.line = pipe[0], line[0]
	if w.files, err = newSharedFiles(); err == nil {
		signal.Notify(w.signals, passedOn()...)
		w.pid, err = w.fork(pipe[1], line[1])
	}
	if err != nil {
		signal.Reset()
		unix.Close(w.crash)
		unix.Close(w.line)
		w.files.close()
	}
	return w, err
}

// fork starts this program again with the files, whose numbers are free ones, since other files may
// be inherited with theirs (socket activation, redirections of a shell).
func (w *childWatch) fork(crash, line int) (pid int, err error) {
	told := strconv.Itoa(os.Getpid())
	for _, fd := range []int{crash, line, int(w.files.records.Fd()), int(w.files.texts.Fd())} {
		fd, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD, 3)
		if err != nil {
			return 0, err
		}
		defer unix.Close(fd)
		told += "," + strconv.Itoa(fd)
	}
	return syscall.ForkExec("/proc/self/exe", os.Args, &syscall.ProcAttr{
		Env: append(os.Environ(), parentVariable+"="+told), Files: []uintptr{0, 1, 2},
	})
}

// passedOn are the signals that the watcher passes on. The others stop or resume it with the child
// (those of the terminal), or are of the runtime. SIGPIPE is caught, so that a standard error that is
// a broken pipe does not end the watcher.
func passedOn() (list []os.Signal) {
	for sig := syscall.Signal(1); sig < 65; sig++ {
		switch sig {
		case unix.SIGKILL, unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGCHLD, unix.SIGURG, unix.SIGPROF,
			unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGTRAP, 32, 33, 34: // The last are the C library's.
			continue
		}
		if !signal.Ignored(sig) { // By nohup; the child inherits that.
			list = append(list, sig)
		}
	}
	return list
}

// watch waits for the end of the child and ends as it did.
func (w *childWatch) watch() {
	w.letGo()
	go func() {
		for s := range w.signals {
			if sig := s.(syscall.Signal); sig != unix.SIGPIPE && !fromTerminal(sig) {
				_ = unix.Kill(w.pid, sig)
			}
		}
	}()
	var ended [2]int
	if err := unix.Pipe2(ended[:], unix.O_CLOEXEC); err != nil {
		say("no report of a crash: %v", err)
		endAs(w.wait())
	}
	collected := make(chan bool)
	go func() {
		defer close(collected)
		w.collect(ended[0])
	}()
	status := w.wait()
	unix.Close(ended[1])
	<-collected
	w.report(os.Stderr)
	endAs(status)
}

// letGo closes the files that the watcher has inherited, except standard error: a reader of the
// child's standard output must see its end when the child closes it. Files of Go's runtime and of
// this package are closed at exec, which inherited ones are not.
func (w *childWatch) letGo() {
	_ = os.WriteFile("/proc/self/comm", []byte("freehold-watch"), 0) // Tools that look for the name find the child alone.
	if null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0); err == nil {
		_ = unix.Dup3(null, 0, 0)
		_ = unix.Dup3(null, 1, 0)
		_ = unix.Close(null)
	}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd < 3 {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
}

// fromTerminal says whether the terminal sent a signal, which the child then got by itself. So one
// that another process sends to a program in a terminal's foreground is lost.
func fromTerminal(sig syscall.Signal) bool {
	if sig != unix.SIGINT && sig != unix.SIGQUIT {
		return false
	}
	tty, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(tty)
	group, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// wait waits for the end of the child, and as process 1 for that of each other process, too, which
// nobody else does.
func (w *childWatch) wait() (status unix.WaitStatus) {
	for {
		pid, err := unix.Wait4(-1, &status, 0, nil)
		if pid == w.pid && (status.Exited() || status.Signaled()) || err != nil && err != unix.EINTR {
			return status
		}
	}
}

// maxText bounds the text of a crash, in bytes.
const maxText = 64 << 20

// collect reads the crash and the messages until ended is closed, and what was written before. It
// does not wait for the end of the pipe: a process that C code has forked may hold it.
func (w *childWatch) collect(ended int) {
	buf, rights := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4))
	fds := []unix.PollFd{{Fd: int32(w.crash), Events: unix.POLLIN}, {Fd: int32(w.line), Events: unix.POLLIN}, {Fd: int32(ended), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, -1); err == unix.EINTR {
			continue
		}
		more := false
		if fds[0].Revents != 0 {
			n, _ := unix.Read(w.crash, buf)
			w.text = append(w.text, buf[:max(0, min(n, maxText-len(w.text)))]...)
			more = n > 0
			if !more {
				fds[0].Fd = -1 // Poll leaves it out.
			}
		}
		if fds[1].Revents != 0 {
			n, oobn, _, _, _ := unix.Recvmsg(w.line, buf[:1], rights, unix.MSG_CMSG_CLOEXEC)
			if n > 0 {
				more = true
				w.hear(buf[0], rights[:oobn])
			} else {
				fds[1].Fd = -1
			}
		}
		if fds[2].Revents != 0 && !more {
			return
		}
	}
}

// hear acts on a message of the child.
func (w *childWatch) hear(message byte, rights []byte) {
	switch message {
	case sayLeaks:
		w.leaks = true
	case sayTold:
		w.told = true
	case sayOutput, sayNoOutput:
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
}

// report writes what there is to say of the child.
func (w *childWatch) report(stderr io.Writer) {
	out := stderr
	if w.output != nil {
		_, _ = w.output.Write(w.text)
		out = both{w.output, stderr}
	}
	switch {
	case len(w.text) > 0:
		reportCrash(out, string(w.text), w.files)
	case w.leaks && !w.told:
		reportLeaks(out, w.files)
	}
}

// byDefault is a zero struct sigaction: the default action.
var byDefault [64]byte

// endAs ends this process as another one has ended.
func endAs(status unix.WaitStatus) {
	if !status.Signaled() {
		os.Exit(status.ExitStatus())
	}
	sig := status.Signal()
	if os.Getpid() != 1 { // No signal of its own ends process 1.
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) // The child's core is the one to look at.
		// Go's runtime would write stacks for some signals.
		_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), unsafex.Addr(&byDefault), 0, 8, 0, 0)
		_ = unix.Kill(os.Getpid(), sig)
	}
	os.Exit(128 + int(sig))
}
