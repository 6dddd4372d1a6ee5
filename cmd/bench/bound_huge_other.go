//go:build !linux

package bench

// noHugePages returns why mappings cannot have huge pages here.
func noHugePages() string { return "huge pages are asked for on Linux only" }

func mapHuge(n int) hugeMapping {
	mem := mapMemory(n)
	return hugeMapping{mem, mem}
}

// unmap leaves the mapping, as all of the bound's memory is left.
func (m hugeMapping) unmap() {}
