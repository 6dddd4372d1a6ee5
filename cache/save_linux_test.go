// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"bufio"
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

	"github.com/freehold-go/freehold/cache"
	"github.com/freehold-go/freehold/internal/checks/testenv"
)

// saver is the environment of the process that is killed while it saves: its folder.
const saver = "FREEHOLD_TEST_CACHE_SAVER"

const savedEntries = 20000

// savedCache is a cache whose values all have the number of the generation.
func savedCache(t testing.TB, generation uint32) *cache.Cache {
	c := newCache(t, cache.Options{Bytes: 8 << 20})
	value := binary.LittleEndian.AppendUint32(make([]byte, 0, 100), generation)[:100]
	for i := range uint32(savedEntries) {
		if err := c.Set(binary.LittleEndian.AppendUint32(nil, i), value); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// wholeFile says which generation a saved file has, all of it.
func wholeFile(path string) (uint32, error) {
	c, err := cache.New(cache.Options{Bytes: 8 << 20})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	s, err := c.Load(path)
	if err != nil || s.Damaged != 0 || s.Refused != 0 || s.Entries < savedEntries*9/10 {
		return 0, fmt.Errorf("%+v, %v", s, err)
	}
	seen := map[uint32]int{}
	generation := uint32(0)
	for _, v := range c.All() {
		generation = binary.LittleEndian.Uint32(v)
		seen[generation]++
	}
	if len(seen) != 1 {
		return 0, fmt.Errorf("entries by generation: %v", seen)
	}
	return generation, nil
}

// onlyFile reports other files than the saved one.
func onlyFile(t *testing.T, dir, when string) {
	names, _ := os.ReadDir(dir)
	for _, name := range names {
		if name.Name() != "saved" {
			t.Errorf("%s: the file %s is left", when, name.Name())
		}
	}
}

// TestSaveKilled kills a process at random moments of Save: the file is whole, and no other is left.
// FREEHOLD_TEST_CACHE_KILL=1 kills 50 times, otherwise it is 3.
func TestSaveKilled(t *testing.T) {
	if dir := os.Getenv(saver); dir != "" {
		saveForever(t, dir)
	}
	testenv.StartsPrograms(t)
	kills := 3
	if os.Getenv("FREEHOLD_TEST_CACHE_KILL") != "" {
		kills = 50
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i := range kills {
		child := exec.Command(exe, "-test.run=^TestSaveKilled$")
		child.Env = append(os.Environ(), saver+"="+dir)
		stdin, err := child.StdinPipe() // The child ends with its parent.
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
			t.Errorf("kill %d: the child saved nothing: %v", i, err)
		}
		time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond)
		child.Process.Kill()
		child.Wait()
		stdin.Close()
		if _, err := wholeFile(filepath.Join(dir, "saved")); err != nil {
			t.Errorf("kill %d: %v", i, err)
		}
		// While a file is replaced, the new one has another name for an instant.
		if names, _ := os.ReadDir(dir); len(names) > 1 {
			for _, name := range names {
				if name.Name() == "saved" {
					continue
				}
				if _, err := wholeFile(filepath.Join(dir, name.Name())); err != nil {
					t.Errorf("kill %d: the file %s is left: %v", i, name.Name(), err)
				}
				os.Remove(filepath.Join(dir, name.Name()))
			}
		}
	}
}

// saveForever saves one generation after the other, until it is killed.
func saveForever(t *testing.T, dir string) {
	go func() {
		os.Stdin.Read(make([]byte, 1)) // The parent's end.
		os.Exit(1)
	}()
	for generation := uint32(1); ; generation++ {
		c := savedCache(t, generation)
		if err := c.Save(filepath.Join(dir, "saved")); err != nil {
			panic(err)
		}
		c.Close()
		fmt.Println(generation)
	}
}

// TestSaveFullDisk: a disk without room for the new file. The error says so and names the file, the
// older one is whole, and no other is left.
func TestSaveFullDisk(t *testing.T) {
	testenv.OnFileSystem(t, "tmpfs", "size=4m", func(dir string) {
		path := filepath.Join(dir, "saved")
		if err := savedCache(t, 1).Save(path); err != nil {
			t.Error(err)
			return
		}
		err := savedCache(t, 2).Save(path)
		if err == nil || !errors.Is(err, unix.ENOSPC) {
			t.Errorf("a full disk: %v", err)
		}
		if generation, err := wholeFile(path); err != nil || generation != 1 {
			t.Errorf("the older file: generation %d, %v", generation, err)
		}
		onlyFile(t, dir, "after a full disk")
	})
}
