// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package bound

// noHugePages returns why mappings cannot have huge pages here.
func noHugePages() string { return "huge pages are asked for on Linux only" }

// MapHuge maps n bytes without huge pages.
func MapHuge(n int) Huge {
	mem := Map(n)
	return Huge{mem, mem}
}

// Unmap does nothing: the bound never unmaps memory on this system.
func (m Huge) Unmap() {}
