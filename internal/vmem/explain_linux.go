// SPDX-License-Identifier: Apache-2.0

package vmem

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// explain finds out which limit refused op and says how to raise it. It is called after a failure
// only, and names a limit only if the figures say that the request goes beyond it.
func explain(op string, size uintptr, err error) string {
	refused(err)
	switch {
	case errors.Is(err, unix.EINVAL) && op == OpPurge:
		return "pages locked by mlock or mlockall cannot be given back: unlock them first"
	case !errors.Is(err, unix.ENOMEM):
		return ""
	case errors.Is(err, errNoMappings):
		limit, _ := procNumber("/proc/sys/vm/max_map_count")
		return fmt.Sprintf("vm.max_map_count allows %d mappings and the last %d are kept for Go, which dies without: "+
			"raise it with sysctl -w vm.max_map_count=%d", limit, sparePages, 4*limit)
	}
	for _, find := range []func(string, uint64) string{explainLimits, explainMapCount, explainOvercommit} {
		if hint := find(op, uint64(size)); hint != "" {
			return hint
		}
	}
	return "none of RLIMIT_AS (ulimit -v), RLIMIT_DATA (ulimit -d), vm.max_map_count and " +
		"vm.overcommit_memory explains it: the address space has no gap of this size, or the machine has no memory"
}

// explainLimits compares with the process's resource limits, less the room that is left to Go.
func explainLimits(op string, size uint64) string {
	total, data, ok := processSizes()
	if !ok {
		return ""
	}
	if limit := softLimit(unix.RLIMIT_AS); op != OpCommit && limit != math.MaxUint64 {
		if room := roomBelow(limit, data); size > above(limit, total+room) {
			return fmt.Sprintf("RLIMIT_AS allows %d bytes of address space, %d are in use and %d are kept for Go: "+
				"raise it with ulimit -v, or reserve less", limit, total, room)
		}
	}
	if limit := softLimit(unix.RLIMIT_DATA); op == OpCommit && limit != math.MaxUint64 {
		if room := roomBelow(limit, data); size > above(limit, data+room) {
			return fmt.Sprintf("RLIMIT_DATA allows %d bytes of writable memory, %d are in use and %d are kept for Go: "+
				"raise it with ulimit -d, or use less", limit, data, room)
		}
	}
	return ""
}

// processSizes returns the mapped and the writable private bytes of this process.
func processSizes() (total, data uint64, ok bool) {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, 0, false
	}
	fields := strings.Fields(string(b))
	if len(fields) < 6 {
		return 0, 0, false
	}
	total, err1 := strconv.ParseUint(fields[0], 10, 64)
	data, err2 := strconv.ParseUint(fields[5], 10, 64)
	return total * uint64(pageSize), data * uint64(pageSize), err1 == nil && err2 == nil
}

// explainMapCount compares the number of mappings with the kernel's limit, less the spare that is
// kept for Go. A few more are allowed for: splitting a mapping in the middle makes two more, and
// other threads map and unmap while we count.
func explainMapCount(_ string, _ uint64) string {
	const slack = sparePages + 8
	limit, ok := procNumber("/proc/sys/vm/max_map_count")
	if !ok {
		return ""
	}
	count, err := countMappings()
	if err != nil || count+slack < limit {
		return ""
	}
	return fmt.Sprintf("the process has %d mappings and vm.max_map_count allows %d: raise it with "+
		"sysctl -w vm.max_map_count=%d, or protect fewer separate ranges", count, limit, 4*limit)
}

// countMappings counts lines with a small buffer: at this limit, the less memory we need the
// better.
func countMappings() (uint64, error) {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	buf := make([]byte, 4096)
	var count uint64
	for {
		n, err := f.Read(buf)
		count += uint64(bytes.Count(buf[:n], []byte{'\n'}))
		if err != nil {
			return count, nil // io.EOF, or a part of the answer, which is still a lower bound
		}
	}
}

// explainOvercommit compares with the commit limit that vm.overcommit_memory=2 enforces, less the
// room that is left to Go.
func explainOvercommit(_ string, size uint64) string {
	limit, used, ok := commitCharge()
	_, data, _ := processSizes()
	room := roomBelow(limit, data)
	if !ok || size <= above(limit, used+room) {
		return ""
	}
	return fmt.Sprintf("vm.overcommit_memory=2 lets the machine promise %d bytes to programs, %d are promised and %d "+
		"are kept for Go: raise vm.overcommit_ratio, add swap, or set vm.overcommit_memory=0", limit, used, room)
}

// procNumber reads a file that holds one number.
func procNumber(path string) (uint64, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}

// procField reads the line of a file that begins with key and holds a number of kilobytes, such as
// those of /proc/meminfo and /proc/self/status. It returns bytes.
func procField(path, key string) (uint64, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if rest, found := strings.CutPrefix(line, key); found {
			n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 54)
			return n << 10, err == nil
		}
	}
	return 0, false
}
