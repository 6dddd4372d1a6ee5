// SPDX-License-Identifier: Apache-2.0

package dirstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/freehold-go/freehold/sink/store"
)

// sidecar is the content of the JSON file beside an object. Size and time say which object it
// belongs to.
type sidecar struct {
	ContentType     string            `json:"contentType,omitempty"`
	ContentEncoding string            `json:"contentEncoding,omitempty"`
	Metadata        map[string]string `json:"metadata"`
	Size            int64             `json:"size"`
	CRC32C          uint32            `json:"crc32c"`
	Modified        time.Time         `json:"modified"`
}

// aboutName is the path of the JSON file beside an object.
func aboutName(key string) string { return path.Join(path.Dir(key), reserved+"-"+path.Base(key)) }

// Put implements store.Store.
//
//  1. The object and its JSON file are written under temporary names and made durable.
//  2. Under the key's lock the JSON file is renamed, then the object.
//  3. The directories are made durable.
func (s *Store) Put(ctx context.Context, key string, body store.Body, about store.About) (err error) {
	if err := s.ready(ctx, key); err != nil {
		return err
	}
	if err := store.CheckPut(key, body); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("dirstore: writing %q: %w", key, explain(err))
		}
	}()
	r := store.NewReader(ctx, body)
	object, modified, err := s.writeTemp(ctx, func(w io.Writer) error {
		_, err := store.Copy(w, r)
		return err
	})
	if err != nil {
		return err
	}
	defer s.root.Remove(object) // which fails if it was renamed
	car, err := json.Marshal(sidecar{
		about.ContentType, about.ContentEncoding, about.Metadata(), body.Size(), body.CRC32C(), modified,
	})
	if err != nil {
		return err
	}
	beside, _, err := s.writeTemp(ctx, func(w io.Writer) error {
		_, err := w.Write(car)
		return err
	})
	if err != nil {
		return err
	}
	defer s.root.Remove(beside)
	if err := s.replace(key, object, beside); err != nil {
		return err
	}
	return s.syncFolders(path.Dir(key))
}

// writeTemp writes a temporary file, makes it durable, and returns its path and time. If it fails,
// it removes the file.
func (s *Store) writeTemp(ctx context.Context, write func(io.Writer) error) (name string, modified time.Time, err error) {
	temp := path.Join(s.temp, rand.Text())
	var f *os.File
	err = s.do("create", func() error {
		f, err = s.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		return err
	})
	if err != nil {
		return "", time.Time{}, err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
		if err != nil {
			s.root.Remove(temp)
		}
	}()
	if err := write(&file{ctx, s, f}); err != nil {
		return "", time.Time{}, err
	}
	if err := s.do("sync", f.Sync); err != nil {
		return "", time.Time{}, err
	}
	info, err := f.Stat()
	if err != nil {
		return "", time.Time{}, err
	}
	return temp, info.ModTime(), ctx.Err()
}

// file writes as long as its context is alive.
type file struct {
	ctx context.Context
	s   *Store
	f   *os.File
}

func (f *file) Write(p []byte) (n int, err error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	err = f.s.do("write", func() error {
		n, err = f.f.Write(p)
		return err
	})
	return n, err
}

// do makes a call of the operating system, if the test does not let it fail.
func (s *Store) do(name string, call func() error) error {
	if err := s.step(name); err != nil {
		return err
	}
	return call()
}

// replace renames the two temporary files into their places. Another process may delete the
// directory between making it and the rename, so it tries again.
func (s *Store) replace(key, object, beside string) error {
	lock := s.lock(key)
	lock.Lock()
	defer lock.Unlock()
	s.folders.RLock()
	defer s.folders.RUnlock()
	const tries = 5
	for try := 1; ; try++ {
		err := s.rename(key, object, beside)
		if err == nil || try == tries || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

func (s *Store) rename(key, object, beside string) error {
	if err := s.do("mkdir", func() error { return s.root.MkdirAll(path.Dir(key), 0o777) }); err != nil {
		return err
	}
	// A directory in the object's place must be noticed before its JSON file is there.
	if info, err := s.root.Lstat(key); err == nil && info.IsDir() {
		return store.Permanent(fmt.Errorf("%q is a directory: a key cannot be a folder of another key here", key))
	}
	old, err := s.root.ReadFile(aboutName(key))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.do("rename", func() error { return s.root.Rename(beside, aboutName(key)) }); err != nil {
		return err
	}
	err = s.do("rename object", func() error { return s.root.Rename(object, key) })
	if err != nil {
		// The old object, if there is one, keeps its About. Otherwise the JSON file goes back to
		// its temporary name.
		err = errors.Join(err, s.root.Rename(aboutName(key), beside))
		if old != nil {
			err = errors.Join(err, s.root.WriteFile(aboutName(key), old, 0o666))
		}
	}
	return err
}

// syncFolders makes the entries of all directories from dir up to the root durable. Even those that
// existed before this Put: another Put may have made them and not yet synced their parents.
func (s *Store) syncFolders(dir string) error {
	for ; ; dir = path.Dir(dir) {
		err := s.do("sync folder", func() error { return syncFolder(s.root, dir) })
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // Delete may have removed it already
			return err
		}
		if dir == "." {
			return nil
		}
	}
}
