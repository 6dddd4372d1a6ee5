// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"sort"
	"strings"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/offheap"
)

const everything = Accessed | Allocated | Freed

// A use is an operation on a freed value.
type use int

const (
	reads use = iota
	writes
	readsText // A string: compilers leave those out of what they check for ASan and MSan.
)

// gone lists the modes that catch a use of a freed value. op is the function that freed a block of
// offheap; values in arenas are freed in the way how.
func gone(how way, op string, u use) []Sight {
	tombs := Sight{By: []Mode{Guard, ASan, MSan}, In: []Variant{Pointers}, Says: []string{"freehold: use after " + reported(how) + ":"}, Stacks: everything}
	arenas := Sight{By: []Mode{Guard, Sample}, In: []Variant{Plain}, Says: tombs.Says, Stacks: everything}
	blocks := Sight{By: []Mode{Guard}, In: []Variant{OffHeap}, Says: []string{"freehold: use after " + op + ":"}, Stacks: everything}
	if how == byFree { // Values that Reset and Rewind free in an off-heap arena lie in chunks, which stay.
		blocks.By = append(blocks.By, Sample)
	}
	valgrind := Sight{By: []Mode{Valgrind}, Says: []string{"Invalid read"}}
	switch u {
	case readsText:
		return []Sight{tombs, arenas, blocks, valgrind}
	case writes:
		valgrind.Says = []string{"Invalid write"}
		arenas.By, blocks.By = append(arenas.By, ASan), append(blocks.By, ASan)
		return []Sight{tombs, arenas, blocks, valgrind}
	}
	arenas.By, blocks.By = append(arenas.By, ASan, MSan), append(blocks.By, ASan, MSan)
	return []Sight{tombs, arenas, blocks, valgrind}
}

// goneField lists the modes that catch a use of a plain field of a value with pointers. The collector goes
// on reading such a value, so its memory stays accessible.
func goneField(how way, by ...Mode) []Sight {
	return []Sight{{By: by, Says: []string{"freehold: use after " + reported(how) + ":"}, Stacks: everything}}
}

// reported is what reports call the way.
func reported(how way) string {
	if how == byPut {
		return "Pool.Put"
	}
	return string(how)
}

// stale are uses of freed values.
func stale() []Case {
	return []Case{
		{Name: "free-pointer-read", Text: "reads a value through a pointer after Free", Run: three(readAfter[node](byFree), readAfter[point](byFree)), Seen: gone(byFree, "Delete", reads)},
		{Name: "reset-pointer-read", Text: "reads a value through a pointer after Reset", Run: three(readAfter[node](byReset), readAfter[point](byReset)), Seen: gone(byReset, "Reset", reads)},
		{Name: "rewind-pointer-read", Text: "reads a value through a pointer after Rewind", Run: three(readAfter[node](byRewind), readAfter[point](byRewind)), Seen: gone(byRewind, "Rewind", reads)},
		{Name: "free-pointer-write", Text: "writes a value through a pointer after Free", Run: three(writeAfter[node](byFree), writeAfter[point](byFree)), Seen: gone(byFree, "Delete", writes)},
		{Name: "reset-pointer-write", Text: "writes a value through a pointer after Reset", Run: three(writeAfter[node](byReset), writeAfter[point](byReset)), Seen: gone(byReset, "Reset", writes)},
		{Name: "rewind-pointer-write", Text: "writes a value through a pointer after Rewind", Run: three(writeAfter[node](byRewind), writeAfter[point](byRewind)), Seen: gone(byRewind, "Rewind", writes)},
		{Name: "free-slice-read", Text: "reads an element of a slice after Free", Run: three(elementAfter[node](byFree), elementAfter[point](byFree)), Seen: gone(byFree, "FreeSlice", reads)},
		{Name: "reset-slice-read", Text: "reads an element of a slice after Reset", Run: three(elementAfter[node](byReset), elementAfter[point](byReset)), Seen: gone(byReset, "Reset", reads)},
		{Name: "free-subslice-write", Text: "writes to a part of a slice after Free of the whole", Run: three(partAfter[node](byFree), partAfter[point](byFree)), Seen: gone(byFree, "FreeSlice", writes)},
		{Name: "free-inner-pointer", Text: "follows a pointer to a field of a value after Free", Run: three(linkAfter(byFree), fieldAfter(byFree)), Seen: gone(byFree, "Delete", reads)},
		{Name: "reset-interface", Text: "calls a method through an interface after Reset", Run: three(interfaceAfter[node](byReset), interfaceAfter[point](byReset)), Seen: gone(byReset, "Reset", reads)},
		{Name: "free-method-value", Text: "calls a bound method after Free", Run: three(methodAfter[node](byFree), methodAfter[point](byFree)), Seen: gone(byFree, "Delete", reads)},
		{Name: "free-closure", Text: "calls a closure over a value after Free", Run: three(closureAfter[node](byFree), closureAfter[point](byFree)), Seen: gone(byFree, "Delete", reads)},
		{Name: "rewind-closure", Text: "calls a closure over a value after Rewind", Run: three(closureAfter[node](byRewind), closureAfter[point](byRewind)), Seen: gone(byRewind, "Rewind", reads)},
		{Name: "free-goroutine", Text: "reads a value in another goroutine after Free", Run: three(goroutineAfter[node](byFree), goroutineAfter[point](byFree)), Seen: gone(byFree, "Delete", reads)},
		{Name: "reset-channel", Text: "receives a pointer from a channel after Reset", Run: three(channelAfter[node](byReset), channelAfter[point](byReset)), Seen: gone(byReset, "Reset", reads)},
		{Name: "free-deferred", Text: "defers Free and, before that, a use, which so comes after it", Run: three(deferredAfter[node](byFree), deferredAfter[point](byFree)), Seen: gone(byFree, "Delete", reads)},
		{Name: "put-pointer-read", Text: "reads a value after Put gave its arena back to a Pool", Run: map[Variant]func(Variant){Pointers: readAfter[node](byPut), Plain: readAfter[point](byPut)}, Seen: gone(byPut, "Pool.Put", reads)},
		{Name: "free-string-index", Text: "indexes a string after Free of its arena", Run: three(stringIn(byFree, accessIndexName), stringAfter(byFree, index)), Seen: gone(byFree, "Free", readsText)},
		{Name: "reset-string-compare", Text: "compares a string after Reset", Run: three(stringIn(byReset, accessCompareName), stringAfter(byReset, compare)), Seen: gone(byReset, "Reset", readsText)},
		{Name: "rewind-string-concat", Text: "concatenates a string after Rewind", Run: three(stringIn(byRewind, accessConcatName), stringAfter(byRewind, concat)), Seen: gone(byRewind, "Rewind", readsText)},
		{Name: "free-string-key", Text: "looks up a Go map by a string after Free of its arena", Run: three(stringIn(byFree, accessKeyName), stringAfter(byFree, key)), Seen: gone(byFree, "Free", readsText)},
		{Name: "free-builder-string", Text: "reads the string of a Builder after Free of its arena", Run: two(builderAfter(byFree)), Seen: gone(byFree, "Free", readsText)},
		{Name: "free-copy", Text: "copies bytes after Free", Run: two(copyAfter(byFree)), Seen: gone(byFree, "Free", reads)},
		{Name: "free-bytes-equal", Text: "compares bytes after Free", Run: two(equalAfter(byFree)), Seen: gone(byFree, "Free", reads)},
		{Name: "free-sort", Text: "sorts a slice after Free", Run: two(sortAfter(byFree)), Seen: gone(byFree, "FreeSlice", reads)},
		{Name: "free-reader", Text: "reads from a bytes.Reader over bytes after Free", Run: two(readerAfter(byFree)), Seen: gone(byFree, "Free", reads)},
		{Name: "realloc-old-slice", Text: "reads the old slice after Realloc moved the block", Run: only(OffHeap, reallocMoved), Seen: gone(byFree, "Realloc", reads)},
		{Name: "append-old-slice", Text: "reads the old slice after offheap.Append moved the block", Run: only(OffHeap, appendMoved), Seen: gone(byFree, "Append", reads)},
		{Name: "free-large", Text: "reads a block of a megabyte after Free", Run: two(largeAfter(byFree)), Seen: gone(byFree, "Free", reads)},
		{Name: "free-plain-read", Text: "reads a plain field of a value with pointers after Free", Run: only(Pointers, plainFieldAfter(byFree)), Seen: goneField(byFree, ASan, MSan)},
		{Name: "free-plain-write", Text: "sets a plain field of a value with pointers after Free", Run: only(Pointers, plainFieldWriteAfter(byFree)), Seen: goneField(byFree, ASan)},
		{Name: "free-pointer-set", Text: "sets a pointer in a value after Free", Run: only(Pointers, pointerSetAfter(byFree)), Seen: goneField(byFree, ASan)},
		{Name: "free-reused", Text: "writes through a stale pointer to memory that holds another value", Run: three(reusedAfter[node](byFree), reusedAfter[point](byFree)), Seen: gone(byFree, "Delete", writes)},
	}
}

func readAfter[T any, P value[T]](how way) func(Variant) {
	return func(v Variant) {
		h := open(v, how)
		p := allocate[T, P](h)
		giveUp(h)
		accessRead(p)
	}
}

func writeAfter[T any, P value[T]](how way) func(Variant) {
	return func(v Variant) {
		h := open(v, how)
		p := allocate[T, P](h)
		giveUp(h)
		accessWrite(p)
	}
}

func elementAfter[T any, P value[T]](how way) func(Variant) {
	return func(v Variant) {
		h := open(v, how)
		s := allocateSlice[T, P](h, 20)
		giveUp(h)
		accessRead(P(&s[7]))
	}
}

func partAfter[T any, P value[T]](how way) func(Variant) {
	return func(v Variant) {
		h := open(v, how)
		s := allocateSlice[T, P](h, 20)[10:15]
		giveUp(h)
		accessWrite(P(&s[2]))
	}
}

func fieldAfter(how way) func(Variant) {
	return func(v Variant) {
		h := open(v, how)
		z := &allocate[point](h).z
		giveUp(h)
		accessField(z)
	}
}

//go:noinline
func accessField(p *int64) { sum += *p }

func plainFieldAfter(how way) func(Variant) {
	return func(v Variant) {
		h := open(v, how)
		n := allocate[node](h)
		giveUp(h)
		accessField(&n.value)
	}
}

func plainFieldWriteAfter(how way) func(Variant) {
	return func(v Variant) {
		h := open(v, how)
		n := allocate[node](h)
		giveUp(h)
		accessFieldWrite(&n.value)
	}
}

//go:noinline
func accessFieldWrite(p *int64) { *p = 5 }

func pointerSetAfter(how way) func(Variant) {
	return func(v Variant) {
		h := open(v, how)
		n := allocate[node](h)
		giveUp(h)
		accessSetNext(n)
	}
}

//go:noinline
func accessSetNext(n *node) { n.next = new(node) }

// linkAfter is fieldAfter for a field that is a pointer. That one lies where the collector scans;
// what it holds is followed.
func linkAfter(how way) func(Variant) {
	return func(v Variant) {
		h := open(v, how)
		next := &allocate[node](h).next
		giveUp(h)
		accessLink(next)
	}
}

//go:noinline
func accessLink(p **node) {
	if n := *p; n != nil {
		sum += n.value
	}
}

func interfaceAfter[T any, P value[T]](how way) func(Variant) {
	return func(v Variant) {
		h := open(v, how)
		var u user = allocate[T, P](h)
		giveUp(h)
		accessRead(u)
	}
}

func methodAfter[T any, P value[T]](how way) func(Variant) {
	return func(v Variant) {
		h := open(v, how)
		read := allocate[T, P](h).read
		giveUp(h)
		accessCall(read)
	}
}

func closureAfter[T any, P value[T]](how way) func(Variant) {
	return func(v Variant) {
		h := open(v, how)
		p := allocate[T, P](h)
		read := func() int64 { return p.read() }
		giveUp(h)
		accessCall(read)
	}
}

//go:noinline
func accessCall(f func() int64) { sum += f() }

func goroutineAfter[T any, P value[T]](how way) func(Variant) {
	return func(v Variant) {
		h := open(v, how)
		p := allocate[T, P](h)
		given := make(chan struct{})
		wait := spawn(func() {
			<-given
			accessRead(p)
		})
		giveUp(h)
		close(given)
		wait()
	}
}

func channelAfter[T any, P value[T]](how way) func(Variant) {
	return func(v Variant) {
		h := open(v, how)
		values := make(chan P, 1)
		values <- allocate[T, P](h)
		giveUp(h)
		accessRead(<-values)
	}
}

func deferredAfter[T any, P value[T]](how way) func(Variant) {
	return func(v Variant) {
		h := open(v, how)
		p := allocate[T, P](h)
		defer accessRead(p)
		defer giveUp(h)
	}
}

const text = "a text that is long enough not to lie in a pointer"

func stringAfter(how way, access func(string)) func(Variant) {
	return func(v Variant) {
		h := openArena(v, how)
		s := allocateString(h, text)
		giveUp(h)
		access(s)
	}
}

// stringIn is stringAfter for a string that a value holds.
func stringIn(how way, access func(*node)) func(Variant) {
	return func(v Variant) {
		h := openArena(v, how)
		n := allocate[node](h)
		giveUp(h)
		access(n)
	}
}

func index(s string)   { accessIndex(s) }
func compare(s string) { accessCompare(s) }
func concat(s string)  { accessConcat(s) }
func key(s string)     { accessKey(s) }

func accessIndexName(n *node)   { accessIndex(n.name) }
func accessCompareName(n *node) { accessCompare(n.name) }
func accessConcatName(n *node)  { accessConcat(n.name) }
func accessKeyName(n *node)     { accessKey(n.name) }

// words are what strings are compared with; each is as long as one of the programs'.
var words = map[string]int64{strings.Repeat("x", len(text)): 1, strings.Repeat("x", len("the name of a node")): 2, "": 3}

//go:noinline
func accessIndex(s string) {
	if len(s) > 9 {
		sum += int64(s[9])
	}
}

//go:noinline
func accessCompare(s string) {
	for w, n := range words {
		if w == s {
			sum += n
		}
	}
}

//go:noinline
func accessConcat(s string) { sum += int64(len("<" + s + ">")) }

//go:noinline
func accessKey(s string) { sum += words[s] }

func builderAfter(how way) func(Variant) {
	return func(v Variant) {
		h := openArena(v, how)
		s := allocateBuilt(h)
		giveUp(h)
		accessIndex(s)
	}
}

//go:noinline
func allocateBuilt(h *home) string {
	b := arena.NewBuilder(h.a)
	for range 10 {
		_, _ = b.WriteString(text)
	}
	return b.String()
}

func copyAfter(how way) func(Variant) {
	return func(v Variant) {
		h := open(v, how)
		b := allocateBytes(h, 64)
		giveUp(h)
		accessCopy(b)
	}
}

//go:noinline
func accessCopy(b []byte) { sum += int64(copy(make([]byte, 64), b)) }

func equalAfter(how way) func(Variant) {
	return func(v Variant) {
		h := open(v, how)
		b := allocateBytes(h, 64)
		giveUp(h)
		accessEqual(b)
	}
}

//go:noinline
func accessEqual(b []byte) { accessEqualZero(b) }

// accessEqualZero does it. What calls a function without a frame, as that within bytes.Equal is, is not always in ASan's stacks.
//
//go:noinline
func accessEqualZero(b []byte) {
	if bytes.Equal(b, make([]byte, 64)) {
		sum++
	}
}

func sortAfter(how way) func(Variant) {
	return func(v Variant) {
		h := open(v, how)
		s := allocateSlice[point](h, 50)
		giveUp(h)
		accessSort(s)
	}
}

//go:noinline
func accessSort(s []point) {
	sort.SliceIsSorted(s, func(i, j int) bool { return s[i].x < s[j].x })
}

func readerAfter(how way) func(Variant) {
	return func(v Variant) {
		h := open(v, how)
		r := bytes.NewReader(allocateBytes(h, 64))
		giveUp(h)
		accessReader(r)
	}
}

//go:noinline
func accessReader(r io.Reader) {
	n, _ := r.Read(make([]byte, 10))
	sum += int64(n)
}

func reallocMoved(Variant) {
	b := allocateBytes(open(OffHeap, byFree), 64)
	c := giveUpRealloc(b)
	accessByte(&b[3])
	offheap.Free(c)
}

//go:noinline
func giveUpRealloc(b []byte) []byte { return offheap.Realloc(b, 100_000) }

func appendMoved(Variant) {
	s := allocateSlice[point](open(OffHeap, byFree), 8)
	t := giveUpAppend(s)
	accessRead(&s[3])
	offheap.FreeSlice(t)
}

//go:noinline
func giveUpAppend(s []point) []point { return offheap.Append(s, make([]point, 5000)...) }

func largeAfter(how way) func(Variant) {
	return func(v Variant) {
		h := open(v, how)
		b := allocateBytes(h, 1<<20)
		giveUp(h)
		accessByte(&b[777_777])
	}
}

func reusedAfter[T any, P value[T]](how way) func(Variant) {
	return func(v Variant) {
		h := open(v, how)
		p := allocate[T, P](h)
		giveUp(h)
		again := open(v, how)
		for range 100 {
			allocate[T, P](again)
		}
		accessWrite(p)
		giveUp(again)
	}
}
