// SPDX-License-Identifier: Apache-2.0

package main

// blind are mistakes that nothing catches.
func blind() []Case {
	return []Case{
		{Name: "blind-within-block", Text: "writes behind an array, into the next field of the same value", Run: two(withinBlock),
			Blind: "Both fields belong to one block, and the program may write to each."},
		{Name: "blind-number", Text: "uses a number that it read before Free", Run: two(staleNumber),
			Blind: "The number was copied while it was valid."},
		{Name: "blind-interior-reuse", Text: "gives a slot of its own free list to two users", Run: two(ownFreeList),
			Blind: "The program's own allocator hands out parts of one block; freehold sees the block alone."},
	}
}

func withinBlock(v Variant) {
	h := open(v, byFree)
	b := allocateBytes(h, 16)
	first := b[:8]
	accessByteWrite(beside(&first[0], 8))
	giveUp(h)
}

func staleNumber(v Variant) {
	h := open(v, byFree)
	n := allocate[point](h).y
	giveUp(h)
	sum += n
}

func ownFreeList(v Variant) {
	h := open(v, byFree)
	slots := allocateSlice[point](h, 8)
	mine, yours := &slots[3], &slots[3]
	mine.x = 1
	accessWrite(yours)
	giveUp(h)
}
