// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"testing"

	"github.com/google/pprof/profile"
)

// Whose a frame is follows from its package and its file, wherever the program was built.
func TestFrames(t *testing.T) {
	const (
		none = 1 << iota
		inRuntime
		std
		user
	)
	for _, c := range []struct {
		name, main, runtime string // runtime is the file that the runtime's own functions have
		fn, file            string
		want                int
	}{
		{"runtime", "", "/usr/local/go/src/runtime/proc.go", "runtime.schedule", "/usr/local/go/src/runtime/proc.go", inRuntime | std},
		{"runtime's insides", "", "/go/src/runtime/proc.go", "internal/runtime/maps.(*Map).Get", "/go/src/internal/runtime/maps/map.go", inRuntime | std},
		{"by linkname", "", "/go/src/runtime/proc.go", "reflect.unsafe_New", "/go/src/runtime/malloc.go", inRuntime | std},
		{"assembly", "", "/go/src/runtime/proc.go", "memeqbody", "/go/src/internal/bytealg/equal_amd64.s", inRuntime | std},
		{"standard library", "", "/go/src/runtime/proc.go", "encoding/json.(*Decoder).Decode", "/go/src/encoding/json/stream.go", std},
		{"vendored by Go", "", "/go/src/runtime/proc.go", "vendor/golang.org/x/net/http2/hpack.Decode", "/go/src/vendor/golang.org/x/net/http2/hpack/hpack.go", std},
		{"toolchain in the module cache", "", "/m/golang.org/toolchain@v0.0.1-go1.26.8.linux-amd64/src/runtime/proc.go", "fmt.Sprintf",
			"/m/golang.org/toolchain@v0.0.1-go1.26.8.linux-amd64/src/fmt/print.go", std},
		{"Windows", "", `C:\Go\src\runtime\proc.go`, "fmt.Sprintf", `C:\Go\src\fmt\print.go`, std},
		{"trimmed paths", "", "runtime/proc.go", "fmt.Sprintf", "fmt/print.go", std},
		{"main package", "", "runtime/proc.go", "main.main", "example.com/shop/main.go", user},
		{"own package, module not known", "", "/go/src/runtime/proc.go", "shop/store.Get", "/src/shop/store/store.go", user},
		{"own package", "example.com/shop", "/go/src/runtime/proc.go", "example.com/shop/store.Get[...]", "/src/store/store.go", user},
		{"own external test", "example.com/shop", "/go/src/runtime/proc.go", "example.com/shop_test.TestGet", "/src/shop_test.go", user},
		{"a module that begins alike", "example.com/shop", "/go/src/runtime/proc.go", "example.com/shopping.Get", "/src/shopping.go", none},
		{"dependency", "", "/go/src/runtime/proc.go", "example.com/codec.Decode", "/m/example.com/codec@v1.2.3/codec.go", none},
		{"dependency, vendored", "", "/go/src/runtime/proc.go", "example.com/codec.Decode", "/src/shop/vendor/example.com/codec/codec.go", none},
		{"Go's own command", "", "runtime/proc.go", "cmd/compile/internal/ssa.Compile", "cmd/compile/internal/ssa/compile.go", user},
	} {
		p := &profile.Profile{Function: []*profile.Function{{Name: "runtime.schedule", Filename: c.runtime}}}
		f := NewTable(c.main, p).Frame(c.fn, c.file, 1)
		got := 0
		for bit, is := range map[int]bool{inRuntime: f.Runtime, std: f.Std, user: f.User} {
			if is {
				got |= bit
			}
		}
		if got == 0 {
			got = none
		}
		if got != c.want {
			t.Errorf("%s: runtime %t, std %t, user %t", c.name, f.Runtime, f.Std, f.User)
		}
	}
}
