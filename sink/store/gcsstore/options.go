// SPDX-License-Identifier: Apache-2.0

package gcsstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"cloud.google.com/go/auth/credentials"
	"cloud.google.com/go/auth/httptransport"
	"google.golang.org/api/option"
	storage "google.golang.org/api/storage/v1"
)

// Options say where a bucket is. Bucket must be given; the zero values of the other fields are good
// for Google's servers.
type Options struct {
	// Bucket is the bucket's name.
	Bucket string

	// Prefix is a path that all keys begin with, such as "kafka/orders". Empty is the bucket's
	// root.
	Prefix string

	// Endpoint is the address of another server that speaks the JSON API, "https://host:port" or
	// "http://host:port". Empty is Google's.
	Endpoint string

	// CredentialsFile is the JSON file of a service account's key. It is read once, by Open. Empty
	// takes the credentials from elsewhere; see the package's comment.
	CredentialsFile string

	// Anonymous makes requests without credentials, for public buckets and for servers in tests.
	Anonymous bool

	// UserProject is the project that pays for requests to a bucket whose requester pays. Empty is
	// the bucket's owner.
	UserProject string

	// Whole is the size of the largest body that is sent in one request. If the connection breaks,
	// all of it is sent again. Zero is 32 MiB.
	Whole int64

	// ChunkSize is the size of a chunk of a larger body, and of the buffer that its upload has. The
	// client rounds it up to a multiple of 256 KiB. From 256 KiB to 16 MiB; zero is 2 MiB.
	ChunkSize int

	host    string
	wrapper func(http.RoundTripper) http.RoundTripper // of tests
}

// complete checks the options and fills in defaults. Its error joins all that is wrong.
func (o *Options) complete() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("gcsstore: "+format, args...)) }
	if n := len(o.Bucket); n < 3 || n > 222 || strings.ContainsAny(o.Bucket, "/ ") {
		bad("bucket %q: a name has 3 to 222 lower-case letters, digits, dots, dashes and underscores", o.Bucket)
	}
	if o.Anonymous && o.CredentialsFile != "" {
		bad("Anonymous needs no CredentialsFile")
	}
	if o.Whole == 0 {
		o.Whole = 32 << 20
	}
	if o.Whole < 0 {
		bad("Whole is %d", o.Whole)
	}
	if o.ChunkSize == 0 {
		o.ChunkSize = 2 << 20
	}
	if o.ChunkSize < 256<<10 || o.ChunkSize > 16<<20 {
		bad("ChunkSize is %d, must be from 256 KiB to 16 MiB", o.ChunkSize)
	}
	if o.Endpoint != "" {
		// The endpoint is not shown: someone may have written a password into it.
		u, err := url.Parse(o.Endpoint)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			bad("Endpoint is not of the form https://host:port")
		case u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
			bad("Endpoint has more than scheme, host and port; credentials come from a file or the environment")
		default:
			o.Endpoint, o.host = u.Scheme+"://"+u.Host, u.Host
		}
	}
	return errors.Join(errs...)
}

// connect makes the client for requests of ours and the service for those of Google's client, which
// uses the same.
func (o *Options) connect(ctx context.Context) (*http.Client, *storage.Service, error) {
	endpoint := o.Endpoint
	if endpoint == "" {
		if endpoint = os.Getenv(emulator); endpoint != "" && !strings.Contains(endpoint, "://") {
			endpoint = "http://" + endpoint
		}
	}
	client, err := o.authorized()
	if err != nil {
		return nil, nil, err
	}
	opts := []option.ClientOption{option.WithHTTPClient(client)}
	if endpoint != "" {
		opts = append(opts, option.WithEndpoint(strings.TrimSuffix(endpoint, "/")+"/storage/v1/"))
	}
	service, err := storage.NewService(ctx, opts...)
	if err != nil {
		return nil, nil, fmt.Errorf("gcsstore: %w", err)
	}
	service.UserAgent = userAgent
	return client, service, nil
}

const (
	emulator  = "STORAGE_EMULATOR_HOST"
	userAgent = "freehold-sink"
)

// authorized is an HTTP client with the credentials.
func (o *Options) authorized() (*http.Client, error) {
	t := &httptransport.Options{DetectOpts: &credentials.DetectOptions{Scopes: []string{storage.DevstorageFullControlScope, storage.CloudPlatformScope}}}
	switch {
	case o.Anonymous || os.Getenv(emulator) != "":
		t.DisableAuthentication = true
	case o.CredentialsFile != "":
		found, err := credentials.NewCredentialsFromFile(credentials.ServiceAccount, o.CredentialsFile, t.DetectOpts)
		if err != nil {
			return nil, fmt.Errorf("gcsstore: CredentialsFile: %w", err)
		}
		t.Credentials = found
	}
	client, err := httptransport.NewClient(t)
	if err != nil {
		return nil, fmt.Errorf("gcsstore: %w", err)
	}
	if o.wrapper != nil {
		client.Transport = o.wrapper(client.Transport)
	}
	return client, nil
}
