// SPDX-License-Identifier: Apache-2.0

package gcsstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"

	"github.com/freehold-go/freehold/sink/store"
)

// The client streams the content of an object through a pipe, so it sends a request of unknown
// length that the transport cannot repeat. For a body in one request this store writes nothing to
// the client. The client then makes a request with the object's metadata and an empty content:
//
//	--boundary metadata --boundary (empty) --boundary--
//
// and its transport inserts the body in front of the last boundary.

// transport inserts the bodies of uploads into requests that have one in their context.
type transport struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	w, ok := r.Context().Value(wholeKey{}).(*whole)
	if !ok {
		return t.base.RoundTrip(r)
	}
	empty, err := io.ReadAll(r.Body)
	r.Body.Close() // It has been read.
	if err != nil {
		return nil, err
	}
	head, tail, err := split(empty, r.Header.Get("Content-Type"))
	if err != nil {
		return nil, err
	}
	full := r.Clone(r.Context())
	full.ContentLength = int64(len(empty)) + w.body.Size()
	full.GetBody = func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(bytes.NewReader(head), w.reader(), bytes.NewReader(tail))), nil
	}
	full.Body, _ = full.GetBody() // It has no error.
	return t.base.RoundTrip(full)
}

// split divides a multipart body in front of its last boundary.
func split(body []byte, contentType string) (head, tail []byte, err error) {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, nil, fmt.Errorf("the client's Content-Type %q: %w", contentType, err)
	}
	last := []byte("\r\n--" + params["boundary"] + "--")
	at := bytes.LastIndex(body, last)
	if at < 0 {
		return nil, nil, errors.New("the client's request has no last boundary")
	}
	return body[:at], body[at:], nil
}

// wholeKey is the key of a *whole in a context.
type wholeKey struct{}

// whole is a body that is sent in one request.
type whole struct {
	ctx     context.Context
	body    store.Body
	mu      sync.Mutex
	readers []*store.Reader // one for each time that the transport has sent the request
	ended   bool
}

func (w *whole) reader() *store.Reader {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := store.NewReader(w.ctx, w.body)
	if w.ended {
		r.Close()
	}
	w.readers = append(w.readers, r)
	return r
}

// end makes all later reads of the body fail. It returns the first error of the body's.
func (w *whole) end() (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	for _, r := range w.readers {
		r.Close()
		if err == nil {
			err = r.Err()
		}
	}
	return err
}
