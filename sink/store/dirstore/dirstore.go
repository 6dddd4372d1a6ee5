// SPDX-License-Identifier: Apache-2.0

// Package dirstore is a store in a directory of a file system.
//
// # Files
//
// The object of key "a/b" is the file a/b below the root. What Put was told About it is a JSON file
// beside it, a/.freehold-b. The directory .freehold in the root holds the temporary files. So the
// tree can be copied, archived and served as it is, and programs that skip names with a dot see the
// objects alone.
//
// A file that another program put into the tree is an object without an About. A listing reads an
// object's bytes only if the JSON file does not have the time of the object's file, as after a
// copy: then the checksum decides whether the JSON belongs to it.
//
// # Durability
//
// Put writes a temporary file, makes it durable by fsync, renames it, and makes all directories
// from the root down to the object durable. After a crash the key has the old object or the new
// one. A crash between the renames of the JSON file and of the object leaves an object without an
// About, until it is put again.
//
// # Several processes
//
// Several processes may use one directory. Each has temporary files of its own, under a lock that
// the operating system drops when the process ends. Open deletes those of processes that have
// ended. Two processes that put one key at the same moment can leave the About of one beside the
// object of the other; if the objects differ, the object then has no About.
//
// # Limits
//
// A name between slashes has at most 245 bytes on most file systems. A key cannot be a folder of
// another key: while the object "a" exists, Put refuses "a/b". Names that begin with ".freehold"
// are refused. On a file system that ignores case, keys that differ only in case are one object.
// Symbolic links that lead out of the root are not followed.
package dirstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/freehold-go/freehold/sink/store"
)

// reserved begins the names of files and directories that are not objects.
const reserved = ".freehold"

// Store is a store in a directory.
type Store struct {
	path    string // for people
	root    *os.Root
	temp    string // the directory of this store's temporary files, below the root
	release func() error

	// locks are taken by key: for writing while the two files of an object are replaced, for
	// reading while they are looked at.
	locks [64]sync.RWMutex

	// folders is held for writing while Delete removes empty directories, for reading while Put
	// makes them and renames into them.
	folders sync.RWMutex

	// step is called before each call of the operating system that changes something, with its
	// name. Tests let it fail.
	step func(name string) error
}

// Open opens a directory as a store, makes it if it does not exist, and deletes temporary files of
// processes that have ended.
func Open(dir string) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("dirstore: %w", err)
	}
	if err := os.MkdirAll(abs, 0o777); err != nil {
		if errors.Is(err, syscall.ENOTDIR) {
			err = store.Permanent(fmt.Errorf("%w: the store needs a directory, and a file has the place of it or of a directory above it", err))
		} else {
			err = explain(err)
		}
		return nil, fmt.Errorf("dirstore: making the directory: %w", err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("dirstore: %w", explain(err))
	}
	s := &Store{path: abs, root: root, step: func(string) error { return nil }}
	if s.temp, s.release, err = claim(root); err != nil {
		root.Close()
		return nil, fmt.Errorf("dirstore: %s: preparing temporary files: %w", abs, explain(err))
	}
	return s, nil
}

// String implements store.Store.
func (s *Store) String() string { return "dir://" + filepath.ToSlash(s.path) }

// Close implements store.Store.
func (s *Store) Close() error {
	return errors.Join(s.root.RemoveAll(s.temp), s.release(), s.root.Close())
}

// Check implements store.Store.
func (s *Store) Check(ctx context.Context) error { return store.Probe(ctx, s) }

// Delete implements store.Store. It removes directories that become empty.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := s.ready(ctx, key); err != nil {
		return err
	}
	lock := s.lock(key)
	lock.Lock()
	defer lock.Unlock()
	err := s.root.Remove(key)
	if isAbsent(err) {
		err = nil
	}
	if e := s.root.Remove(aboutName(key)); err == nil && !isAbsent(e) {
		err = e
	}
	if err != nil {
		return fmt.Errorf("dirstore: deleting %q: %w", key, explain(err))
	}
	s.folders.Lock()
	defer s.folders.Unlock()
	for dir := path.Dir(key); dir != "."; dir = path.Dir(dir) {
		if s.root.Remove(dir) != nil {
			break // it is not empty
		}
	}
	return nil
}

// ready is what each method begins with.
func (s *Store) ready(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := store.CheckKey(key); err != nil {
		return err
	}
	for name := range strings.SplitSeq(key, "/") {
		if strings.HasPrefix(name, reserved) {
			return store.Permanent(fmt.Errorf("dirstore: key %q: %w: names that begin with %q are the store's own", key, store.ErrKey, reserved))
		}
	}
	return nil
}

// lock finds the lock of a key. Keys that share one only wait for each other.
func (s *Store) lock(key string) *sync.RWMutex {
	h := uint32(2166136261) // FNV-1a
	for i := range len(key) {
		h = (h ^ uint32(key[i])) * 16777619
	}
	return &s.locks[h%uint32(len(s.locks))]
}

// isAbsent reports whether an error says that there is no object, because there is no file or a
// parent is a file.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// explain adds to an error of the operating system what to do, and marks those that last. A full
// disk does not.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w: the disk is full: delete something or move the store to a larger one", err)
	case errors.Is(err, syscall.EXDEV):
		return store.Permanent(fmt.Errorf("%w: a directory of the store is a mount point: mount the root instead", err))
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return store.Permanent(fmt.Errorf("%w: the process needs the right to write here", err))
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.EEXIST), errors.Is(err, syscall.ENOTEMPTY):
		return store.Permanent(fmt.Errorf("%w: a key cannot be a folder of another key here", err))
	case errors.Is(err, syscall.ENAMETOOLONG):
		return store.Permanent(fmt.Errorf("%w: the file system limits names, most to 255 bytes", err))
	}
	return err
}
