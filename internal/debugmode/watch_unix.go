// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly || solaris || illumos

package debugmode

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// When a fault ends a Go process, no library runs. So a copy of the program waits on a pipe into
// which Go writes the text of the crash, and looks up the address of the crash in the tables that
// both processes share. A second pipe is closed when the process ends, so its end tells the copy of
// it. The process writes to that pipe only to dismiss a copy that another one has replaced.

// watchVariable marks the copy. A process that finds it in its environment is never the program
// itself, for any value.
const watchVariable = "FREEHOLD_WATCH"

// The words of watchVariable, separated by commas.
const (
	watchCrash  = "crash"  // explain a crash; always there
	watchLeaks  = "leaks"  // without one, list the leaks
	watchOutput = "output" // fdOutput is open
)

// The files that the copy is started with, behind standard input, which is the pipe of the crash,
// and standard error, which is the program's.
const (
	fdLife    = 3
	fdRecords = 4
	fdTexts   = 5
	fdOutput  = 6
)

// watcher is the copy that watches this process.
var watcher struct {
	mu     sync.Mutex
	files  sharedFiles // none: there is no copy
	life   *os.File    // its end is the end of this process
	output *os.File    // a duplicate of what SetCrashOutput was given
}

func init() {
	if task := os.Getenv(watchVariable); task != "" {
		watch(strings.Split(task, ","))
		os.Exit(0)
	}
}

// startWatch shares the tables with the watcher of this process, or with a copy that it starts.
func startWatch() error {
	if hasParent() {
		return startParent()
	}
	watcher.mu.Lock()
	defer watcher.mu.Unlock()
	if os.Getpid() == 1 {
		say("this is process 1, and when it ends the system ends all others, the one that reports, too. Set guard or sample in the variable FREEHOLD, " +
			"or start the program under an init, such as docker run --init")
	}
	files, err := newSharedFiles()
	if err != nil {
		return err
	}
	if err := files.use(); err != nil {
		files.close()
		return err
	}
	if err := startCopy(files); err != nil {
		return err
	}
	watcher.files = files
	return nil
}

// startCopy starts a copy, makes it the one that hears of a crash, and dismisses the one before.
// The caller holds watcher.mu.
func startCopy(files sharedFiles) error {
	crashRead, crashWrite, err := os.Pipe()
	if err != nil {
		return err
	}
	defer crashRead.Close()
	defer crashWrite.Close()
	lifeRead, pipe, err := os.Pipe()
	if err != nil {
		return err
	}
	defer lifeRead.Close()
	lifeWrite, err := duplicate(pipe)
	pipe.Close()
	if err != nil {
		return err
	}
	p, err := launch([]*os.File{crashRead, nil, os.Stderr, lifeRead, files.records, files.texts, watcher.output})
	if err == nil {
		_ = p.Release() // Its end does not matter.
		err = debug.SetCrashOutput(crashWrite, debug.CrashOptions{})
	}
	if err != nil {
		lifeWrite.Close()
		return err
	}
	if watcher.life != nil {
		_, _ = watcher.life.Write([]byte{0}) // If it is dead, that is fine, too.
		watcher.life.Close()
	}
	watcher.life = lifeWrite
	return nil
}

// leaksAreTold keeps the copy from listing the leaks. It goes on waiting for a crash.
func leaksAreTold() {
	if hasParent() {
		tell(sayTold)
		return
	}
	watcher.mu.Lock()
	defer watcher.mu.Unlock()
	if watcher.life != nil {
		_, _ = watcher.life.Write([]byte{0}) // If the copy is dead, that is fine, too.
	}
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
	task := watchCrash
	if Current().Leaks {
		task += "," + watchLeaks
	}
	if files[fdOutput] != nil {
		task += "," + watchOutput
	}
	args := append(os.Args[:min(1, len(os.Args)):1], fmt.Sprintf("[freehold: watches process %d]", os.Getpid()))
	var env []string
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != "FREEHOLD" && name != "GODEBUG" && name != "GOMAXPROCS" {
			env = append(env, v)
		}
	}
	return os.StartProcess(exe, args, &os.ProcAttr{
		Env:   append(env, watchVariable+"="+task, "GOMAXPROCS=1"),
		Files: files,
		// A group of its own, so that what the terminal sends to the program's is not the end of
		// the copy.
		Sys: &syscall.SysProcAttr{Setpgid: true},
	})
}

// SetCrashOutput makes f receive the text of a crash and, where a copy watches, the report. It
// stands in for debug.SetCrashOutput, with its rules: nil ends it, and f may be closed afterwards.
func SetCrashOutput(f *os.File, opts debug.CrashOptions) error {
	if hasParent() {
		return outputToParent(f, opts)
	}
	watcher.mu.Lock()
	defer watcher.mu.Unlock()
	var own *os.File
	if f != nil {
		var err error
		if own, err = duplicate(f); err != nil {
			return err
		}
	}
	old := watcher.output
	watcher.output = own
	var err error
	if watcher.files.records == nil {
		err = debug.SetCrashOutput(f, opts)
	} else {
		err = startCopy(watcher.files)
	}
	drop := old
	if err != nil {
		watcher.output, drop = old, own
	}
	if drop != nil {
		drop.Close()
	}
	return err
}

// duplicate returns another handle of the file, which is closed at exec and is none of the first
// three: if the program has closed its standard error, the first file opened afterwards takes its
// number, and Go would write the crash into it.
func duplicate(f *os.File) (*os.File, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	var dupErr error
	if err := conn.Control(func(old uintptr) { fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 3) }); err != nil {
		return nil, err
	}
	if dupErr != nil {
		return nil, &os.PathError{Op: "dup", Path: f.Name(), Err: dupErr}
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// watch is what the copy does: it returns when there is nothing left to say.
func watch(task []string) {
	if task[0] != watchCrash {
		return
	}
	out := io.Writer(os.Stderr)
	var text bytes.Buffer
	crashText := io.Writer(&text)
	if slices.Contains(task, watchOutput) {
		f := os.NewFile(fdOutput, "crash output")
		crashText = both{&text, f}
		out = both{f, os.Stderr} // A standard error that is a broken pipe ends the copy.
	}
	_, _ = io.Copy(crashText, os.Stdin)
	replaced, _ := io.ReadAll(os.NewFile(fdLife, "life"))
	files := sharedFiles{os.NewFile(fdRecords, blocksFile), os.NewFile(fdTexts, textsFile)}
	if text.Len() > 0 {
		reportCrash(out, text.String(), files)
	} else if len(replaced) == 0 && slices.Contains(task, watchLeaks) {
		reportLeaks(out, files)
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
	if len(records) > 0 {
		_, _ = io.WriteString(out, lostLeaks(records[0].serial))
	}
}

// load reads what another process has left in the files.
func (s sharedFiles) load() ([]record, error) {
	if err := texts.load(s.texts); err != nil {
		return nil, err
	}
	return loadRecords(s.records)
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
