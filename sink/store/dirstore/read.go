// SPDX-License-Identifier: Apache-2.0

package dirstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/sink/store"
)

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, store.Info, error) {
	if err := s.ready(ctx, key); err != nil {
		return nil, store.Info{}, err
	}
	f, info, err := s.open(key)
	if err != nil {
		return nil, store.Info{}, fmt.Errorf("dirstore: reading %q: %w", key, err)
	}
	return store.Verified(&object{f, ctx}, info), info, nil
}

// object is a file that can be read as long as its context is alive.
type object struct {
	*os.File
	ctx context.Context
}

func (o *object) Read(p []byte) (int, error) {
	if err := o.ctx.Err(); err != nil {
		return 0, err
	}
	return o.File.Read(p)
}

// open opens an object and reads what is known of it, under the key's lock so that both belong
// together.
func (s *Store) open(key string) (*os.File, store.Info, error) {
	lock := s.lock(key)
	lock.RLock()
	defer lock.RUnlock()
	f, err := s.root.Open(key)
	if isAbsent(err) {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, store.Info{}, explain(err)
	}
	stat, err := f.Stat()
	switch {
	case err == nil && !stat.Mode().IsRegular():
		err = store.ErrNotFound
	case err == nil:
		var info store.Info
		if info, err = s.describe(key, f, stat); err == nil {
			return f, info, nil
		}
	}
	f.Close()
	return nil, store.Info{}, err
}

// describe reads the JSON file of an object, and believes it if it belongs to the object.
func (s *Store) describe(key string, f *os.File, stat fs.FileInfo) (store.Info, error) {
	info := store.Info{Key: key, Size: stat.Size()}
	text, err := s.root.ReadFile(aboutName(key))
	if errors.Is(err, fs.ErrNotExist) {
		return info, nil
	}
	if err != nil {
		return info, explain(err)
	}
	var car sidecar
	if json.Unmarshal(text, &car) != nil || car.Size != stat.Size() {
		return info, nil
	}
	if !car.Modified.Equal(stat.ModTime()) {
		if crc, err := store.Checksum(f, stat.Size()); err != nil || crc != car.CRC32C {
			return info, err
		}
	}
	info.CRC32C, info.HasCRC = car.CRC32C, true
	info.About, info.HasAbout = store.ParseMetadata(car.Metadata)
	if info.HasAbout {
		info.About.ContentType, info.About.ContentEncoding = car.ContentType, car.ContentEncoding
	}
	return info, nil
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		if err := s.walk(ctx, ".", prefix, func(info store.Info) bool { return yield(info, nil) }); err != nil && err != errStopped {
			yield(store.Info{}, fmt.Errorf("dirstore: listing %q: %w", prefix, err))
		}
	}
}

var errStopped = errors.New("the caller stopped")

// walk visits the objects below a directory whose keys begin with prefix, in the order of keys. A
// directory stands where its name with a slash stands, so that "a-b" comes before "a/b".
func (s *Store) walk(ctx context.Context, dir, prefix string, visit func(store.Info) bool) error {
	entries, err := s.entries(dir)
	if err != nil {
		return err
	}
	for _, name := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		key := path.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			if folder := key + "/"; strings.HasPrefix(folder, prefix) || strings.HasPrefix(prefix, folder) {
				if err := s.walk(ctx, key, prefix, visit); err != nil {
					return err
				}
			}
			continue
		}
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		f, info, err := s.open(key)
		if errors.Is(err, store.ErrNotFound) {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return fmt.Errorf("%q: %w", key, err)
		}
		f.Close()
		if !visit(info) {
			return errStopped
		}
	}
	return nil
}

// entries are the names in a directory that may belong to keys, in order, those of directories with
// a slash.
func (s *Store) entries(dir string) ([]string, error) {
	f, err := s.root.Open(dir)
	if isAbsent(err) {
		return nil, nil // it was deleted meanwhile
	}
	if err != nil {
		return nil, explain(err)
	}
	defer f.Close()
	list, err := f.ReadDir(-1)
	if err != nil {
		return nil, explain(err)
	}
	var names []string
	for _, e := range list {
		switch {
		case strings.HasPrefix(e.Name(), reserved):
		case e.IsDir():
			names = append(names, e.Name()+"/")
		default:
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}
