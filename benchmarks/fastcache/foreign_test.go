package fastcache

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// checkout is the variable with a checkout of fastcache.
const checkout = "FREEHOLD_TEST_FASTCACHE"

// TestFastcache runs fastcache's own tests on the shim, in a temporary module. Tests that fail must
// stand in exceptions.txt with the reason, and no others may.
func TestFastcache(t *testing.T) {
	from := os.Getenv(checkout)
	if from == "" {
		t.Skip("set " + checkout + " to a checkout of fastcache: make test-fastcache FASTCACHE=DIR")
	}
	dir := t.TempDir()
	library, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	write("go.mod", "module github.com/VictoriaMetrics/fastcache\n\ngo 1.26.0\n\nrequire github.com/freehold-go/freehold v0.1.0\n\nreplace github.com/freehold-go/freehold => "+library+"\n")
	write("go.sum", read("../../go.sum"))
	write("shim.go", read("shim.go"))
	for _, name := range []string{"fastcache_test.go", "file_test.go", "bigcache_test.go"} {
		write(name, read(filepath.Join(from, name)))
	}

	cmd := exec.Command("go", "test", "-count=1", "-json", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, failure := cmd.Output()
	passed, failed, output := results(t, string(out))
	t.Logf("%d tests passed, %d failed", passed, len(failed))
	if passed < 10 {
		t.Fatalf("%d tests have passed: %v\n%.4000s", passed, failure, out)
	}
	exceptions := readExceptions(t)
	for name := range failed {
		if exceptions[name] == "" {
			t.Errorf("%s failed:\n%.4000s", name, output[name])
		}
	}
	for name := range exceptions {
		if !failed[name] {
			t.Errorf("the exception %s does not fail, or is no test any more", name)
		}
	}
}

// results reads what go test -json prints. Only tests that are no parts of others count.
func results(t *testing.T, lines string) (passed int, failed map[string]bool, output map[string]string) {
	t.Helper()
	failed, output = map[string]bool{}, map[string]string{}
	for d := json.NewDecoder(strings.NewReader(lines)); d.More(); {
		var event struct{ Action, Test, Output string }
		if err := d.Decode(&event); err != nil {
			t.Fatal(err)
		}
		name, part, _ := strings.Cut(event.Test, "/")
		switch {
		case event.Action == "output":
			output[name] += event.Output
		case name == "" || part != "":
		case event.Action == "pass":
			passed++
		case event.Action == "fail":
			failed[name] = true
		}
	}
	return passed, failed, output
}

// readExceptions reads lines of a name and a reason.
func readExceptions(t *testing.T) map[string]string {
	t.Helper()
	f, err := os.Open("exceptions.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		name, reason, ok := strings.Cut(s.Text(), ": ")
		if !ok || reason == "" {
			t.Fatalf("exceptions.txt has a line without a reason: %q", s.Text())
		}
		list[name] = reason
	}
	return list
}

// TestResults: what go test says of a run with a part that fails.
func TestResults(t *testing.T) {
	passed, failed, output := results(t, `{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestA/x","Output":"no\n"}
{"Action":"fail","Test":"TestA/x"}
{"Action":"fail","Test":"TestA"}
{"Action":"pass","Test":"TestB/x"}
{"Action":"pass","Test":"TestB"}
{"Action":"fail"}
`)
	if passed != 1 || !maps.Equal(failed, map[string]bool{"TestA": true}) || output["TestA"] != "no\n" {
		t.Errorf("%d passed, failed %v, output %q", passed, failed, output)
	}
}

// TestShim: the calls that fastcache's tests make, once each, so that the shim does not rot.
func TestShim(t *testing.T) {
	c := New(1)
	defer c.Reset()
	c.Set([]byte("a"), []byte("1"))
	c.SetBig([]byte("b"), make([]byte, 1<<20))
	c.Set([]byte("c"), nil)
	c.Del([]byte("c"))
	if v, ok := c.HasGet(nil, []byte("a")); !ok || string(v) != "1" || c.Has([]byte("c")) || len(c.GetBig(nil, []byte("b"))) != 1<<20 {
		t.Errorf("%q, %v", v, ok)
	}
	var s Stats
	c.UpdateStats(&s)
	if s.GetCalls != 3 || s.Misses != 1 || s.SetCalls != 3 || s.GetBigCalls != 1 || s.SetBigCalls != 1 || s.EntriesCount != 2 || s.MaxBytesSize != leastBytes {
		t.Errorf("%+v", s)
	}
	path := filepath.Join(t.TempDir(), "saved")
	if err := c.SaveToFile(path); err != nil {
		t.Fatal(err)
	}
	c.Reset()
	s.Reset()
	c.UpdateStats(&s)
	if s.GetCalls != 0 || s.SetCalls != 0 || s.EntriesCount != 0 {
		t.Errorf("after Reset: %+v", s)
	}
	for most, want := range map[int]string{1: "1", leastBytes: "1", 2 * leastBytes: ""} {
		c := LoadFromFileOrNew(path, most)
		if v := c.Get(nil, []byte("a")); string(v) != want {
			t.Errorf("%d bytes: %q", most, v)
		}
		c.Reset()
	}
}
