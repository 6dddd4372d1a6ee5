// SPDX-License-Identifier: Apache-2.0

// Package filestore is an example of a store written outside the sink: a directory without folders,
// a file for each object, with what Put was told about it in the file's first line.
//
// It shows what an implementation of store.Store has to do, and its test how the conformance suite
// runs on it. It is simple where dirstore is not: it makes nothing durable, lists by reading each
// file, and its files are of no use to other programs.
package filestore

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/sink/store"
)

// New returns a store in a directory that exists.
func New(dir string) store.Store { return files{dir} }

type files struct{ dir string }

// object is the first line of a file.
type object struct {
	store.Info
	Metadata map[string]string // About has strings of any bytes, which JSON does not keep
}

// extension ends the names of objects. Those of files that are being written have another.
const extension = ".object"

// name is the file of a key: a hash, because a key has slashes and may be longer than a file's name.
func (s files) name(key string) string {
	return filepath.Join(s.dir, fmt.Sprintf("%x", sha256.Sum256([]byte(key)))+extension)
}

// Put writes a file of another name first, and renames it when it is whole.
func (s files) Put(ctx context.Context, key string, body store.Body, about store.About) error {
	if err := errors.Join(ctx.Err(), store.CheckPut(key, body)); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.dir, "*.new")
	if err != nil {
		return fmt.Errorf("filestore: %w", err)
	}
	err = errors.Join(s.write(ctx, f, key, body, about), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.name(key))
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("filestore: writing %q: %w", key, err)
	}
	return nil
}

func (s files) write(ctx context.Context, w io.Writer, key string, body store.Body, about store.About) error {
	head := object{store.Info{Key: key, Size: body.Size(), CRC32C: body.CRC32C(), HasCRC: true}, about.Metadata()}
	head.About.ContentType, head.About.ContentEncoding = about.ContentType, about.ContentEncoding
	line, err := json.Marshal(head)
	if err != nil {
		return err
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return err
	}
	// NewReader compares the bytes with the body's checksum. It reads in this goroutine, so it
	// needs no Close.
	if _, err := store.Copy(w, store.NewReader(ctx, body)); err != nil {
		return err
	}
	return ctx.Err()
}

// Get opens a file and reads its first line.
func (s files) Get(ctx context.Context, key string) (io.ReadCloser, store.Info, error) {
	if err := errors.Join(ctx.Err(), store.CheckKey(key)); err != nil {
		return nil, store.Info{}, err
	}
	return s.open(s.name(key))
}

func (s files) open(name string) (io.ReadCloser, store.Info, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("filestore: %s: %w", name, store.ErrNotFound)
	}
	if err != nil {
		return nil, store.Info{}, err
	}
	r := bufio.NewReader(f)
	line, err := r.ReadBytes('\n')
	var head object
	if err == nil {
		err = json.Unmarshal(bytes.TrimSpace(line), &head)
	}
	if err != nil {
		f.Close()
		return nil, store.Info{}, fmt.Errorf("filestore: %s: %w", name, err)
	}
	info := head.Info
	info.About, info.HasAbout = store.ParseMetadata(head.Metadata)
	info.About.ContentType, info.About.ContentEncoding = head.About.ContentType, head.About.ContentEncoding
	return store.Verified(content{r, f}, info), info, nil
}

// content is the rest of a file after its first line.
type content struct {
	io.Reader
	io.Closer
}

// List reads the first line of each file.
func (s files) List(ctx context.Context, prefix string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		infos, err := s.infos(ctx, prefix)
		if err != nil {
			yield(store.Info{}, err)
			return
		}
		for _, info := range infos {
			if !yield(info, nil) {
				return
			}
		}
	}
}

func (s files) infos(ctx context.Context, prefix string) (infos []store.Info, err error) {
	names, err := filepath.Glob(filepath.Join(s.dir, "*"+extension))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r, info, err := s.open(name)
		if errors.Is(err, store.ErrNotFound) {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		r.Close()
		if strings.HasPrefix(info.Key, prefix) {
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b store.Info) int { return strings.Compare(a.Key, b.Key) })
	return infos, ctx.Err()
}

// Delete removes a file.
func (s files) Delete(ctx context.Context, key string) error {
	if err := errors.Join(ctx.Err(), store.CheckKey(key)); err != nil {
		return err
	}
	if err := os.Remove(s.name(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("filestore: %w", err)
	}
	return nil
}

// Check writes, reads and deletes an object.
func (s files) Check(ctx context.Context) error { return store.Probe(ctx, s) }

// String names the directory.
func (s files) String() string { return "files in " + s.dir }

// Close has nothing to release.
func (s files) Close() error { return nil }
