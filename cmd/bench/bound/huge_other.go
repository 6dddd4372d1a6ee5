//go:build !linux

package bound

// noHugePages returns why mappings cannot have huge pages here.
func noHugePages() string { return "huge pages are asked for on Linux only" }

// MapHuge maps n bytes without huge pages.
func MapHuge(n int) Huge {
	mem := Map(n)
	return Huge{mem, mem}
}

// Unmap leaves the mapping, as all of the bound's memory is left.
func (m Huge) Unmap() {}
