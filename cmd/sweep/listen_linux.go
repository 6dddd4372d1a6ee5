// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// groupListens reports whether a process of the group listens at a TCP port.
func groupListens(group int) (bool, error) {
	listening := map[string]bool{} // by the names of sockets
	for _, file := range []string{"tcp", "tcp6"} {
		data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(group), "net", file))
		if err != nil {
			continue // it has ended, or there is no IPv6
		}
		for line := range strings.Lines(string(data)) {
			const state, inode, listen = 3, 9, "0A"
			if f := strings.Fields(line); len(f) > inode && f[state] == listen {
				listening["socket:["+f[inode]+"]"] = true
			}
		}
	}
	if len(listening) == 0 {
		return false, nil
	}
	all, err := os.ReadDir("/proc")
	if err != nil {
		return false, fmt.Errorf("sweep: %w", err)
	}
	for _, entry := range all {
		if groupOf(entry.Name()) != group {
			continue
		}
		files, _ := filepath.Glob(filepath.Join("/proc", entry.Name(), "fd", "*"))
		for _, file := range files {
			if name, err := os.Readlink(file); err == nil && listening[name] {
				return true, nil
			}
		}
	}
	return false, nil
}

// groupOf is the process group of a process, or 0.
func groupOf(pid string) int {
	data, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return 0
	}
	// Behind the command's name, which may hold anything: state, parent, group.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 3 {
		return 0
	}
	n, _ := strconv.Atoi(fields[2])
	return n
}
