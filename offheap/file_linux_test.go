// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/freehold-go/freehold/internal/checks/testenv"
)

// TestFileOnFullDisk makes files on a disk of 2 MiB.
func TestFileOnFullDisk(t *testing.T) {
	needFiles(t)
	testenv.OnFileSystem(t, "tmpfs", "size=2m", func(dir string) { fullDisk(t, dir) })
}

// TestFileOnReadOnlyDisk: OpenFile names the way to open a file that cannot be written, which works.
func TestFileOnReadOnlyDisk(t *testing.T) {
	needFiles(t)
	testenv.OnFileSystem(t, "tmpfs", "size=2m", func(dir string) {
		path := filepath.Join(dir, "f")
		f, err := CreateFile(path, 8192)
		if err := errors.Join(err, f.Close(), unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, "")); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenFile(path); !errors.Is(err, unix.EROFS) || !strings.Contains(err.Error(), "OpenFileReadOnly") {
			t.Errorf("OpenFile: %v", err)
		}
		f, err = OpenFileReadOnly(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewInFile[int64](f); !errors.Is(err, os.ErrPermission) {
			t.Errorf("NewInFile: %v", err)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			t.Error(err)
		}
	})
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
