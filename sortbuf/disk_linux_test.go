// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/freehold-go/freehold/internal/checks/testenv"
)

// These tests kill processes that spill, merge and save, and fill a disk of 64 MiB. make
// test-sort-kill runs all kills; a plain run has a few.

// killed is the environment of the process that is killed: its folder.
const killed = "FREEHOLD_TEST_SORT_KILLED"

// TestSortKill kills a process at random moments of spill, merge and save. The disk use returns, no
// file with another name is left, and the target is whole or absent, or the older one.
func TestSortKill(t *testing.T) {
	if dir := os.Getenv(killed); dir != "" {
		sortForever(dir)
	}
	testenv.StartsPrograms(t)
	kills := 3
	if os.Getenv("FREEHOLD_TEST_SORT_KILL") != "" {
		kills = 50
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var phases = map[string]int{}
	testenv.OnFileSystem(t, "tmpfs", "size=256m", func(dir string) {
		before, _ := diskUse(dir)
		for i := range kills {
			child := exec.Command(exe, "-test.run=^TestSortKill$")
			child.Env = append(os.Environ(), killed+"="+dir)
			var out bytes.Buffer
			child.Stdout = &out
			stdin, err := child.StdinPipe() // The child ends with its parent.
			if err != nil {
				t.Error(err)
				return
			}
			if err := child.Start(); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(time.Duration(20+rand.IntN(600)) * time.Millisecond)
			child.Process.Kill()
			child.Wait()
			stdin.Close()
			lines := bytes.Fields(out.Bytes())
			phase := "start"
			if len(lines) > 0 {
				phase = string(lines[len(lines)-1])
			}
			phases[phase]++
			path := filepath.Join(dir, "run")
			names, _ := os.ReadDir(dir)
			for _, name := range names {
				if name.Name() != "run" {
					t.Errorf("kill %d, in %s: the file %s is left", i, phase, name.Name())
				}
			}
			if len(names) > 0 {
				whole(t, path)
			}
			used, err := diskUse(dir)
			if info, e := os.Stat(path); e == nil {
				used -= uint64(info.Size())
			}
			if err != nil || used > before+1<<20 {
				t.Errorf("kill %d, in %s: %d bytes of disk are used, %d before, %v", i, phase, used, before, err)
			}
		}
	})
	t.Logf("%d kills: %v", kills, phases)
	if kills >= 50 && (phases["spill"] == 0 || phases["merge"] == 0 || phases["save"] == 0) {
		t.Errorf("no kill in one of the phases: %v", phases)
	}
}

// whole holds a saved file to its records: their number and their order.
func whole(t *testing.T, path string) {
	run, err := Open(path, Options{})
	if err != nil {
		t.Error(err)
		return
	}
	defer run.Close()
	if err := run.Verify(context.Background()); err != nil || run.Len() != killRecords {
		t.Errorf("%d records of %d, %v", run.Len(), killRecords, err)
	}
}

func diskUse(dir string) (uint64, error) {
	var st unix.Statfs_t
	err := unix.Statfs(dir, &st)
	return (st.Blocks - st.Bfree) * uint64(st.Bsize), err
}

const killRecords = 200_000

// sortForever sorts and saves records in dir, until it is killed. It prints the phases.
func sortForever(dir string) {
	go func() {
		os.Stdin.Read(make([]byte, 1)) // The parent's end.
		os.Exit(1)
	}()
	ctx := context.Background()
	var last Phase
	o := Options{Memory: 1 << 20, Dir: dir, open: 4, Progress: func(p Progress) {
		if p.Phase != last && p.Phase >= PhaseSpill && p.Phase <= PhaseSave {
			last = p.Phase
			fmt.Println(p.Phase)
		}
	}, Parallel: 1}
	for {
		s, err := New(o)
		if err != nil {
			panic(err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range killRecords {
			if err := s.Add(binary.BigEndian.AppendUint64(nil, r.Uint64()), make([]byte, 50)); err != nil {
				panic(err)
			}
		}
		if err := Save(ctx, filepath.Join(dir, "run"), s.Sorted(ctx), o); err != nil {
			panic(err)
		}
		s.Close()
	}
}

// TestSortFullDisk: a disk of 64 MiB that fills up in a spill, in a merge and in Save. Each is an
// error with path and cause, the records stay readable, and the disk is empty afterwards.
func TestSortFullDisk(t *testing.T) {
	if os.Getenv("FREEHOLD_TEST_SORT_KILL") == "" {
		t.Skip("set FREEHOLD_TEST_SORT_KILL: make test-sort-kill; TestFullDisk has a small disk")
	}
	ctx := context.Background()
	testenv.OnFileSystem(t, "tmpfs", "size=64m", func(dir string) {
		before, _ := diskUse(dir)
		for _, fill := range []int64{0, 20 << 20, 30 << 20, 40 << 20, 50 << 20} { // Of the disk, by something else, before the merge.
			fullDisk(t, ctx, dir, fill)
			if used, err := diskUse(dir); err != nil || used > before {
				t.Errorf("%d bytes are used, %d before, %v", used, before, err)
			}
		}
	})
}

// fullDisk sorts until the disk is full, or until half of what is free is used; then it lets other
// data fill the disk, so that merge and Save find it full.
func fullDisk(t *testing.T, ctx context.Context, dir string, fill int64) {
	s, err := New(Options{Memory: 2 << 20, Dir: dir, open: 1000})
	if err != nil {
		t.Error(err)
		return
	}
	defer s.Close()
	r := rand.New(rand.NewPCG(1, 2))
	n := 0
	var spill *SpillError
	for {
		err := s.Add(binary.BigEndian.AppendUint64(nil, r.Uint64()), make([]byte, 500))
		if err != nil {
			if !errors.As(err, &spill) || spill.Path != dir || !errors.Is(err, unix.ENOSPC) {
				t.Errorf("Add: %v", err)
			}
			break
		}
		if n++; fill > 0 && s.Stats().Disk > fill {
			break
		}
	}
	defer os.Remove(fillDisk(t, dir, 1<<20))
	s.c.o.open = 3 // So that runs must be merged, for which the disk has no room.
	got, err := 0, error(nil)
	for _, err = range s.Sorted(ctx) {
		if err != nil {
			break
		}
		got++
	}
	if err != nil && !errors.Is(err, unix.ENOSPC) {
		t.Errorf("Sorted with a full disk: %v", err)
	}
	s.c.o.open = 1000
	got = 0
	for _, err := range s.Sorted(ctx) {
		if err != nil {
			t.Errorf("Sorted: %v", err)
			return
		}
		got++
	}
	if got != n {
		t.Errorf("%d records of %d", got, n)
	}
	path := filepath.Join(dir, "run")
	if err := Save(ctx, path, s.Sorted(ctx), Options{}); !errors.As(err, &spill) || spill.Path != path || !errors.Is(err, unix.ENOSPC) {
		t.Errorf("Save: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Save left a file: %v", err)
	}
}

// fillDisk fills the disk but for some bytes, with a file whose path it returns.
func fillDisk(t *testing.T, dir string, left int64) string {
	path := filepath.Join(dir, "other")
	other, err := os.Create(path)
	if err != nil {
		t.Error(err)
		return path
	}
	defer other.Close()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Error(err)
	}
	if n := int64(st.Bfree)*int64(st.Bsize) - left; n > 0 {
		if err := unix.Fallocate(int(other.Fd()), 0, 0, n); err != nil {
			t.Error(err)
		}
	}
	return path
}

// TestFullDisk: a small disk that fills up in a spill and in Save.
func TestFullDisk(t *testing.T) {
	for _, codec := range []*Codec{nil, flated} {
		testenv.OnFileSystem(t, "tmpfs", "size=4m", func(dir string) {
			s, err := New(Options{Memory: 1 << 20, Dir: dir, Codec: codec})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			r := rand.New(rand.NewPCG(1, 2))
			n, full := 0, false
			value := make([]byte, 200)
			for i := range 60_000 {
				for j := range value {
					value[j] = byte(r.Uint32())
				}
				if err := s.Add(fmt.Appendf(nil, "%06d", i*7919%60_013), value); err != nil {
					var spill *SpillError
					if !errors.As(err, &spill) || spill.Path != dir {
						t.Errorf("Add with a full disk: %v", err)
					}
					full = true
					break
				}
				n++
			}
			got := 0
			for _, err := range s.Sorted(context.Background()) {
				if err != nil {
					t.Errorf("Sorted with a full disk: %v", err)
					return
				}
				got++
			}
			if got != n || !full {
				t.Errorf("%d records of %d; full: %t", got, n, full)
			}
			path := filepath.Join(dir, "run")
			var spill *SpillError
			if err := Save(context.Background(), path, s.Sorted(context.Background()), Options{}); !errors.As(err, &spill) || spill.Path != path {
				t.Errorf("Save on a full disk: %v", err)
			}
			if names, _ := os.ReadDir(dir); len(names) > 0 {
				t.Errorf("files are left: %v", names)
			}
		})
	}
}
