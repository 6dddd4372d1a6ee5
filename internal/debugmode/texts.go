// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"encoding/binary"
	"os"
	"sync"
)

// textTable holds strings by number, 0 being the empty one.
type textTable struct {
	mu      sync.RWMutex
	list    []string
	numbers map[string]uint32 // of those that were interned
	file    *os.File          // where the watching copy reads them, nil if there is none
	end     int64             // of the texts written there
}

// texts holds the stacks, and the names of types, owners and operations.
var texts textTable

// add stores a string and returns its number.
func (t *textTable) add(s string) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.addLocked(s)
}

func (t *textTable) addLocked(s string) uint32 {
	t.list = append(t.list, s)
	t.write(s)
	return uint32(len(t.list))
}

// intern returns the number of a string, the same for equal strings.
func (t *textTable) intern(s string) uint32 {
	if s == "" {
		return 0
	}
	t.mu.RLock()
	n, ok := t.numbers[s]
	t.mu.RUnlock()
	if ok {
		return n
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if n, ok := t.numbers[s]; ok {
		return n
	}
	if t.numbers == nil {
		t.numbers = make(map[string]uint32)
	}
	n = t.addLocked(s)
	t.numbers[s] = n
	return n
}

// get returns the string with the number, "" for one that was never given.
func (t *textTable) get(n uint32) string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if n == 0 || uint64(n) > uint64(len(t.list)) {
		return ""
	}
	return t.list[n-1]
}

// write appends a string to the file. The length comes last, so that a text which is only half
// there is none.
func (t *textTable) write(s string) {
	if t.file == nil {
		return
	}
	entry := make([]byte, 4+len(s), 8+len(s))
	copy(entry[4:], s)
	if _, err := t.file.WriteAt(entry[:8+len(s)], t.end); err != nil {
		t.lost(err)
		return
	}
	binary.NativeEndian.PutUint32(entry, uint32(len(s))+1)
	if _, err := t.file.WriteAt(entry[:4], t.end); err != nil {
		t.lost(err)
		return
	}
	t.end += int64(len(entry))
}

// lost ends the writing: whatever came later would have another number in the copy.
func (t *textTable) lost(err error) {
	t.file = nil
	say("no more stacks for the report of a crash: %v", err)
}

// decodeTexts reads what textTable.write wrote, up to a write that was begun and not done.
func decodeTexts(data []byte) (list []string) {
	for len(data) >= 4 {
		n := uint64(binary.NativeEndian.Uint32(data))
		if n == 0 || n > uint64(len(data)-3) {
			break
		}
		list = append(list, string(data[4:n+3]))
		data = data[n+3:]
	}
	return list
}
