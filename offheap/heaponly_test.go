// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"crypto/aes"
	"crypto/ed25519"
	"crypto/sha256"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unique"
	"weak"

	"github.com/freehold-go/freehold/internal/checks/testenv"
)

// heapOnly are the functions of the standard library that take pointers to the Go heap alone, with
// what Go says before it ends the process. The package's documentation lists them.
var heapOnly = map[string]struct {
	call func()
	says string
}{
	"weak.Make":            {func() { weak.Make(New[point]()) }, "getWeakHandle on invalid pointer"},
	"runtime.AddCleanup":   {func() { runtime.AddCleanup(New[point](), func(int) {}, 1) }, "ptr not in allocated block"},
	"runtime.SetFinalizer": {func() { runtime.SetFinalizer(New[point](), func(*point) {}) }, "runtime.SetFinalizer: pointer not in"},
	"ed25519.Sign":         {func() { ed25519.Sign(offHeapKey(), []byte("text")) }, "getWeakHandle on invalid pointer"},
	"PrivateKey.Sign": {func() { _, _ = offHeapKey().Sign(nil, []byte("text"), &ed25519.Options{}) },
		"getWeakHandle on invalid pointer"},
}

func offHeapKey() ed25519.PrivateKey {
	key := Alloc(ed25519.PrivateKeySize)
	copy(key, ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	return key
}

// TestHeapOnlyFunctions checks the list: each of the functions ends the process with an off-heap
// block.
func TestHeapOnlyFunctions(t *testing.T) {
	needOwnMemory(t)
	if raceEnabled {
		t.Skip("blocks come from the Go heap under the race detector")
	}
	const variable = "FREEHOLD_TEST_HEAP_ONLY"
	if f, ok := heapOnly[os.Getenv(variable)]; ok {
		f.call()
		return
	}
	testenv.StartsPrograms(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range heapOnly {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child := exec.Command(exe, "-test.run=^TestHeapOnlyFunctions$")
			child.Env = append(os.Environ(), variable+"="+name, "GOTRACEBACK=none")
			out, err := child.CombinedOutput()
			if err == nil || !strings.Contains(string(out), f.says) {
				t.Errorf("%v, and the output has no %q:\n%s", err, f.says, out)
			}
			if !strings.Contains(string(doc), name) {
				t.Errorf("doc.go does not name %s", name)
			}
		})
	}
}

// TestHeapOnlyTwins: functions near those of the list take off-heap memory.
func TestHeapOnlyTwins(t *testing.T) {
	quiet(t)
	key := offHeapKey()
	defer Free(key)
	public := key.Public().(ed25519.PublicKey)
	if !ed25519.Verify(public, []byte("text"), ed25519.Sign(append([]byte(nil), key...), []byte("text"))) {
		t.Error("a copied key makes a bad signature")
	}
	if sha256.Sum256(key) != sha256.Sum256(append([]byte(nil), key...)) {
		t.Error("a hash of off-heap bytes is another")
	}
	if _, err := aes.NewCipher(key[:32]); err != nil {
		t.Error(err)
	}
	p := New[point]()
	defer Delete(p)
	p.X = 3
	if unique.Make(*p).Value() != *p {
		t.Error("a unique value is another")
	}
	var pin runtime.Pinner // It ignores memory that is not Go's.
	pin.Pin(p)
	pin.Unpin()
}
