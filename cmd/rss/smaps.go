// SPDX-License-Identifier: Apache-2.0

package rss

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// A mapping is an entry of /proc/PID/smaps. Sizes are in bytes.
type mapping struct {
	start, end uint64
	perms      string
	name       string // a file, or "[heap]", "[anon: Go: heap]", or "" for anonymous memory without a name
	rss, swap  int64
	lazyFree   int64 // given back with MADV_FREE, and still there
	huge       int64 // in huge pages
}

func (m *mapping) size() uint64 { return m.end - m.start }

// anonymous reports whether the mapping is private memory without a name.
func (m *mapping) anonymous() bool { return m.name == "" && strings.HasSuffix(m.perms, "p") }

// parseSmaps reads smaps. Fields that a kernel lacks are 0.
func parseSmaps(data []byte) ([]mapping, error) {
	var list []mapping
	for line := range bytes.Lines(data) {
		fields := strings.Fields(string(line))
		if len(fields) == 0 {
			continue
		}
		key, isField := strings.CutSuffix(fields[0], ":")
		if !isField {
			m, err := parseHeader(fields)
			if err != nil {
				return nil, err
			}
			list = append(list, m)
			continue
		}
		if len(list) == 0 || len(fields) < 2 {
			continue
		}
		m := &list[len(list)-1]
		target := map[string]*int64{"Rss": &m.rss, "Swap": &m.swap, "LazyFree": &m.lazyFree, "AnonHugePages": &m.huge}[key]
		if target == nil {
			continue
		}
		kib, err := strconv.ParseInt(fields[1], 10, 50)
		if err != nil {
			return nil, fmt.Errorf("smaps has the line %q, which is no size", strings.TrimSpace(string(line)))
		}
		*target = kib << 10
	}
	return list, nil
}

// parseHeader reads the line in front of a mapping's fields: range, permissions, offset, device, inode and name.
func parseHeader(fields []string) (m mapping, err error) {
	low, high, ok := strings.Cut(fields[0], "-")
	if ok && len(fields) >= 5 {
		if m.start, err = strconv.ParseUint(low, 16, 64); err == nil {
			m.end, err = strconv.ParseUint(high, 16, 64)
		}
		m.perms, m.name = fields[1], strings.Join(fields[5:], " ")
		if err == nil && m.end >= m.start && len(m.perms) == 4 {
			return m, nil
		}
	}
	return m, fmt.Errorf("smaps has the line %q, which is no mapping", strings.Join(fields, " "))
}

// overlap reports whether a mapping begins before the one in front of it ends.
func overlap(list []mapping) bool {
	for i := 1; i < len(list); i++ {
		if list[i].start < list[i-1].end {
			return true
		}
	}
	return false
}
