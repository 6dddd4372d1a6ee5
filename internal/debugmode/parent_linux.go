// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
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
//     the socket it passes on the file of SetCrashOutput.
//  4. The watcher passes signals on to the child, and waits for its end. Then it writes the report,
//     and ends with the child's exit status, or by the child's signal.
//
// The report is so written before the program has ended for its caller. As process 1 of a PID
// namespace the watcher can write it, too: the system ends the others only when process 1 ends.

// parentVariable tells the child of the watcher: its process ID, and the numbers of the files.
const parentVariable = "FREEHOLD_WATCHER"

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
	link.crash, link.line = os.NewFile(uintptr(fds[0]), "crash"), os.NewFile(uintptr(fds[1]), "line")
	link.files = sharedFiles{os.NewFile(uintptr(fds[2]), blocksFile), os.NewFile(uintptr(fds[3]), textsFile)}
}

// childWatch is the watcher of a child.
type childWatch struct {
	watcher
	pid     int
	signals chan os.Signal
}

// startChild starts the child.
func startChild() (w *childWatch, err error) {
	w = &childWatch{signals: make(chan os.Signal, 64)}
	ends, err := newPipes()
	if err != nil {
		return nil, err
	}
	defer ends.crash[1].Close()
	defer ends.line[1].Close()
	w.crash, w.line = ends.crash[0], ends.line[0]
	if w.files, err = newSharedFiles(); err == nil {
		signal.Notify(w.signals, passedOn()...)
		w.pid, err = w.fork(ends.crash[1], ends.line[1])
	}
	if err != nil {
		signal.Reset()
		w.crash.Close()
		w.line.Close()
		w.files.close()
	}
	return w, err
}

// fork starts this program again with the files, whose numbers are free ones, since other files may
// be inherited with theirs (socket activation, redirections of a shell).
func (w *childWatch) fork(crash, line *os.File) (pid int, err error) {
	told := strconv.Itoa(os.Getpid())
	for _, f := range []*os.File{crash, line, w.files.records, w.files.texts} {
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD, 3)
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
	collected := make(chan bool)
	go func() {
		defer close(collected)
		w.collect()
	}()
	status := w.wait()
	_ = unix.Shutdown(int(w.line.Fd()), unix.SHUT_RD) // A process that C code has forked may hold the other end.
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
