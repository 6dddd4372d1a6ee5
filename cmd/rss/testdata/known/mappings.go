// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
)

// collapse makes huge pages of the range that the blocks lie in, as the kernel does in the background.
func collapse(list [][]byte) error {
	const huge, madvCollapse = 2 * mib, 25
	low, high := ^uintptr(0), uintptr(0)
	for _, b := range list {
		at := reflect.ValueOf(b).Pointer()
		low, high = min(low, at), max(high, at)
	}
	low, high = (low+huge-1)&^(huge-1), high&^(huge-1) // beyond them memory may be reserved only
	for at := low; at < high; at += huge {
		if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, at, huge, madvCollapse); errno != 0 && errno != syscall.EAGAIN {
			return fmt.Errorf("this kernel makes no huge pages on demand (MADV_COLLAPSE: %w)", errno)
		}
	}
	return nil
}

var zeros [mib]byte

// mapped maps a new file of n MiB and reads it.
func mapped(name string, n, flags int) error {
	dir, err := os.MkdirTemp("", "known")
	if err != nil {
		return err
	}
	old := cleanUp
	cleanUp = func() { old(); os.RemoveAll(dir) }
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer f.Close()
	for range n {
		if _, err := f.Write(zeros[:]); err != nil {
			return err
		}
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, n*mib, syscall.PROT_READ, flags)
	sum := byte(0)
	for i := 0; i < len(data); i += 4096 {
		sum += data[i]
	}
	kept = append(kept, []byte{sum})
	return err
}

func mapFiles() (map[string]int64, error) {
	for i := range 3 {
		if err := mapped(fmt.Sprintf("segment%d.dat", i), 64, syscall.MAP_PRIVATE); err != nil {
			return nil, err
		}
	}
	return map[string]int64{"mapped-files": 192 * mib}, nil
}

func database() (map[string]int64, error) {
	return map[string]int64{"mapped-files": 192 * mib}, mapped("data.db", 192, syscall.MAP_SHARED)
}

// fileCache moves the process into a control group of its own, and writes a file there.
func fileCache() (map[string]int64, error) {
	root, limit := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	if _, err := os.Stat(root); err != nil {
		root, limit = "/sys/fs/cgroup", "memory.max"
	}
	group := filepath.Join(root, "freehold-known-"+strconv.Itoa(os.Getpid()))
	cannot := func(err error) error { return fmt.Errorf("no control group of memory can be made here: %w", err) }
	if err := os.Mkdir(group, 0o755); err != nil {
		return nil, cannot(err)
	}
	before, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, cannot(err)
	}
	cleanUp = func() {
		_ = os.WriteFile(filepath.Join(root, own(string(before)), "cgroup.procs"), []byte("0"), 0)
		_ = os.WriteFile(filepath.Join(root, "cgroup.procs"), []byte("0"), 0) // if its own is not visible here
		_ = os.Remove(group)
	}
	if _, err := os.Stat(filepath.Join(group, limit)); err != nil {
		cleanUp()
		return nil, cannot(errors.New("the controller of memory is not enabled"))
	}
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte("0"), 0); err != nil {
		cleanUp()
		return nil, cannot(err)
	}
	if err := os.WriteFile(filepath.Join(group, limit), []byte(strconv.Itoa(1024*mib)), 0); err != nil {
		cleanUp()
		return nil, cannot(err)
	}
	f, err := os.CreateTemp("", "known")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	end := cleanUp
	cleanUp = func() { os.Remove(f.Name()); end() }
	for range 192 {
		if _, err := f.Write(zeros[:]); err != nil {
			return nil, err
		}
	}
	return map[string]int64{"file-cache": 192 * mib}, f.Sync()
}

// own is the path of the process's group of memory.
func own(text string) string {
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) == 3 && (f[1] == "memory" || f[1] == "") {
			return f[2]
		}
	}
	return "/"
}
