// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"runtime"
	"sync/atomic"
)

const (
	bucketWords = 8
	bucketBytes = 8 * bucketWords
	slots       = bucketWords - 1

	headLocked    = 1
	headDisplaced = 2 // The unit of the number of displaced entries.
	mostDisplaced = 7
	headUse       = 1 << 4 // The unit of the number of uses.
	headUses      = 63 << 4
	agingUses     = 48
	counterAt     = 10
	counters      = 13
	halveMask     = 0x7777777777777 << counterAt // The counters' bits that stay when they are halved.

	family = 4 // Buckets.

	locBits      = 44
	locMask      = 1<<locBits - 1
	slotDistance = 3 << locBits
	slotUse      = 1 << (locBits + 2)
	slotUses     = 3 * slotUse
	tagShift     = 48

	// The tag has, from its lowest bit: the first bits of the group and the next bit, so that growing
	// reads no entries until there are 256 groups; the quarter; and the fraction, which says what
	// share of the entries with a next bit moves to each new page.
	groupBits    = 8
	quarterAt    = tagShift + groupBits
	fractionAt   = quarterAt + 2
	fractionBits = 64 - fractionAt
)

type bucket = [bucketWords]uint64

// try tries to lock a bucket and returns its head.
func try(b *bucket) (head uint64, ok bool) {
	head = atomic.LoadUint64(&b[0])
	return head, head&headLocked == 0 && atomic.CompareAndSwapUint64(&b[0], head, head|headLocked)
}

// unlock unlocks a bucket, and gives it a head.
func unlock(b *bucket, head uint64) { atomic.StoreUint64(&b[0], head&^headLocked) }

// pause waits before another attempt. The holder of a lock may have been preempted.
func pause(attempt int) {
	if attempt > 8 {
		runtime.Gosched()
	}
}

// lockAt locks a bucket whose page cannot go.
func lockAt(b *bucket) (head uint64) {
	for attempt := 0; ; attempt++ {
		if head, ok := try(b); ok {
			return head
		}
		pause(attempt)
	}
}

// displaced is the number of entries of a bucket that lie in others of its family.
func displaced(head uint64) uint64 { return head / headDisplaced % (mostDisplaced + 1) }

// counted is a head after one more use of a key with hash h.
func counted(head, h uint64) uint64 {
	i, j := counterShifts(h)
	a, b := head>>i&15, head>>j&15
	m := min(a, b)
	if m < 15 {
		if a == m {
			head += 1 << i
		}
		if b == m {
			head += 1 << j
		}
	}
	head += headUse
	if head&headUses < agingUses*headUse {
		return head
	}
	const all = (1<<(4*counters) - 1) << counterAt
	return head&^(headUses|all) | agingUses/2*headUse | head&all>>1&halveMask
}

// uses is the estimate of the uses of a key with hash h.
func uses(head, h uint64) uint64 {
	i, j := counterShifts(h)
	return min(head>>i&15, head>>j&15)
}

// counterShifts are the places of a key's two counters in the head. They depend on the tag's fraction and group
// bits, so that they are known without the key.
func counterShifts(h uint64) (i, j uint64) {
	mixed := h >> tagShift * 0x9e3779b97f4a7c15
	i = mixed >> 48 * counters >> 16
	j = mixed >> 32 & 0xffff * (counters - 1) >> 16
	if j >= i {
		j++
	}
	return counterAt + 4*i, counterAt + 4*j
}

// moved is a head with the counters of an entry that came from a bucket with another head.
func moved(head, from, slot uint64) uint64 {
	i, j := counterShifts(slot)
	for _, at := range [2]uint64{i, j} {
		if n := from >> at & 15; n > head>>at&15 {
			head = head&^(15<<at) | n<<at
		}
	}
	return head
}

// empty is the number of an empty slot of b, or -1.
func empty(b *bucket) int {
	for i := 1; i < bucketWords; i++ {
		if b[i] == 0 {
			return i
		}
	}
	return -1
}

// holds is the number of the slot of b with an entry at loc, or -1.
func holds(b *bucket, loc uint64) int {
	for i := 1; i < bucketWords; i++ {
		if b[i]&locMask == loc {
			return i
		}
	}
	return -1
}
