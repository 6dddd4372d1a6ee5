// SPDX-License-Identifier: Apache-2.0

package gcsstore

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"sync"

	"google.golang.org/api/googleapi"
	storage "google.golang.org/api/storage/v1"

	"github.com/freehold-go/freehold/sink/store"
)

// putWhole sends the body in one request of known length: a multipart body of the object's metadata
// and its content. Google's client would send it from a pipe, so that the transport would neither
// know its length nor could repeat it. It returns what the server says that it has stored, and the
// body's own error apart from the upload's.
func (s *Store) putWhole(ctx context.Context, object *storage.Object, body store.Body) (stored *storage.Object, bodyErr, err error) {
	head, tail, contentType, err := around(object)
	if err != nil {
		return nil, nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, googleapi.ResolveRelative(s.service.BasePath, "/upload/storage/v1/b/{bucket}/o"), nil)
	if err != nil {
		return nil, nil, err
	}
	googleapi.Expand(r.URL, map[string]string{"bucket": s.o.Bucket})
	q := url.Values{"uploadType": {"multipart"}, "alt": {"json"}, "prettyPrint": {"false"}}
	if s.o.UserProject != "" {
		q.Set("userProject", s.o.UserProject)
	}
	r.URL.RawQuery = q.Encode()
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("User-Agent", userAgent)
	sent := &whole{ctx: ctx, body: body}
	r.ContentLength = int64(len(head)+len(tail)) + body.Size()
	r.GetBody = func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(bytes.NewReader(head), sent.reader(), bytes.NewReader(tail))), nil
	}
	r.Body, _ = r.GetBody() // It has no error.
	stored = &storage.Object{}
	answer, err := s.client.Do(r)
	if err == nil {
		if err = googleapi.CheckResponse(answer); err == nil {
			// An answer that cannot be read confirms nothing. Then the store asks.
			json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(stored)
		}
		io.Copy(io.Discard, answer.Body) // so that the connection can be used again
		answer.Body.Close()
	}
	return stored, sent.end(), err
}

// around is what stands before the content and after it.
func around(object *storage.Object) (head, tail []byte, contentType string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, err := w.CreatePart(textproto.MIMEHeader{"Content-Type": {"application/json"}})
	if err != nil {
		return nil, nil, "", err
	}
	if err := json.NewEncoder(part).Encode(object); err != nil {
		return nil, nil, "", err
	}
	content := textproto.MIMEHeader{}
	if object.ContentType != "" {
		content.Set("Content-Type", object.ContentType)
	}
	if _, err := w.CreatePart(content); err != nil {
		return nil, nil, "", err
	}
	end := b.Len()
	if err := w.Close(); err != nil {
		return nil, nil, "", err
	}
	return b.Bytes()[:end], b.Bytes()[end:], "multipart/related; boundary=" + w.Boundary(), nil
}

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
