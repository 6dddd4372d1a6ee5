// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/gob"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// cacheFormat is a part of every key. It changes with the kept values and with their computation.
	cacheFormat = "freehold source 3"
	// cacheBytes bounds the files of the cache together. A package of 20,000 lines takes about a
	// megabyte.
	cacheBytes = 256 << 20
	// cacheVariable names the folder of the cache, or switches it off.
	cacheVariable = "FREEHOLD_CACHE"
	// cacheEnding ends the names of the cache's files. Other files in its folder stay as they are.
	cacheEnding = ".freehold"
)

// CacheFolder is the folder in which packages that were read are kept: the one that the variable
// FREEHOLD_CACHE names, else freehold in the user's folder for caches. It is "", which keeps
// nothing, if the variable is "off" or there is no such folder.
func CacheFolder() string {
	switch dir := os.Getenv(cacheVariable); dir {
	case "":
	case "off":
		return ""
	default:
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "freehold", "source")
}

// cache keeps values in files, each under a name that says all that the value depends on, so that a
// file is never out of date. A file begins with the hash of its rest: a broken one counts as
// missing, and the next put replaces it. Files are written under another name and renamed, so that
// several processes can use one folder. A cache that cannot be read or written has no errors: it
// misses.
type cache struct {
	dir   string // "" keeps nothing
	bound int64  // bytes of all files together
	now   func() time.Time
}

// get reads a value, and notes that the file was used.
func (c *cache) get(name string, value any) bool {
	if c.dir == "" || name == "" {
		return false
	}
	file := filepath.Join(c.dir, name+cacheEnding)
	data, err := os.ReadFile(file)
	if err != nil || len(data) < sha256.Size {
		return false
	}
	sum := sha256.Sum256(data[sha256.Size:])
	if !bytes.Equal(sum[:], data[:sha256.Size]) || gob.NewDecoder(bytes.NewReader(data[sha256.Size:])).Decode(value) != nil {
		return false
	}
	now := c.now()
	_ = os.Chtimes(file, now, now) // A file whose time stays old is evicted early.
	return true
}

// put keeps a value. It evicts the files that were not used for longest if all together would be
// above the bound.
func (c *cache) put(name string, value any) {
	if c.dir == "" || name == "" {
		return
	}
	var data bytes.Buffer
	data.Write(make([]byte, sha256.Size))
	if gob.NewEncoder(&data).Encode(value) != nil || int64(data.Len()) > c.bound {
		return
	}
	sum := sha256.Sum256(data.Bytes()[sha256.Size:])
	copy(data.Bytes(), sum[:])
	if os.MkdirAll(c.dir, 0o700) != nil {
		return
	}
	c.evict(int64(data.Len()))
	c.write(filepath.Join(c.dir, name+cacheEnding), data.Bytes())
}

func (c *cache) write(file string, data []byte) {
	f, err := os.CreateTemp(c.dir, "new-*"+cacheEnding)
	if err != nil {
		return
	}
	_, err = f.Write(data)
	if err = cmp.Or(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // What stays is evicted in time.
	}
}

// evict removes files until there is room for more bytes. Files under new names that a killed
// process left count, too.
func (c *cache) evict(room int64) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	var files []os.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && strings.HasSuffix(info.Name(), cacheEnding) {
			files = append(files, info)
			room += info.Size()
		}
	}
	slices.SortFunc(files, func(f, g os.FileInfo) int { return f.ModTime().Compare(g.ModTime()) })
	for _, f := range files {
		if room <= c.bound {
			return
		}
		if os.Remove(filepath.Join(c.dir, f.Name())) == nil {
			room -= f.Size()
		}
	}
}
