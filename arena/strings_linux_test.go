// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/checks/testenv"
)

// TestStringsInGuardMode: the compiler and the assembly of the runtime leave strings out of what
// AddressSanitizer and MemorySanitizer see. On guarded pages each operation on a string that was
// given up faults.
func TestStringsInGuardMode(t *testing.T) {
	testenv.MisusesMemory(t)
	if freehold.Modes().Heap {
		t.Skip("the debug modes do not reach values of the Go heap")
	}
	t.Setenv("FREEHOLD", "guard")
	if !testenv.InChild(t) {
		return
	}
	text := strings.Repeat("text ", 20)
	numbers := map[string]int{text: 1}
	same := strings.Clone(text)
	for name, use := range map[string]func(s string) int{
		"index":     func(s string) int { return int(s[50]) },
		"concat":    func(s string) int { return len(s + "!") },
		"==":        func(s string) int { return bit(s == same) },
		"range":     func(s string) int { return sum(s) },
		"[]byte":    func(s string) int { copied = []byte(s); return len(copied) },
		"map key":   func(s string) int { return numbers[s] },
		"Contains":  func(s string) int { return bit(strings.Contains(s, "no such")) },
		"IndexByte": func(s string) int { return strings.IndexByte(s, '!') },
		"sort":      func(s string) int { list := []string{same, s}; slices.Sort(list); return len(list[0]) },
		"Clone":     func(s string) int { return len(strings.Clone(s)) },
	} {
		a := NewArena()
		s := String(a, []byte(text))
		use(s) // It faults for being late, not for being there.
		a.Free()
		if report := faultOf(func() { use(s) }); !strings.Contains(report, "use after Free: access") || !strings.Contains(report, "block of 100 bytes (string, arena") {
			t.Errorf("%s: %q", name, report)
		}
	}
}

// copied keeps the compiler from leaving the copy out.
var copied []byte

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func sum(s string) (n int) {
	for _, c := range s {
		n += int(c)
	}
	return n
}

// faultOf returns the report of the fault that f ends with, "" if f returns.
func faultOf(f func()) (report string) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			report = fmt.Sprint(v)
			if err, ok := v.(error); ok {
				report = freehold.Explain(err).Error()
			}
		}
	}()
	f()
	return ""
}
