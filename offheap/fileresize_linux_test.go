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

// TestFileResizeOnFullDisk grows a file beyond a disk of 2 MiB: an error, and the file is as it
// was.
func TestFileResizeOnFullDisk(t *testing.T) {
	needFiles(t)
	testenv.OnFileSystem(t, "tmpfs", "size=2m", func(dir string) {
		f, err := CreateFile(filepath.Join(dir, "grows"), 1<<19)
		if err != nil {
			t.Error(err)
			return
		}
		r, err := NewInFile[record](f)
		if err != nil {
			t.Error(err)
			return
		}
		r.In(f).key = 5
		for range 3 {
			err := f.Resize(8 << 20)
			if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "free space") || !strings.Contains(err.Error(), f.name) {
				t.Errorf("8 MiB on a disk of 2: %v", err)
			}
			if info, err := os.Stat(f.name); err != nil || info.Size() != 1<<19 || f.Size() != 1<<19 {
				t.Errorf("the file has %d bytes, Size says %d; %v", info.Size(), f.Size(), err)
			}
		}
		if err := f.Resize(1 << 20); err != nil {
			t.Errorf("what was taken is not given back: %v", err)
		}
		if s, err := MakeSliceInFile[byte](f, 1<<19); err != nil {
			t.Error(err)
		} else {
			fill(s.In(f), 1) // Each page has its disk space.
		}
		if r.In(f).key != 5 {
			t.Error("the value changed")
		}
		if err := errors.Join(f.Resize(f.Used()), f.Close()); err != nil {
			t.Error(err)
		}
	})
}
