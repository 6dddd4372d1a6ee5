package main

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// parts are the capacities, as parts of the keys, or of their bytes.
var parts = []float64{0.01, 0.1, 0.25, 0.5}

const (
	// leastEntries is the smallest capacity: a cache.Cache has at least 1 MiB.
	leastEntries = 1 << 20 / entrySize
	// leastOptimum is the share of hits below which nothing can be compared.
	leastOptimum = 0.01
)

// The columns.
const (
	byLRU = iota
	byOtter
	byOwn
	policies
)

// A pair is a trace at a capacity, with the share of hits of each policy.
type pair struct {
	name     string
	held     bool
	capacity int64
	optimum  float64 // 0 where bytes count.
	hits     [policies]float64
}

// A report is what was replayed.
type report struct {
	most    int // Requests of a trace.
	pairs   []pair
	byBytes []pair
}

func (r *report) replay(t *trace, s source) error {
	name, _, _ := strings.Cut(path.Base(s.name), ".trace")
	for _, part := range parts {
		p := pair{name: strings.TrimSuffix(name, ".gz"), held: s.held}
		budget, bytes := int64(0), len(t.sizes) > 0
		if bytes {
			p.capacity = int64(part * float64(t.bytes()))
			budget = p.capacity
		} else {
			p.capacity = int64(part * float64(t.keys()))
			budget = p.capacity * entrySize
		}
		if budget < leastEntries*entrySize {
			continue
		}
		if !bytes {
			if p.optimum = optimum(t, int(p.capacity)); p.optimum < leastOptimum {
				continue
			}
		}
		for i := range p.hits {
			var q policy
			var err error
			switch i {
			case byLRU:
				q = newLRU(p.capacity, t.keys(), t.sizes)
			case byOtter:
				q, err = newOtter(p.capacity, t.sizes)
			case byOwn:
				q, err = newOwn(budget, t.sizes)
			}
			if err != nil {
				return err
			}
			hits, hitBytes, err := replayed(t, q)
			if err != nil {
				return err
			}
			if p.hits[i] = hits; bytes {
				p.hits[i] = hitBytes
			}
		}
		if bytes {
			r.byBytes = append(r.byBytes, p)
		} else {
			r.pairs = append(r.pairs, p)
		}
	}
	return nil
}

// mean is the mean share of the optimum, or of hits where there is no optimum.
func mean(pairs []pair, policy int) (m float64) {
	for _, p := range pairs {
		share := p.hits[policy]
		if p.optimum > 0 {
			share /= p.optimum
		}
		m += share / float64(len(pairs))
	}
	return m
}

// split divides the pairs into those that the cache was tuned on and those held out.
func (r *report) split() (tuned, held []pair) {
	for _, p := range r.pairs {
		if p.held {
			held = append(held, p)
		} else {
			tuned = append(tuned, p)
		}
	}
	return tuned, held
}

// perTrace is the mean over traces of the means over capacities.
func perTrace(pairs []pair, policy int) (m float64) {
	by := map[string][]pair{}
	for _, p := range pairs {
		by[p.name] = append(by[p.name], p)
	}
	for _, list := range by {
		m += mean(list, policy) / float64(len(by))
	}
	return m
}

var errMissed = errors.New("a bar is missed")

// write prints the tables and the bars. The error is errMissed if one is missed.
func (r *report) write(w io.Writer) error {
	tuned, held := r.split()
	fmt.Fprintf(w, "## Means\n\nShare of the hits of the optimum (Belady), entries of 1 KiB, at most %d requests of each trace. The capacity in entries times 1 KiB is the budget of cache.Cache, which holds its table, too; LRU and otter have the capacity in entries.\n\n", r.most)
	fmt.Fprint(w, "| | pairs | LRU | otter | cache |\n|---|---|---|---|---|\n")
	for _, row := range []struct {
		name  string
		pairs []pair
	}{{"tuned", tuned}, {"held out", held}} {
		fmt.Fprintf(w, "| %s | %d | %.3f | %.3f | %.3f |\n", row.name, len(row.pairs), mean(row.pairs, byLRU), mean(row.pairs, byOtter), mean(row.pairs, byOwn))
	}
	if worst := r.worst(); worst != nil {
		fmt.Fprintf(w, "\nThe worst pair beside LRU is %s at %d entries: %.1f %% of the requests hit, with LRU %.1f %%.\n", worst.name, worst.capacity, 100*worst.hits[byOwn], 100*worst.hits[byLRU])
	}

	fmt.Fprint(w, "\n## Bars\n\n")
	missed := false
	for _, b := range r.bars(tuned, held) {
		word := "met"
		if b.value < b.least {
			word, missed = "MISSED", true
		}
		fmt.Fprintf(w, "- %s: %.3f, at least %.3f: %s\n", b.name, b.value, b.least, word)
	}

	for _, t := range []struct {
		title, unit, optimum string
		pairs                []pair
	}{
		{"Tuned", "entries", "optimum", tuned},
		{"Held out", "entries", "optimum", held},
		{"Bytes", "bytes", "", r.byBytes},
	} {
		if len(t.pairs) == 0 {
			continue
		}
		what := "requests that hit"
		if t.optimum == "" {
			what = "bytes that hit, where a key with another size is another key"
		}
		fmt.Fprintf(w, "\n## %s\n\nPercent of %s.\n\n| trace | %s | %sLRU | otter | cache |\n|---|---|%s---|---|---|\n", t.title, what, t.unit, prefixed(t.optimum, " | "), prefixed(strings.Repeat("-", min(3, len(t.optimum))), "|"))
		for _, p := range t.pairs {
			fmt.Fprintf(w, "| %s | %d |", p.name, p.capacity)
			if p.optimum > 0 {
				fmt.Fprintf(w, " %.1f |", 100*p.optimum)
			}
			fmt.Fprintf(w, " %.1f | %.1f | %.1f |\n", 100*p.hits[byLRU], 100*p.hits[byOtter], 100*p.hits[byOwn])
		}
	}
	if missed {
		return errMissed
	}
	return nil
}

// prefixed is a text with its end, or nothing.
func prefixed(text, end string) string {
	if text == "" {
		return ""
	}
	return text + end
}

// worst is the pair at which the cache is the farthest below LRU, nil if there is none.
func (r *report) worst() (worst *pair) {
	for i := range r.pairs {
		p := &r.pairs[i]
		if d := p.hits[byOwn] - p.hits[byLRU]; d < 0 && (worst == nil || d < worst.hits[byOwn]-worst.hits[byLRU]) {
			worst = p
		}
	}
	return worst
}

// A bar is a value that must be reached.
type bar struct {
	name         string
	value, least float64
}

func (r *report) bars(tuned, held []pair) []bar {
	return []bar{
		{"tuned", mean(tuned, byOwn), 0.88},
		{"held out", mean(held, byOwn), 0.89},
		{"held out, by otter", mean(held, byOwn), mean(held, byOtter)},
		{"bytes, by LRU", perTrace(r.byBytes, byOwn), perTrace(r.byBytes, byLRU)},
	}
}
