package load

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The test binary is the driver too: this variable says which.
const kindVariable = "LOAD_TEST_DRIVER"

func TestMain(m *testing.M) {
	switch os.Getenv(kindVariable) {
	case "library":
		Main(Sample{Ops: 100, Before: func() Op { return allocate(1 << 10) }, After: func() Op { return allocate(0) },
			Close: func() { fmt.Fprintln(os.Stderr, "closed") }})
	case "service":
		Serve(Service{Ops: 100, Connections: 3, Start: serveTest, Prepare: ask(-1), Dial: dialTest})
	default:
		os.Exit(m.Run())
	}
}

var sink []byte

func allocate(n int) Op {
	next := -1
	return func(i int) {
		if i <= next {
			panic(fmt.Sprintf("operation %d comes after %d", i, next))
		}
		next = i
		fmt.Println("the program's own output")
		sink = make([]byte, n)
	}
}

// serveTest answers with the number of the request, and fails for number 60 if GOGC says so.
func serveTest(bool) (Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return Server{}, err
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := r.URL.Query().Get("n")
		if n == "60" && os.Getenv("GOGC") == "60" {
			http.Error(w, "no", http.StatusTeapot)
			return
		}
		sink = make([]byte, 1<<10)
		io.WriteString(w, n)
	}))
	return Server{Address: "http://" + l.Addr().String()}, nil
}

func dialTest(address string, _ int) (Request, error) {
	if os.Getenv("GOGC") != "" {
		return nil, fmt.Errorf("the client runs under the server's GOGC")
	}
	return func(i int) error { return ask(i)(address) }, nil
}

func ask(i int) func(address string) error {
	return func(address string) error {
		r, err := http.Get(fmt.Sprintf("%s?n=%d", address, i))
		if err != nil {
			return err
		}
		defer r.Body.Close()
		if body, err := io.ReadAll(r.Body); err != nil || string(body) != fmt.Sprint(i) {
			return fmt.Errorf("%q, %v", body, err)
		}
		return nil
	}
}

// driver runs the test binary as a driver.
func driver(t *testing.T, kind, gogc string, args ...string) (Result, string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), kindVariable+"="+kind, "GOGC="+gogc)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	var r Result
	if err == nil {
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatalf("its output is not a result alone: %q, %v", out, err)
		}
	}
	return r, complaint.String(), err
}

func TestRuns(t *testing.T) {
	for _, kind := range []string{"library", "service"} {
		r, complaint, err := driver(t, kind, "150", "-times", "2")
		if err != nil {
			t.Fatalf("%s: %v\n%s", kind, err, complaint)
		}
		if r.Ops != 200 || r.CPU < 0 || r.Wall <= 0 || r.Peak < 1<<20 || r.Peak > 1<<30 {
			t.Errorf("%s: result %+v", kind, r)
		}
		if kind == "library" && !strings.Contains(complaint, "closed") {
			t.Error("it was not closed")
		}
	}
}

func TestProfiles(t *testing.T) {
	for kind, args := range map[string][]string{"library": {"-ops", "1000"}, "service": {"-seconds", "1"}} {
		dir := filepath.Join(t.TempDir(), "profiles")
		if _, complaint, err := driver(t, kind, "", append(args, "-profiles", dir)...); err != nil {
			t.Fatalf("%s: %v\n%s", kind, err, complaint)
		}
		for _, name := range Files {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if name == HeapTextFile {
				if !bytes.HasPrefix(data, []byte("heap profile: ")) || !bytes.Contains(data, []byte("# NextGC = ")) {
					t.Errorf("%s: %s has no MemStats", kind, name)
				}
			} else if _, err := gzip.NewReader(bytes.NewReader(data)); err != nil {
				t.Errorf("%s: %s: %v", kind, name, err)
			}
		}
	}
}

// A driver that cannot do what it is told ends with an error.
func TestFailures(t *testing.T) {
	if _, complaint, err := driver(t, "service", "60"); err == nil || !strings.Contains(complaint, "request 60: ") {
		t.Errorf("a failed request: %v, %s", err, complaint)
	}
	if _, complaint, err := driver(t, "service", "", "-after"); err == nil || !strings.Contains(complaint, "no form after") {
		t.Errorf("-after without such a form: %v, %s", err, complaint)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, complaint, err := driver(t, "library", "", "-profiles", file); err == nil {
		t.Errorf("profiles into a file: %s", complaint)
	}
}

// A tool starts the server and its load by itself, and the load waits for the address.
func TestServeAlone(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "address")
	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), self, args...)
		cmd.Env = append(os.Environ(), kindVariable+"=service", "GOGC=")
		cmd.Stderr = t.Output()
		return cmd
	}
	server := command("-serve", file)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	if out, err := command("-load", file, "-ops", "500").Output(); err != nil || len(out) > 0 {
		t.Errorf("the load: %v, %q", err, out)
	}
	if err := server.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the server: %v", err)
	}
	if _, err := command("-load", file).Output(); err == nil {
		t.Error("the load of a server that has ended succeeds")
	}
}
