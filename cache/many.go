// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"hash/maphash"
	"runtime"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/percpu"
	"github.com/freehold-go/freehold/internal/sanitize"
)

// group is the number of keys that getMany looks for at once: enough that the misses of the processor's cache
// overlap.
const group = 16

// getMany calls f for each key that has a value. It goes through the keys three times: the first time
// it reads the bucket of each, the second time the first line of the entry, so that the processor
// fetches all of them at once. What it reads there may be changed by others at the same moment; it is
// not used. The third time it is view.
func (e *engine) getMany(keys [][]byte, f func(i int, value []byte)) {
	var hashes [group]uint64
	for from := 0; from < len(keys); from += group {
		part := keys[from:min(from+group, len(keys))]
		for i, key := range part {
			hashes[i] = maphash.Bytes(e.seed, key)
		}
		if !sanitize.Race {
			e.touch(hashes[:len(part)])
		}
		for i, key := range part {
			e.counts.read(e.viewHash(hashes[i], key, func(v []byte) { f(from+i, v) }))
		}
	}
}

// touch reads the buckets of hashes, and then the entries that they may lead to. The caller is
// pinned meanwhile, so that the memory stays: see quiesce.
func (e *engine) touch(hashes []uint64) {
	pin := percpu.Acquire()
	defer pin.Release()
	n := e.n.Load()
	if n == 0 {
		return
	}
	var buckets [group]*bucket
	sum := uint64(0)
	for i, h := range hashes {
		if buckets[i] = e.at(e.home(h, n)); buckets[i] == nil {
			return // The table has just become smaller.
		}
		sum += buckets[i][0]
	}
	dir := *e.dir.Load()
	for i, h := range hashes {
		b := buckets[i]
		for j := 1; j < bucketWords; j++ {
			slot := atomic.LoadUint64(&b[j])
			if slot>>tagShift != h>>tagShift || slot == 0 {
				continue
			}
			loc := slot & locMask
			if no := loc >> e.segShift; no < uint64(len(dir)) { // A newer one lies in a newer directory.
				if s := dir[no].Load(); s != nil && s.block != nil {
					sum += uint64(s.mem[loc&(1<<e.segShift-1)])
				}
			}
			break
		}
	}
	runtime.KeepAlive(sum)
}
