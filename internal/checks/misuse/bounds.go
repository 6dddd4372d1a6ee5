// SPDX-License-Identifier: Apache-2.0

package main

// overflow is who catches an access behind a block or before it: a page at once, a canary when the
// block is freed.
func overflow(kind string, write bool) []Sight {
	by, valgrind := []Mode{Guard, Sample, ASan, MSan}, "Invalid read"
	if write { // MSan checks the bytes that are read.
		by, valgrind = by[:3], "Invalid write"
	}
	return []Sight{
		{By: by, Says: []string{"freehold: " + kind + ":"}, Stacks: Accessed | Allocated},
		{By: []Mode{Valgrind}, Says: []string{valgrind}},
	}
}

// farAway is who catches an access so far from a block that it may lead to another.
func farAway(kind string) []Sight {
	says := []string{"freehold: " + kind + ":"}
	return []Sight{
		{By: []Mode{Guard}, Says: says, Stacks: Accessed | Allocated},
		{By: []Mode{Sample}, In: []Variant{OffHeap}, Says: says, Stacks: Accessed | Allocated},
	}
}

// damage lists the modes that catch a write beside a block when they check the block later.
func damage(by ...Mode) Sight {
	return Sight{By: by, Says: []string{"freehold: damaged canary:"}, Stacks: Allocated}
}

// bounds are accesses beside a block, which take unsafe code.
func bounds() []Case {
	// At the end that does not meet the end of a page, a canary tells of writes.
	before := []Sight{
		{By: []Mode{ASan}, Says: []string{"freehold: underflow:"}, Stacks: Accessed | Allocated},
		{By: []Mode{Valgrind}, Says: []string{"Invalid write"}},
		damage(Guard, Sample),
	}
	odd := []Sight{
		{By: []Mode{Guard, Sample}, In: []Variant{Plain}, Says: []string{"freehold: overflow:"}, Stacks: Accessed | Allocated},
		{By: []Mode{ASan}, Says: []string{"freehold: overflow:"}, Stacks: Accessed | Allocated},
		{By: []Mode{Valgrind}, Says: []string{"Invalid write"}},
		damage(Guard, Sample),
	}
	return []Case{
		{Name: "overflow-1-read", Text: "reads the byte behind a block", Run: two(readBeside(64, 64)), Seen: overflow("overflow", false)},
		{Name: "overflow-1-write", Text: "writes the byte behind a block", Run: two(writeBeside(64, 64)), Seen: overflow("overflow", true), Wild: true},
		{Name: "overflow-8-write", Text: "writes eight bytes behind a block", Run: two(writeBeside(256, 256+7)), Seen: overflow("overflow", true), Wild: true},
		{Name: "overflow-page-read", Text: "reads a page behind a block", Run: two(readBeside(64, 64+4096)), Seen: farAway("overflow"), Loose: true},
		{Name: "overflow-odd-write", Text: "writes the byte behind a block of 13 bytes", Run: two(writeBeside(13, 13)), Seen: odd, Wild: true},
		{Name: "overflow-large-write", Text: "writes the byte behind a block of a mebibyte", Run: only(OffHeap, writeBeside(1<<20, 1<<20)), Seen: overflow("overflow", true), Wild: true},
		{Name: "overflow-slice", Text: "makes a slice longer than its block and writes to its end", Run: only(OffHeap, sliceTooLong), Seen: overflow("overflow", true), Wild: true},
		{Name: "underflow-1-write", Text: "writes the byte before a block", Run: two(writeBeside(64, -1)), Seen: before, Wild: true},
		{Name: "underflow-page-read", Text: "reads a page before a block", Run: two(readBeside(64, -4096)), Seen: farAway("underflow"), Loose: true},
		{Name: "underflow-full-page", Text: "writes the byte before a block that fills its pages", Run: only(OffHeap, writeBeside(8192, -1)), Seen: overflow("underflow", true), Wild: true},
	}
}

// neighbours is the number of blocks of size bytes that lie before the block that matters, and as
// many behind it, so that without a debug mode the programs do no harm. All of them fit into the
// budget of guarded memory, which is 128 MiB on 32-bit systems.
func neighbours(size int) int { return min(100, 32<<20/size) }

// readBeside reads a byte, n from the beginning of a block of size bytes.
func readBeside(size, n int) func(Variant) {
	return func(v Variant) { withBlock(v, size, func(p *byte) { accessByte(beside(p, n)) }) }
}

// writeBeside writes it.
func writeBeside(size, n int) func(Variant) {
	return func(v Variant) { withBlock(v, size, func(p *byte) { accessByteWrite(beside(p, n)) }) }
}

// withBlock calls access with a block that has neighbours, and then frees all of them.
func withBlock(v Variant, size int, access func(*byte)) {
	h, around := open(v, byFree), &home{how: byFree}
	around.a = h.a
	for range neighbours(size) {
		allocateBytes(around, size)
	}
	b := allocateBytes(h, size)
	for range neighbours(size) {
		allocateBytes(around, size)
	}
	access(&b[0])
	giveUp(h)
	if around.a == nil {
		giveUp(around)
	}
}

func sliceTooLong(Variant) {
	h := open(OffHeap, byFree)
	s := allocateSlice[point](h, 10)
	more := lengthened(s, 11)
	accessWrite(&more[10])
	giveUp(h)
}
