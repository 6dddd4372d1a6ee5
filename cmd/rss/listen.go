// SPDX-License-Identifier: Apache-2.0

package rss

import (
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A socket is one that listens at a TCP port.
type socket struct {
	at    netip.AddrPort
	inode string
}

// socketsOf reads the listening sockets of the network namespace that the folder DIR/net shows, where DIR is /proc/PID or /proc/self.
func socketsOf(dir string) (list []socket) {
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
				list = append(list, socket{at, f[inode]})
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

// holds reports which of the sockets a process has open.
func (p *process) holds(sockets []socket) (list []socket) {
	files, _ := filepath.Glob(p.path("fd/*"))
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

// ownerOf finds the process that listens at a port of this machine, 0 if there is none or it belongs to another user.
func ownerOf(proc string, port uint16) int {
	var at []socket
	for _, s := range socketsOf(filepath.Join(proc, "self")) {
		if s.at.Port() == port {
			at = append(at, s)
		}
	}
	if len(at) == 0 {
		return 0
	}
	entries, _ := os.ReadDir(proc)
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			if p := (&process{proc, pid}); len(p.holds(at)) > 0 {
				return pid
			}
		}
	}
	return 0
}
