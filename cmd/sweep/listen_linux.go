// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/freehold-go/freehold/cmd/process"
)

// groupListens reports whether a process of the group listens at a TCP port.
func groupListens(group int) (bool, error) {
	sockets := process.Sockets(filepath.Join("/proc", strconv.Itoa(group)))
	if len(sockets) == 0 {
		return false, nil
	}
	all, err := os.ReadDir("/proc")
	if err != nil {
		return false, fmt.Errorf("sweep: %w", err)
	}
	for _, entry := range all {
		if groupOf(entry.Name()) == group && len(process.Holds(filepath.Join("/proc", entry.Name()), sockets)) > 0 {
			return true, nil
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
