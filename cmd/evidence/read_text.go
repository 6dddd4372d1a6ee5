// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"bytes"
	"math"
	"regexp"
	"strconv"

	"github.com/google/pprof/profile"
)

// addHeapText reads the text form of a heap profile, which /debug/pprof/heap?debug=1 serves and the
// Go compiler's -memprofile writes: the stacks, if their functions are named, and the statistics of
// memory at the end.
func (e *Evidence) addHeapText(data []byte) error {
	m := metricsOfText(data)
	p := heapOfText(data)
	if p == nil && m.Empty() {
		return inputError("the text form of a heap profile without stacks and statistics; get the profile without debug=1")
	}
	if p != nil {
		if at, ok := timeOfText(data); ok {
			p.TimeNanos = at
		}
		m.settle(p)
		if err := e.addTextHeap(p); err != nil {
			return err
		}
	}
	if m.Empty() {
		return nil
	}
	return e.addMetrics(m)
}

// lastGCLine has the time of the last collection in nanoseconds. The figures of a heap profile are
// those of that time.
var lastGCLine = regexp.MustCompile(`(?m)^# LastGC = ([0-9]+)\r?$`)

func timeOfText(data []byte) (int64, bool) {
	match := lastGCLine.FindSubmatch(data)
	if match == nil {
		return 0, false
	}
	ns, err := strconv.ParseInt(string(match[1]), 10, 64)
	return ns, err == nil && ns > 0
}

// mostFresh is the largest part of a heap that may have been allocated since the last collection if
// the statistics count as taken right after it.
const mostFresh = 0.25

// settle notes the live heap if the statistics were taken right after a collection, as those of
// heap?gc=1&debug=1 are. The profile has the bytes in use at the last collection, known to the error
// of its samples, and HeapAlloc has those of now.
func (m *Metrics) settle(p *profile.Profile) {
	inuse, now := InUse(p), m.Values[MetricHeapInUse]
	if inuse <= 0 || now <= 0 {
		return
	}
	tolerance := min(0.1+2*math.Sqrt(float64(p.Period)/inuse), mostFresh)
	if math.Abs(now-inuse) <= tolerance*inuse {
		m.Set(MetricLiveHeap, now)
	}
}

// heapText builds a profile of lines such as
//
//	1: 2048 [3: 6144] @ 0x4a1b2c 0x4a1b00
//	#	0x4a1b2b	main.f+0x1b	/src/main.go:10
//
// with objects and bytes in use and, in brackets, allocated; both as sampled.
type heapText struct {
	p         *profile.Profile
	rate      float64
	functions map[[2]string]*profile.Function
	locations map[string]*profile.Location // by the line
	sample    *profile.Sample
}

// heapOfText is the profile in a text, nil if no stack has names.
func heapOfText(data []byte) *profile.Profile {
	h := &heapText{
		p:    &profile.Profile{PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"}},
		rate: 512 << 10, functions: map[[2]string]*profile.Function{}, locations: map[string]*profile.Location{},
	}
	for _, t := range [][2]string{{"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"inuse_objects", "count"}, {"inuse_space", "bytes"}} {
		h.p.SampleType = append(h.p.SampleType, &profile.ValueType{Type: t[0], Unit: t[1]})
	}
	first := true
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		switch {
		case first:
			first = false
			if rate, ok := textRate(line); ok {
				h.rate = rate
			}
		case bytes.HasPrefix(line, []byte("#\t")):
			h.frame(line)
		case len(line) > 0 && line[0] >= '0' && line[0] <= '9':
			h.stack(line)
		}
	}
	h.end()
	h.p.Period = int64(h.rate)
	if len(h.p.Sample) == 0 || checkGo(h.p) != nil || h.p.CheckValid() != nil {
		return nil
	}
	return h.p
}

// stack begins a sample with the figures of a line. It scales them from sampled to all blocks, as
// pprof does: a block of n bytes is sampled with the probability 1-exp(-n/rate).
func (h *heapText) stack(line []byte) {
	h.end()
	var v [4]float64 // in use and allocated, objects and bytes
	head, _, _ := bytes.Cut(line, []byte("@"))
	for i, text := range bytes.FieldsFunc(head, func(r rune) bool { return r == ':' || r == '[' || r == ']' || r == ' ' }) {
		n, err := strconv.ParseFloat(string(text), 64)
		if err != nil || i > 3 || n < 0 || n > 1<<60 {
			return
		}
		v[i] = n
	}
	s := &profile.Sample{Value: make([]int64, 4)}
	for from, to := range map[int]int{0: 2, 2: 0} {
		if v[from] == 0 || v[from+1] == 0 {
			continue
		}
		size := v[from+1] / v[from]
		scale := 1 / -math.Expm1(-size/h.rate)
		s.Value[to], s.Value[to+1] = int64(v[from]*scale), int64(v[from+1]*scale)
		s.NumLabel = map[string][]int64{"bytes": {int64(size)}}
	}
	h.sample = s
}

// frame adds a line with a function to the sample that was begun.
func (h *heapText) frame(line []byte) {
	if h.sample == nil {
		return
	}
	loc := h.locations[string(line)]
	if loc == nil {
		fields := bytes.FieldsFunc(line[1:], func(r rune) bool { return r == '\t' })
		if len(fields) < 3 {
			return
		}
		name, place := fields[1], bytes.TrimSpace(fields[2])
		if plus := bytes.LastIndex(name, []byte("+0x")); plus > 0 {
			name = name[:plus]
		}
		colon := bytes.LastIndexByte(place, ':')
		if colon < 0 {
			return
		}
		n, err := strconv.ParseInt(string(place[colon+1:]), 10, 64)
		if err != nil {
			return
		}
		loc = &profile.Location{ID: uint64(len(h.locations) + 1), Line: []profile.Line{{Function: h.function(string(name), string(place[:colon])), Line: n}}}
		h.locations[string(line)] = loc
		h.p.Location = append(h.p.Location, loc)
	}
	h.sample.Location = append(h.sample.Location, loc)
}

func (h *heapText) function(name, file string) *profile.Function {
	key := [2]string{name, file}
	fn := h.functions[key]
	if fn == nil {
		fn = &profile.Function{ID: uint64(len(h.functions) + 1), Name: name, SystemName: name, Filename: file}
		h.functions[key] = fn
		h.p.Function = append(h.p.Function, fn)
	}
	return fn
}

// end keeps the sample that was begun, if it has a stack.
func (h *heapText) end() {
	if h.sample != nil && len(h.sample.Location) > 0 {
		h.p.Sample = append(h.p.Sample, h.sample)
	}
	h.sample = nil
}
