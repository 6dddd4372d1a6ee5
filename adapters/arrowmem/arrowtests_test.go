// SPDX-License-Identifier: Apache-2.0

package arrowmem

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// arrowModule is the module file of the tests, for the folders of the library, of the adapter, and
// the version of arrow.
const arrowModule = `module arrowtests

go 1.26.0

require (
	github.com/apache/arrow-go/v18 %[3]s
	github.com/freehold-go/freehold v0.1.0
	github.com/freehold-go/freehold/adapters/arrowmem v0.0.0
	github.com/stretchr/testify v1.12.1
)

replace (
	github.com/freehold-go/freehold => %[1]s
	github.com/freehold-go/freehold/adapters/arrowmem => %[2]s
)
`

// standIn takes the places of arrow's allocators, by their names in arrow's tests. Those count
// bytes by the lengths of slices.
const standIn = `
var mallocator makers

type makers struct{}

func (makers) NewMallocator() *GoAllocator { return &GoAllocator{} }

func (makers) NewMallocatorWithAlignment(int) *GoAllocator { return &GoAllocator{} } // 64 is a multiple of what is asked for.

type GoAllocator struct{ size int64 }

var ours = arrowmem.NewAllocator(arrowmem.Options{})

func (a *GoAllocator) Allocate(size int) []byte {
	b := ours.Allocate(size)
	a.size += int64(size)
	return b
}

func (a *GoAllocator) Reallocate(size int, b []byte) []byte {
	old := len(b)
	b = ours.Reallocate(size, b)
	a.size += int64(size - old)
	return b
}

func (a *GoAllocator) Free(b []byte) { a.size -= int64(len(b)); ours.Free(b) }

func (a *GoAllocator) AllocatedBytes() int64 { return a.size }

func (a *GoAllocator) AssertSize(t *testing.T, size int) {
	t.Helper()
	if a.size != int64(size) {
		t.Errorf("%d bytes, want %d", a.size, size)
	}
}

const alignment = 64

func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }
`

// arrowPanics are tests that want the text with which arrow's own allocator panics.
var arrowPanics = []string{"TestMallocatorAllocateNegative", "TestMallocatorReallocateNegative"}

// TestArrowsOwn runs arrow's tests of its allocators, from the module cache, on ours: with other
// imports and nothing else changed.
func TestArrowsOwn(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	found, err := exec.Command("go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", "github.com/apache/arrow-go/v18").Output()
	version, folder, ok := strings.Cut(strings.TrimSpace(string(found)), " ")
	if err != nil || !ok || folder == "" {
		t.Skip("no go command, or no arrow in the module cache: ", err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const ours = "package arrowtests\n\nimport (\n\t\"testing\"\n\t\"unsafe\"\n\n\t\"github.com/freehold-go/freehold/adapters/arrowmem\"\n)\n"
	write("standin_test.go", ours+standIn)
	for _, name := range []string{"go_allocator_test.go", "mallocator/mallocator_test.go"} {
		text, err := os.ReadFile(filepath.Join(folder, "arrow/memory", name))
		if err != nil {
			t.Skip("arrow's tests are not here: ", err)
		}
		write(filepath.Base(name), strings.NewReplacer("//go:build cgo\n", "", "package memory\n", "package arrowtests\n", "package mallocator_test\n", "package arrowtests\n",
			"\t\"github.com/apache/arrow-go/v18/arrow/memory/mallocator\"\n", "").Replace(string(text)))
	}
	sums, err := os.ReadFile("go.sum")
	adapter, err2 := filepath.Abs(".")
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	write("go.sum", string(sums))
	write("go.mod", fmt.Sprintf(arrowModule, filepath.Join(adapter, "../.."), adapter, version))
	cmd := exec.Command("go", "test", "-count=1", "-v", "-skip", "^("+strings.Join(arrowPanics, "|")+")$", ".")
	cmd.Dir = dir
	cmd.Env = append(slices.Clone(os.Environ()), "GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY=off", "GOSUMDB=off", "PWD="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "--- ") && strings.Contains(string(out), "GOPROXY=off") {
		t.Skipf("the module cache lacks what arrow's tests need: %s", out)
	}
	for _, name := range []string{"TestGoAllocator_Allocate", "TestGoAllocator_Reallocate", "TestMallocatorAllocate", "TestMallocatorReallocate", "TestMallocatorAssertSize"} {
		if !strings.Contains(string(out), "--- PASS: "+name+" ") {
			t.Errorf("%s has not passed", name)
		}
	}
	if err != nil || t.Failed() {
		t.Errorf("%v\n%s", err, out)
	}
}
