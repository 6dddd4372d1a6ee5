// SPDX-License-Identifier: Apache-2.0

package process

import (
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A Socket is one that listens at a TCP port.
type Socket struct {
	At    netip.AddrPort
	inode string
}

// Sockets reads the listening sockets of the network namespace of a process, whose folder is /proc/PID. There are none on systems
// without /proc.
func Sockets(dir string) (list []Socket) {
	for _, file := range []string{"tcp", "tcp6"} {
		data, err := os.ReadFile(filepath.Join(dir, "net", file))
		if err != nil {
			continue // there is no IPv6
		}
		for line := range strings.Lines(string(data)) {
			const local, state, inode, listen = 1, 3, 9, "0A"
			f := strings.Fields(line)
			if len(f) <= inode || f[state] != listen {
				continue
			}
			if at, ok := addressOf(f[local]); ok {
				list = append(list, Socket{at, f[inode]})
			}
		}
	}
	return list
}

// addressOf reads an address such as 0100007F:1F90, which has 32-bit words in the machine's order; all Linux ports of Go but s390x and
// a few others are little-endian.
func addressOf(text string) (netip.AddrPort, bool) {
	host, port, ok := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	n, err2 := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || err2 != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(raw); i += 4 {
		slices.Reverse(raw[i : i+4])
	}
	addr, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), ok
}

// Holds reports which of the sockets a process has open, whose folder is /proc/PID.
func Holds(dir string, sockets []Socket) (list []Socket) {
	files, _ := filepath.Glob(filepath.Join(dir, "fd", "*"))
	for _, file := range files {
		name, err := os.Readlink(file)
		if err != nil || !strings.HasPrefix(name, "socket:[") {
			continue
		}
		for _, s := range sockets {
			if name == "socket:["+s.inode+"]" && !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	return list
}
