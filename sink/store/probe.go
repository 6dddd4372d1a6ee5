// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"time"
)

// cleanup is how long deleting may take after the caller's context is done.
const cleanup = 10 * time.Second

// Probe is a Check for any store: it puts a small object under a key of its own, reads it, lists it
// and deletes it. The error says which of the steps failed. The object is deleted even if ctx is
// done meanwhile.
func Probe(ctx context.Context, s Store) (err error) {
	key := "freehold-check-" + rand.Text()
	content := []byte("freehold-sink checks that it can write here")
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
		defer cancel()
		if e := s.Delete(ctx, key); e != nil && err == nil {
			err = fmt.Errorf("store: %v: deleting %q, which Check has written: %w", s, key, e)
		}
	}()
	about := About{ContentType: "text/plain", Topic: "freehold-check"}
	if err := s.Put(ctx, key, Bytes(content), about); err != nil {
		return fmt.Errorf("store: %v: writing an object: %w", s, err)
	}
	if err := readBack(ctx, s, key, content, about); err != nil {
		return fmt.Errorf("store: %v: reading the object that was written: %w", s, err)
	}
	for info, err := range s.List(ctx, key) {
		if err != nil {
			return fmt.Errorf("store: %v: listing: %w", s, err)
		}
		if info.Key == key {
			return nil
		}
	}
	return fmt.Errorf("store: %v: the listing lacks the object that was written", s)
}

func readBack(ctx context.Context, s Store, key string, want []byte, about About) error {
	r, info, err := s.Get(ctx, key)
	if err != nil {
		return err
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	switch {
	case err != nil:
		return err
	case !bytes.Equal(got, want):
		return fmt.Errorf("%d bytes came back, not the %d that were written", len(got), len(want))
	case info.About != about:
		return fmt.Errorf("its metadata came back as %+v, not as %+v", info.About, about)
	}
	return nil
}
