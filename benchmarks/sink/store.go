package main

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// serveStore is the store, a process of its own: as much of the JSON API of Google Cloud Storage as it takes to upload an object in one request. It
// streams objects to files of a directory, so that it costs little. It ends when its standard input does.
func serveStore(root string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := upload(w, r, root); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// upload answers a request. The object appears by a rename.
func upload(w http.ResponseWriter, r *http.Request, root string) error {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || r.Method != http.MethodPost || kind != "multipart/related" || !strings.Contains(r.URL.Path, "/upload/") {
		return fmt.Errorf("%s %s: only uploads in one request are served", r.Method, r.URL)
	}
	parts := multipart.NewReader(r.Body, params["boundary"])
	head, err := parts.NextRawPart()
	if err != nil {
		return err
	}
	var about struct{ Name string }
	if err := json.NewDecoder(head).Decode(&about); err != nil {
		return err
	}
	if about.Name == "" {
		about.Name = r.URL.Query().Get("name")
	}
	body, err := parts.NextRawPart()
	if err != nil {
		return err
	}
	name := filepath.Join(root, filepath.FromSlash(about.Name))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".part")
	if err != nil {
		return err
	}
	sum := crc32.New(castagnoli)
	n, err := io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(f, sum)}, struct{ io.Reader }{body}, make([]byte, 256<<10))
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	w.Header().Set("X-Goog-Stored-Content-Length", strconv.FormatInt(n, 10))
	return json.NewEncoder(w).Encode(map[string]string{"kind": "storage#object", "name": about.Name, "size": strconv.FormatInt(n, 10),
		"crc32c": base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum.Sum32())), "generation": "1", "metageneration": "1"})
}
