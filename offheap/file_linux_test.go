package offheap

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFileOnFullDisk makes files on a small disk that only its thread sees.
func TestFileOnFullDisk(t *testing.T) {
	needFiles(t)
	dir := t.TempDir()
	skip := make(chan error)
	go func() {
		// The thread's view of the file systems is changed for good: never unlocked, it ends with us.
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err == nil {
			err = unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m")
		}
		if err == nil {
			defer func() { skip <- nil }()
			fullDisk(t, dir)
			return
		}
		skip <- err
	}()
	if err := <-skip; err != nil {
		t.Skipf("mounting takes root: %v", err)
	}
}

func fullDisk(t *testing.T, dir string) {
	for range 3 {
		_, err := CreateFile(filepath.Join(dir, "much"), 8<<20)
		if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "much") || !strings.Contains(err.Error(), "free space") {
			t.Errorf("8 MiB on a disk of 2: %v", err)
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
			t.Errorf("left behind: %v, %v", list, err)
		}
	}
	f, err := CreateFile(filepath.Join(dir, "little"), 5<<18)
	if err != nil {
		t.Errorf("what was taken is not given back: %v", err)
		return
	}
	// A copy with holes does not fit: an error now, not a signal later.
	header := make([]byte, fileStart)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(f.name); err != nil || copy(header, b) != fileStart {
		t.Errorf("%v", err)
		return
	}
	sparse := filepath.Join(dir, "sparse")
	if err := errors.Join(os.WriteFile(sparse, header, 0o600), os.Truncate(sparse, 5<<18)); err != nil {
		t.Error(err)
	}
	if _, err := OpenFile(sparse); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a file with holes and no room for them: %v", err)
	}
	if err := os.Remove(f.name); err != nil {
		t.Error(err)
	}
	if f, err = OpenFile(sparse); err != nil {
		t.Errorf("a file with holes and room for them: %v", err)
		return
	}
	if _, err := MakeSliceInFile[byte](f, 1<<19); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
