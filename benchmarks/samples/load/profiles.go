package load

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"

	"github.com/freehold-go/freehold/gctune"
)

// Names of the files that -profiles writes.
const (
	CPUFile        = "cpu.pb.gz"
	HeapFile       = "heap0.pb.gz" // at the start of the operations
	HeapEndFile    = "heap1.pb.gz" // at their end
	HeapTextFile   = "heap1.txt"   // the same with the runtime's MemStats: heap?debug=1
	MetricsFile    = "metrics0.json"
	MetricsEndFile = "metrics1.json"
)

// Files are those that every program with net/http/pprof has, and MetricsFiles those that few have.
var (
	Files        = []string{CPUFile, HeapFile, HeapEndFile, HeapTextFile}
	MetricsFiles = []string{MetricsFile, MetricsEndFile}
)

// window is the time between the two heap profiles, with a CPU profile of it.
type window struct {
	dir string
	cpu *os.File
}

func open(dir string) (*window, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	if err := writeHeap(filepath.Join(dir, HeapFile), 0); err != nil {
		return nil, err
	}
	if err := writeMetrics(filepath.Join(dir, MetricsFile)); err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(dir, CPUFile))
	if err != nil {
		return nil, err
	}
	return &window{dir: dir, cpu: f}, pprof.StartCPUProfile(f)
}

func (w *window) close() error {
	pprof.StopCPUProfile()
	if err := w.cpu.Close(); err != nil {
		return err
	}
	// Metrics come first: the collection that completes the heap profile would change them.
	if err := writeMetrics(filepath.Join(w.dir, MetricsEndFile)); err != nil {
		return err
	}
	// A heap profile shows what the collection before the last one had found; two complete it.
	runtime.GC()
	runtime.GC()
	if err := writeHeap(filepath.Join(w.dir, HeapEndFile), 0); err != nil {
		return err
	}
	return writeHeap(filepath.Join(w.dir, HeapTextFile), 1)
}

// writeHeap writes a heap profile; with debug 1 it is text.
func writeHeap(path string, debug int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := pprof.Lookup("heap").WriteTo(f, debug); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// writeMetrics writes what gctune's handler serves.
func writeMetrics(path string) error {
	answer := httptest.NewRecorder()
	gctune.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, gctune.HandlerPath, nil))
	if answer.Code != http.StatusOK {
		return fmt.Errorf("metrics: %s", answer.Body)
	}
	return os.WriteFile(path, answer.Body.Bytes(), 0o666)
}
