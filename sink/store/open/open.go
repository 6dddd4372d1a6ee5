// SPDX-License-Identifier: Apache-2.0

// Package open opens the store that a URL names.
//
//	dir:///var/lib/sink                a directory, by an absolute path
//	dir:archive                        a directory, from the working directory
//	s3://bucket/prefix                 a bucket of S3
//	s3://bucket/prefix?endpoint=http://127.0.0.1:9000&region=us-east-1&path-style=true
//	gs://bucket/prefix                 a bucket of Google Cloud Storage
//	gs://bucket?endpoint=http://127.0.0.1:4443&anonymous=true
//	mem://                             memory, for tests and trials
//
// A URL holds no secrets, so that it may be logged: user and password are refused, and so are
// parameters that are not named here. Keys come from files that Options names, or from the
// environment. Which parameters a scheme has, say [S3Parameters] and [GCSParameters]. Each sets the
// field of the scheme's options that has its name, and goes before it.
package open

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/freehold-go/freehold/sink/store"
	"github.com/freehold-go/freehold/sink/store/dirstore"
	"github.com/freehold-go/freehold/sink/store/gcsstore"
	"github.com/freehold-go/freehold/sink/store/memstore"
	"github.com/freehold-go/freehold/sink/store/s3store"
)

// Parameters of the URLs of buckets.
var (
	S3Parameters  = []string{"anonymous", "endpoint", "path-style", "profile", "region"}
	GCSParameters = []string{"anonymous", "endpoint", "user-project"}
)

// Options are what a URL does not say.
type Options struct {
	// S3 are the options of s3 URLs. Bucket and Prefix come from the URL.
	S3 s3store.Options

	// GCS are the options of gs URLs. Bucket and Prefix come from the URL.
	GCS gcsstore.Options

	// Schemes opens the URLs of further schemes, and goes before the schemes above: stores that
	// were written elsewhere.
	Schemes map[string]func(context.Context, *url.URL) (store.Store, error)
}

// Open opens a store. The caller wraps it by store.Retry if it should retry.
func Open(ctx context.Context, address string, o Options) (store.Store, error) {
	open, err := parse(address, o)
	if err != nil {
		return nil, err
	}
	return open(ctx)
}

// Check returns an error if an address is wrong. It opens nothing and makes no request, so
// names of buckets and files of credentials are left to Open.
func Check(address string, o Options) error {
	_, err := parse(address, o)
	return err
}

// opener opens the store of an address that was checked.
type opener func(context.Context) (store.Store, error)

func parse(address string, o Options) (opener, error) {
	u, err := url.Parse(address)
	if err != nil {
		// The error of net/url repeats the address, which may have a password in a wrong place.
		return nil, errors.New("store: the address of the store is not a URL")
	}
	if u.User != nil {
		return nil, errors.New("store: the address of the store holds a user; keys come from files or the environment")
	}
	if other := o.Schemes[u.Scheme]; other != nil {
		return func(ctx context.Context) (store.Store, error) { return other(ctx, u) }, nil
	}
	switch u.Scheme {
	case "dir":
		return parseDir(u)
	case "s3":
		return parseS3(u, o.S3)
	case "gs":
		return parseGCS(u, o.GCS)
	case "mem":
		return func(context.Context) (store.Store, error) { return memstore.New(), nil }, errors.Join(onlyParameters(u, nil), noPath(u))
	case "":
		return nil, fmt.Errorf("store: the address %q has no scheme; a directory is dir:///path", u.Path)
	}
	return nil, fmt.Errorf("store: the scheme %q is not known; there are dir, s3, gs and mem", u.Scheme)
}

func noPath(u *url.URL) error {
	if u.Host != "" || strings.Trim(u.Path, "/") != "" || u.Opaque != "" {
		return fmt.Errorf("store: %s:// has no path", u.Scheme)
	}
	return nil
}

// parseDir takes dir:///absolute and dir:relative. dir://relative is refused: its first name would
// be a host.
func parseDir(u *url.URL) (opener, error) {
	if err := onlyParameters(u, nil); err != nil {
		return nil, err
	}
	dir := u.Path
	if u.Opaque != "" {
		relative, err := url.PathUnescape(u.Opaque)
		if err != nil {
			return nil, fmt.Errorf("store: the path in %q is not escaped rightly", u.Opaque)
		}
		dir = relative
	}
	if u.Host != "" {
		return nil, fmt.Errorf("store: dir://%s%s names the host %q; an absolute path is dir:///path, a relative one dir:path", u.Host, u.Path, u.Host)
	}
	if dir == "" {
		return nil, errors.New("store: dir: has no path")
	}
	return func(context.Context) (store.Store, error) {
		return orNil(dirstore.Open(filepath.FromSlash(path.Clean(dir))))
	}, nil
}

func parseS3(u *url.URL, o s3store.Options) (opener, error) {
	o.Bucket, o.Prefix = u.Host, u.Path
	q := u.Query()
	anonymous, err1 := flag(q, "anonymous", o.Anonymous)
	pathStyle, err2 := flag(q, "path-style", o.PathStyle)
	if err := errors.Join(onlyParameters(u, S3Parameters), err1, err2); err != nil {
		return nil, err
	}
	o.Anonymous, o.PathStyle = anonymous, pathStyle
	set(q, "endpoint", &o.Endpoint)
	set(q, "region", &o.Region)
	set(q, "profile", &o.Profile)
	return func(context.Context) (store.Store, error) { return orNil(s3store.Open(o)) }, nil
}

func parseGCS(u *url.URL, o gcsstore.Options) (opener, error) {
	o.Bucket, o.Prefix = u.Host, u.Path
	q := u.Query()
	anonymous, err := flag(q, "anonymous", o.Anonymous)
	if err := errors.Join(onlyParameters(u, GCSParameters), err); err != nil {
		return nil, err
	}
	o.Anonymous = anonymous
	set(q, "endpoint", &o.Endpoint)
	set(q, "user-project", &o.UserProject)
	return func(ctx context.Context) (store.Store, error) { return orNil(gcsstore.Open(ctx, o)) }, nil
}

// orNil keeps a nil pointer from becoming a store that is not nil.
func orNil[S store.Store](s S, err error) (store.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// onlyParameters refuses parameters that are not known. Its error does not show their values.
func onlyParameters(u *url.URL, known []string) error {
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("store: the parameters of the store's address are not escaped rightly")
	}
	if u.Fragment != "" {
		return errors.New("store: the store's address has a fragment; write # as %23")
	}
	for name, values := range q {
		if !slices.Contains(known, name) {
			return fmt.Errorf("store: %s:// has no parameter %q; there are %q", u.Scheme, name, known)
		}
		if len(values) > 1 {
			return fmt.Errorf("store: the parameter %q is there %d times", name, len(values))
		}
	}
	return nil
}

func set(q url.Values, name string, field *string) {
	if q.Has(name) {
		*field = q.Get(name)
	}
}

func flag(q url.Values, name string, otherwise bool) (bool, error) {
	if !q.Has(name) {
		return otherwise, nil
	}
	v, err := strconv.ParseBool(q.Get(name))
	if err != nil {
		return false, fmt.Errorf("store: the parameter %q must be true or false", name)
	}
	return v, nil
}
