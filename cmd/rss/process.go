// SPDX-License-Identifier: Apache-2.0

package rss

import (
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/freehold-go/freehold/cmd/process"
	"github.com/freehold-go/freehold/cmd/sweep"
)

// A target is a process that /proc shows.
type target struct {
	proc string // the folder /proc
	pid  int
}

func (p *target) path(name string) string { return filepath.Join(p.proc, strconv.Itoa(p.pid), name) }

// read reads a file of the process. Its errors say what to do.
func (p *target) read(name string) ([]byte, error) {
	data, err := os.ReadFile(p.path(name))
	if err != nil {
		return nil, p.explain(name, err)
	}
	return data, nil
}

// explain says why a file of the process cannot be read.
func (p *target) explain(name string, err error) error {
	_, gone := os.Stat(p.path(""))
	switch {
	case errors.Is(err, fs.ErrPermission):
		owner := ""
		if uid := p.status()["Uid"]; uid != "" {
			owner = ", which belongs to the user with the ID " + strings.Fields(uid)[0]
		}
		return fmt.Errorf("rss: no right to read %s of process %d%s; run freehold as that user or as root (CAP_SYS_PTRACE)", name, p.pid, owner)
	case errors.Is(err, syscall.ESRCH):
		return fmt.Errorf("rss: process %d ended while it was read", p.pid)
	case errors.Is(err, fs.ErrNotExist) && gone == nil:
		return fmt.Errorf("rss: %s does not exist; this system hides it (gVisor, hidepid, a kernel without CONFIG_PROC_PAGE_MONITOR): run freehold on the host, or give the program's URL alone", p.path(name))
	case errors.Is(err, fs.ErrNotExist):
		if _, none := os.Stat(filepath.Join(p.proc, "self")); none != nil {
			return fmt.Errorf("rss: there is no %s here, which only Linux has; give the program's URL alone for the runtime's own figures", p.proc)
		}
		return fmt.Errorf("rss: there is no process %d; it has ended, or it is in another PID namespace, where it has another number: look at ps here", p.pid)
	}
	return fmt.Errorf("rss: read %s of process %d: %w", name, p.pid, err)
}

// status are the fields of /proc/PID/status, empty if it cannot be read.
func (p *target) status() map[string]string {
	data, _ := os.ReadFile(p.path("status"))
	return fieldsOf(data)
}

// fieldsOf reads lines of the form "Key: value".
func fieldsOf(data []byte) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, ":"); ok {
			fields[key] = strings.TrimSpace(value)
		}
	}
	return fields
}

// kib reads a size such as "12 kB", in bytes.
func kib(text string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSuffix(text, " kB"), 10, 50)
	return n << 10
}

// A program is what the files of a process say about it besides its memory.
type program struct {
	command   string
	exe       string // path, as mappings have it
	isGo      bool
	goVersion string
	main      string
	gogc      float64 // percent, by the environment; 100 by default, +Inf if it is off
	gogcSet   bool
	limit     int64 // GOMEMLIMIT, 0 if there is none
	globals   int64 // bytes of global variables that collections read
	note      string
}

func (p *target) program() (*program, error) {
	// The status comes first: it can be read if the process is there, whoever it belongs to.
	data, err := p.read("status")
	if err != nil {
		return nil, err
	}
	status := fieldsOf(data)
	g := &program{gogc: 100}
	if line, err := p.read("cmdline"); err == nil {
		g.command = strings.Join(strings.Split(strings.TrimRight(string(line), "\x00"), "\x00"), " ")
	}
	if g.command == "" {
		g.command = status["Name"]
	}
	if ids := strings.Fields(status["NSpid"]); len(ids) > 1 {
		g.note = fmt.Sprintf("the process is in another PID namespace, where its number is %s", ids[len(ids)-1])
	}
	if g.exe, err = os.Readlink(p.path("exe")); err != nil && status["VmRSS"] == "" {
		return nil, fmt.Errorf("rss: process %d has no memory: it is a thread of the kernel, or it has ended", p.pid)
	}
	if info, err := buildinfo.ReadFile(p.path("exe")); err == nil {
		g.isGo, g.goVersion, g.main = true, info.GoVersion, info.Path
		g.globals = globalsOf(p.path("exe"))
	}
	if env, err := p.read("environ"); err == nil {
		g.environment(strings.Split(string(env), "\x00"))
	}
	return g, nil
}

// globalsOf are the sections with pointers. The linker puts variables without pointers elsewhere (.noptrdata, .noptrbss).
func globalsOf(file string) (n int64) {
	f, err := elf.Open(file)
	if err != nil {
		return 0
	}
	defer f.Close()
	for _, name := range []string{".data", ".bss"} {
		if s := f.Section(name); s != nil {
			n += int64(s.Size)
		}
	}
	return n
}

func (g *program) environment(env []string) {
	for _, e := range env {
		switch name, value, _ := strings.Cut(e, "="); name {
		case "GOGC":
			if n, err := strconv.ParseFloat(value, 64); err == nil && n >= 0 {
				g.gogc, g.gogcSet = n, true
			} else if value == "off" || err == nil {
				g.gogc, g.gogcSet = math.Inf(1), true
			}
		case "GOMEMLIMIT":
			if n, err := sweep.ParseMemory(value); err == nil {
				g.limit = n
			}
		}
	}
}

// short is a command line that fits in a message.
func short(command string) string {
	const most = 80
	if r := []rune(command); len(r) > most {
		return string(r[:most]) + "…"
	}
	return command
}

// ownerOf finds the process that listens at a port of this machine, 0 if there is none or it belongs to another user.
func ownerOf(proc string, port uint16) int {
	var at []process.Socket
	for _, s := range process.Sockets(filepath.Join(proc, "self")) {
		if s.At.Port() == port {
			at = append(at, s)
		}
	}
	if len(at) == 0 {
		return 0
	}
	entries, _ := os.ReadDir(proc)
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && len(process.Holds(filepath.Join(proc, entry.Name()), at)) > 0 {
			return pid
		}
	}
	return 0
}
