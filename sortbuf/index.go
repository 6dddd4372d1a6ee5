// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
)

// The index of a run has an entry of 16 bytes for each record: 8 bytes of the key, and the position.
// It is sorted by the cached bytes alone as far as these differ, so most of the sort touches no key.
//
//  1. survey finds input that is sorted or reversed already, and the prefix common to all keys.
//  2. scatter counts the first byte behind that prefix and writes each entry to its bucket.
//  3. radix sorts a bucket by the next cached byte, in place. Small buckets go to multikey quicksort,
//     the smallest to insertion sort. If the cached bytes are used up, the next 8 are loaded, behind
//     any prefix common to the bucket.
//
// In place means not stable, so equal keys are ordered by their positions at last.

type entry struct {
	pre uint64 // 8 bytes of the key, the first as the highest.
	pos uint64
}

const (
	insertionMost = 24  // Entries of a bucket for insertion sort.
	quickMost     = 256 // Entries of a bucket for multikey quicksort.
)

// A byKey sorts the index of records whose keys compare as bytes.
type byKey struct {
	*records
	workers int
	stop    *atomic.Bool // Set if the result is not needed any more.

	// The buckets still to be sorted, if there is more than one worker.
	mu      sync.Mutex
	wake    *sync.Cond
	tasks   []task
	working int
	large   int // Buckets of more entries become tasks.
	failed  bool
}

// A task is a bucket whose keys are equal before byte d and in the bytes of pre above shift.
type task struct {
	a        []entry
	d, shift int
}

// sortByKey writes the index of the records to idx, in order. It returns false if stop was set.
func sortByKey(r *records, idx []entry, most int, stop *atomic.Bool) bool {
	if r.n < quickMost*4 {
		most = 1
	}
	x := &byKey{records: r, workers: most, stop: stop, large: len(idx)}
	if most > 1 {
		x.large = max(len(idx)/(4*most), quickMost)
	}
	x.wake = sync.NewCond(&x.mu)
	ranges := x.ranges()
	order, prefix := x.survey(ranges)
	switch {
	case order != mixed:
		x.fill(ranges, idx, order, 0)
	case len(idx) < quickMost*4:
		x.fill(ranges, idx, ascending, prefix)
		x.radix(idx, prefix, 56)
	default:
		x.scatter(ranges, idx, prefix)
		x.finish()
	}
	return !x.stop.Load()
}

// A part is a range of chunks, and the entries of the records before it.
type part struct {
	lo, hi int
	before int64
}

// ranges divides the chunks among the workers.
func (x *byKey) ranges() (parts []part) {
	each := max((x.n+int64(x.workers)-1)/int64(x.workers), 1)
	var p part
	var n int64
	for c, count := range x.counts {
		n += int64(count)
		if p.hi = c + 1; n-p.before >= each || p.hi == len(x.counts) {
			parts = append(parts, p)
			p = part{lo: c + 1, before: n}
		}
	}
	return parts
}

// The orders of arrival.
const (
	mixed      = iota
	ascending  // Sorted.
	descending // Reversed, without equal keys.
)

// survey finds the order of the records and the length of the prefix that all keys have.
func (x *byKey) survey(parts []part) (order, prefix int) {
	type result struct {
		order       [3]bool
		prefix      int
		first, last []byte
	}
	results := make([]result, len(parts))
	first := x.key(0)
	workers(x.workers, len(parts), func(i int) {
		res := result{order: [3]bool{ascending: true, descending: true}, prefix: len(first)}
		n := 0
		x.walk(parts[i].lo, parts[i].hi, func(_ uint64, key []byte) bool {
			if n == 0 {
				res.first = key
			} else if res.order[ascending] || res.order[descending] {
				c := bytes.Compare(res.last, key)
				res.order[ascending] = res.order[ascending] && c <= 0
				res.order[descending] = res.order[descending] && c > 0
			}
			res.prefix = common(first, key, res.prefix)
			res.last = key
			n++
			return (res.prefix > 0 || res.order[ascending] || res.order[descending]) && (n%1024 > 0 || !x.stop.Load())
		})
		results[i] = res
	})
	asc, desc, prefix := true, true, len(first)
	for i, res := range results {
		asc, desc, prefix = asc && res.order[ascending], desc && res.order[descending], min(prefix, res.prefix)
		if i > 0 {
			c := bytes.Compare(results[i-1].last, res.first)
			asc, desc = asc && c <= 0, desc && c > 0
		}
	}
	switch {
	case asc:
		return ascending, prefix
	case desc:
		return descending, prefix
	}
	return mixed, prefix
}

// fill writes the entries in the order of arrival, or in the reversed one.
func (x *byKey) fill(parts []part, idx []entry, order, prefix int) {
	workers(x.workers, len(parts), func(i int) {
		n := int(parts[i].before)
		x.walk(parts[i].lo, parts[i].hi, func(pos uint64, key []byte) bool {
			at := n
			if order == descending {
				at = len(idx) - 1 - n
			}
			idx[at] = entry{load8(key, prefix), pos}
			n++
			return true
		})
	})
}

// scatter writes the entries to the buckets of the first byte behind the prefix, in order of arrival,
// and makes tasks of the buckets.
func (x *byKey) scatter(parts []part, idx []entry, prefix int) {
	at := make([][256]int, len(parts)) // Where each range writes its next entry of a bucket.
	workers(x.workers, len(parts), func(i int) {
		counts := &at[i]
		x.walk(parts[i].lo, parts[i].hi, func(_ uint64, key []byte) bool {
			var first byte
			if len(key) > prefix {
				first = key[prefix]
			}
			counts[first]++
			return true
		})
	})
	n := 0
	for b := range 256 {
		begin := n
		for i := range at {
			at[i][b], n = n, n+at[i][b]
		}
		if n-begin > 1 {
			x.tasks = append(x.tasks, task{idx[begin:n:n], prefix, 48})
		}
	}
	workers(x.workers, len(parts), func(i int) {
		next := &at[i]
		x.walk(parts[i].lo, parts[i].hi, func(pos uint64, key []byte) bool {
			e := entry{load8(key, prefix), pos}
			b := byte(e.pre >> 56)
			idx[next[b]] = e
			next[b]++
			return true
		})
	})
	slices.SortFunc(x.tasks, func(s, t task) int { return len(s.a) - len(t.a) }) // The largest first, from the end.
}

// finish sorts the buckets.
func (x *byKey) finish() {
	workers(x.workers, x.workers, func(int) {
		done := false
		defer func() {
			if !done { // A panic: the others must not wait.
				x.mu.Lock()
				x.failed = true
				x.wake.Broadcast()
				x.mu.Unlock()
			}
		}()
		for x.step() {
		}
		done = true
	})
}

// step sorts one bucket. It returns false if there is none left, and none can come.
func (x *byKey) step() bool {
	x.mu.Lock()
	for len(x.tasks) == 0 && x.working > 0 && !x.failed {
		x.wake.Wait()
	}
	if len(x.tasks) == 0 || x.failed || x.stop.Load() {
		x.tasks = nil
		x.wake.Broadcast()
		x.mu.Unlock()
		return false
	}
	last := len(x.tasks) - 1
	t := x.tasks[last]
	x.tasks = x.tasks[:last]
	x.working++
	x.mu.Unlock()
	x.radix(t.a, t.d, t.shift)
	x.mu.Lock()
	if x.working--; x.working == 0 {
		x.wake.Broadcast()
	}
	x.mu.Unlock()
	return true
}

// later sorts a bucket, as a task if it is large.
func (x *byKey) later(a []entry, d, shift int) {
	if len(a) <= x.large {
		x.radix(a, d, shift)
		return
	}
	x.mu.Lock()
	x.tasks = append(x.tasks, task{a, d, shift})
	x.wake.Signal()
	x.mu.Unlock()
}

// radix sorts entries whose keys are equal before byte d, with the 8 bytes from d on in pre, and
// whose bytes of pre above shift are equal, too. It recurses into all buckets but the largest, so the
// stack holds at most log2(len(a)) calls.
func (x *byKey) radix(a []entry, d, shift int) {
	for len(a) >= quickMost {
		if x.stop.Load() {
			return
		}
		var counts [256]int
		for i := range a {
			counts[byte(a[i].pre>>shift)]++
		}
		if counts[byte(a[0].pre>>shift)] == len(a) {
			if shift > 0 {
				shift -= 8
			} else {
				a, d = x.reload(a, d)
				shift = 56
			}
			continue
		}
		var ends [256]int
		n := 0
		for b, c := range counts {
			counts[b] = n // From here on where the next entry goes.
			n += c
			ends[b] = n
		}
		permute(a, shift, &counts, &ends)
		begin, largest, most := 0, 0, 0
		for b, end := range ends {
			if end-begin > most {
				largest, most = b, end-begin
			}
			begin = end
		}
		begin = 0
		for b, end := range ends {
			if end-begin > 1 && b != largest {
				x.bucket(a[begin:end:end], d, shift)
			}
			begin = end
		}
		a = a[ends[largest]-most : ends[largest]]
		if shift > 0 {
			shift -= 8
		} else {
			a, d = x.reload(a, d)
			shift = 56
		}
	}
	x.quick(a, d)
}

// permute moves each entry to the bucket of its byte. next has where each bucket's next entry goes.
func permute(a []entry, shift int, next, ends *[256]int) {
	by := uint(shift) & 63 // So that the compiler knows that it is below 64.
	for b := range 256 {
		for end := ends[b]; next[b] < end; next[b]++ {
			e := a[next[b]]
			for k := byte(e.pre >> by); int(k) != b; k = byte(e.pre >> by) {
				at := next[k]
				next[k]++
				e, a[at] = a[at], e
			}
			a[next[b]] = e
		}
	}
}

// bucket sorts a bucket of equal bytes at shift.
func (x *byKey) bucket(a []entry, d, shift int) {
	switch {
	case shift == 0 && len(a) < quickMost:
		if len(a) >= equalMost {
			a, d = x.reload(a, d)
		}
		x.quick(a, d)
	case len(a) < quickMost:
		x.quick(a, d)
	case shift > 0:
		x.later(a, d, shift-8)
	default:
		a, d = x.reload(a, d)
		x.later(a, d, 56)
	}
}

// reload takes entries whose pre is equal. It sorts those whose keys end within pre to the front and
// returns the others with the next bytes loaded, behind the prefix that they have in common.
func (x *byKey) reload(a []entry, d int) (rest []entry, next int) {
	d += 8
	n := 0
	same := true
	var first uint64
	for i := range a {
		key := x.key(a[i].pos)
		if len(key) <= d {
			a[i].pre = uint64(len(key)) // All bytes are equal: the shorter key is first.
			a[i], a[n] = a[n], a[i]
			n++
			continue
		}
		pre := load8(key, d)
		a[i].pre = pre
		if i == n {
			first = pre
		}
		same = same && pre == first
	}
	slices.SortFunc(a[:n], byPosition)
	rest = a[n:]
	if !same || len(rest) < 2 {
		return rest, d
	}
	one := x.key(rest[0].pos)
	prefix := len(one)
	for i := range rest[1:] {
		if prefix = common(one, x.key(rest[1+i].pos), prefix); prefix <= d+8 {
			return rest, d
		}
	}
	for i := range rest {
		rest[i].pre = load8(x.key(rest[i].pos), prefix)
	}
	return rest, prefix
}

// byPosition orders entries by pre, then by position.
func byPosition(e, f entry) int {
	switch {
	case e.pre < f.pre || e.pre == f.pre && e.pos < f.pos:
		return -1
	case e == f:
		return 0
	}
	return 1
}

// less orders entries whose keys are equal before byte d.
func (x *byKey) less(e, f entry, d int) bool {
	if e.pre != f.pre {
		return e.pre < f.pre
	}
	k, l := x.key(e.pos), x.key(f.pos)
	if c := bytes.Compare(k[min(d, len(k)):], l[min(d, len(l)):]); c != 0 {
		return c < 0
	}
	return e.pos < f.pos
}

// equalMost bounds entries of equal pre that are compared by their keys. More of them load the next
// bytes first.
const equalMost = 4

func (x *byKey) insertion(a []entry, d int) {
	for i := 1; i < len(a); i++ {
		e := a[i]
		j := i
		for ; j > 0 && x.less(e, a[j-1], d); j-- {
			a[j] = a[j-1]
		}
		a[j] = e
	}
}

// quick is multikey quicksort: it splits by pre, and loads the next bytes of those that are equal.
func (x *byKey) quick(a []entry, d int) {
	for len(a) >= insertionMost {
		lt, gt := partition(a)
		low, equal, high := a[:lt], a[lt:gt], a[gt:]
		if len(equal) < equalMost {
			x.insertion(equal, d)
		} else if rest, next := x.reload(equal, d); len(rest) < len(a) {
			x.quick(rest, next)
		} else { // All of a: no recursion, which the length of the keys would bound.
			a, d = rest, next
			continue
		}
		if len(low) > len(high) {
			low, high = high, low
		}
		x.quick(low, d)
		a = high
	}
	x.insertion(a, d)
}

// partition moves the entries below a pivot to the front and those above it to the end. The others
// are a[lt:gt].
func partition(a []entry) (lt, gt int) {
	p, q, r := a[0].pre, a[len(a)/2].pre, a[len(a)-1].pre
	pivot := max(min(p, q), min(max(p, q), r))
	i, gt := 0, len(a)
	for i < gt {
		switch e := a[i]; {
		case e.pre < pivot:
			a[i], a[lt] = a[lt], e
			lt++
			i++
		case e.pre > pivot:
			gt--
			a[i], a[gt] = a[gt], e
		default:
			i++
		}
	}
	return lt, gt
}
