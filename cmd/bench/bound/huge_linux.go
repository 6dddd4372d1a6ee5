// SPDX-License-Identifier: Apache-2.0

package bound

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// noHugePages returns why mappings cannot have huge pages here, or "".
func noHugePages() string {
	const file = "/sys/kernel/mm/transparent_hugepage/enabled"
	text, err := os.ReadFile(file)
	if err != nil {
		return "the kernel has no transparent huge pages"
	}
	if bytes.Contains(text, []byte("[never]")) {
		return file + " says never"
	}
	return ""
}

// MapHuge maps n bytes from a multiple of the huge page on, and asks for huge pages.
func MapHuge(n int) Huge {
	whole := Map((n+HugePage-1)&^(HugePage-1) + HugePage)
	skip := -addressOf(whole) & (HugePage - 1)
	m := Huge{whole, whole[skip:][:n:n]}
	if err := syscall.Madvise(whole[skip:len(whole)-HugePage+int(skip)], syscall.MADV_HUGEPAGE); err != nil {
		panic(fmt.Sprintf("bench: ask for huge pages: %v", err))
	}
	return m
}

// Unmap ends the mapping.
func (m Huge) Unmap() {
	if err := syscall.Munmap(m.whole); err != nil {
		panic(fmt.Sprintf("bench: unmap %d bytes of the bound: %v", len(m.whole), err))
	}
}
