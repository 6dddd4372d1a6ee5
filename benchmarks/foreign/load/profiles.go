package load

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
)

// Names of the files that -profiles leaves.
const (
	CPUFile      = "cpu.pb.gz"
	HeapFile     = "heap0.pb.gz" // at the start of the operations
	HeapEndFile  = "heap1.pb.gz" // at their end, after a collection
	HeapTextFile = "heap1.txt"   // the same with the runtime's MemStats: heap?debug=1
)

// Files are all of them.
var Files = []string{CPUFile, HeapFile, HeapEndFile, HeapTextFile}

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
	runtime.GC() // as heap?gc=1 does
	if err := writeHeap(filepath.Join(w.dir, HeapEndFile), 0); err != nil {
		return err
	}
	return writeHeap(filepath.Join(w.dir, HeapTextFile), 1)
}

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
