// SPDX-License-Identifier: Apache-2.0

package offheap

// A parcel is something that was allocated, with a pattern in it. TestEverything hands parcels
// around.
type parcel interface {
	size() int
	intact() bool // The pattern is there.
	// change makes the parcel larger or smaller, or panics as Alloc does and leaves it as it was.
	change(w *worker)
	free(w *worker)
}

// A maker allocates a parcel, or returns nil if a limit forbids that.
type maker func(w *worker) parcel

// byteParcel is a block of bytes.
type byteParcel struct {
	b    []byte
	seed int
}

func newBytes(w *worker) parcel {
	p := &byteParcel{seed: w.rng.IntN(256)}
	n, zero := w.length(), true
	if !w.try(func() {
		switch w.rng.IntN(8) {
		case 0:
			p.b = Alloc(n)
		case 1:
			p.b, zero = AllocUninit(n), false
		case 2:
			p.b = AllocAligned(n, 1<<w.rng.IntN(14))
		case 3:
			p.b = w.local.Alloc(n)
		case 4:
			p.b, zero = w.local.AllocUninit(n), false
		case 5:
			p.b = w.purpose().Alloc(n)
		case 6:
			p.b, zero = w.purpose().AllocUninit(n), false
		case 7:
			p.b = Realloc[byte](nil, n)
		}
	}) {
		return nil
	}
	w.want(len(p.b) == n && cap(p.b) == n, p, "is of another size")
	w.want(!zero || allZero(p.b), p, "is not zero")
	fill(p.b, p.seed)
	return p
}

func (p *byteParcel) size() int    { return len(p.b) }
func (p *byteParcel) intact() bool { return filled(p.b, p.seed) }

func (p *byteParcel) change(w *worker) {
	if cap(p.b) > 1 && w.rng.IntN(50) == 0 {
		w.misuse(p, p.b[1+w.rng.IntN(cap(p.b)-1):])
		return
	}
	old, n := len(p.b), w.length()
	if w.rng.IntN(2) == 0 {
		n = 1 + w.rng.IntN(2*old)
	}
	p.b = Realloc(p.b, n)
	kept := min(old, n)
	w.want(len(p.b) == n && filled(p.b[:kept], p.seed), p, "lost bytes by Realloc")
	w.want(allZero(p.b[kept:]), p, "is not zero where Realloc made it longer")
	fill(p.b, p.seed)
}

func (p *byteParcel) free(w *worker) {
	switch w.rng.IntN(5) {
	case 0:
		Realloc(p.b, 0)
	case 1:
		Free(p.b[:w.rng.IntN(len(p.b))])
	case 2, 3:
		w.local.Free(p.b)
	default:
		Free(p.b)
	}
}

// makersOf are makers of single values and of slices with up to longest elements.
func makersOf[T comparable](longest int, value func(i int) T) []maker {
	return []maker{
		func(w *worker) parcel { return newValue(w, value) },
		func(w *worker) parcel { return newSlice(w, longest, value) },
	}
}

// valueParcel is a single value.
type valueParcel[T comparable] struct {
	p     *T
	seed  int
	value func(i int) T
}

func newValue[T comparable](w *worker, value func(i int) T) parcel {
	v := &valueParcel[T]{seed: w.rng.IntN(1 << 20), value: value}
	if !w.try(func() {
		switch w.rng.IntN(4) {
		case 0:
			v.p = New[T]()
		case 1:
			v.p = In[T](w.local).New()
		case 2:
			v.p = For[T](w.purpose()).New()
		case 3:
			v.p = RefOf(New[T]()).Ptr()
		}
	}) {
		return nil
	}
	w.want(*v.p == *new(T), v, "is not zero")
	*v.p = value(v.seed)
	return v
}

func (v *valueParcel[T]) size() int    { return int(describe[T]().size) }
func (v *valueParcel[T]) intact() bool { return *v.p == v.value(v.seed) }

func (v *valueParcel[T]) change(w *worker) {
	v.seed++
	*RefOf(v.p).Ptr() = v.value(v.seed)
}

func (v *valueParcel[T]) free(w *worker) {
	switch w.rng.IntN(4) {
	case 0:
		DeleteRef(RefOf(v.p))
	case 1, 2:
		deleteIn(w.local, v.p)
	default:
		Delete(v.p)
	}
}

// sliceParcel is a slice of values.
type sliceParcel[T comparable] struct {
	s     []T
	seed  int
	value func(i int) T
}

func newSlice[T comparable](w *worker, longest int, value func(i int) T) parcel {
	p := &sliceParcel[T]{seed: w.rng.IntN(1 << 20), value: value}
	n := w.rng.IntN(1 + w.rng.IntN(longest))
	room := n + w.rng.IntN(8)
	if !w.try(func() {
		switch w.rng.IntN(3) {
		case 0:
			p.s = MakeSlice[T](n, room)
		case 1:
			p.s = For[T](w.purpose()).MakeSlice(n, room)
		case 2:
			p.s = Append[T](nil, make([]T, n)...)
		}
	}) {
		return nil
	}
	w.want(len(p.s) == n, p, "is of another length")
	for i := range p.s {
		w.want(p.s[i] == *new(T), p, "is not zero")
		p.s[i] = value(p.seed + i)
	}
	return p
}

func (p *sliceParcel[T]) size() int { return cap(p.s) * int(describe[T]().size) }

func (p *sliceParcel[T]) intact() bool {
	for i := range p.s {
		if p.s[i] != p.value(p.seed+i) {
			return false
		}
	}
	return true
}

func (p *sliceParcel[T]) change(w *worker) {
	if w.rng.IntN(4) == 0 {
		p.s = p.s[:w.rng.IntN(len(p.s)+1)]
		return
	}
	more := make([]T, 1+w.rng.IntN(10))
	for i := range more {
		more[i] = p.value(p.seed + len(p.s) + i)
	}
	if p.size() < 1<<18 { // Or it would grow for ever.
		p.s = Append(p.s, more...)
	}
	w.want(p.intact(), p, "lost values by Append")
}

func (p *sliceParcel[T]) free(*worker) { FreeSlice(p.s) }
