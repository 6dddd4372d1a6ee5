// SPDX-License-Identifier: Apache-2.0

package open_test

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/sink/store"
	"github.com/freehold-go/freehold/sink/store/memstore"
	"github.com/freehold-go/freehold/sink/store/open"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	slashed := filepath.ToSlash(dir)
	for address, want := range map[string]string{
		"dir://" + slashed + "/a":                                           "dir://" + slashed + "/a",
		"dir://" + slashed + "/with%20space":                                "dir://" + slashed + "/with space",
		"dir:relative/b":                                                    "dir://" + slashed + "/relative/b",
		"s3://bucket/kafka/orders?region=eu-north-1":                        "s3://bucket/kafka/orders at s3.amazonaws.com",
		"s3://bucket?endpoint=http://127.0.0.1:9000&region=r&path-style=1":  "s3://bucket/ at 127.0.0.1:9000",
		"gs://bucket/kafka/?anonymous=true&endpoint=http://127.0.0.1:4443/": "gs://bucket/kafka at 127.0.0.1:4443",
		"mem://": "mem://",
	} {
		s, err := open.Open(t.Context(), address, open.Options{})
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if s.String() != want {
			t.Errorf("%s is %q, want %q", address, s, want)
		}
		if err := open.Check(address, open.Options{}); err != nil {
			t.Errorf("Check of %s: %v", address, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: Close: %v", address, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	const secret = "swordfish"
	for address, says := range map[string]string{
		"/var/lib/sink":                    "dir:///path",
		"dir://var/lib/sink":               "names the host",
		"dir://":                           "no path",
		"dir:///tmp?x=" + secret:           "no parameter",
		"ftp://host/x":                     "scheme",
		"s3://user:" + secret + "@bucket/": "holds a user",
		"s3://bucket/?secret=" + secret:    "no parameter",
		"s3://bucket/?path-style=maybe":    "true or false",
		"s3://bucket/?region=a&region=b":   "2 times",
		"s3://bucket/a#b":                  "fragment",
		"s3://bucket/a/../b":               "prefix",
		"s3:///prefix":                     "bucket",
		"gs://":                            "bucket",
		"gs://bucket?endpoint=http://u:" + secret + "@h": "more than scheme",
		"mem://x":                     "no path",
		"s3://bucket:" + secret + "/": "not a URL",
	} {
		s, err := open.Open(t.Context(), address, open.Options{})
		if err == nil || s != nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v, %v, want %q", address, s, err, says)
		}
		if err := open.Check(address, open.Options{}); says != "bucket" && says != "prefix" && says != "more than scheme" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("Check of %s: %v, want %q", address, err, says)
		}
	}
}

func TestSchemes(t *testing.T) {
	mine := memstore.New()
	s, err := open.Open(t.Context(), "mine://host/path?any=thing", open.Options{
		Schemes: map[string]func(context.Context, *url.URL) (store.Store, error){
			"mine": func(_ context.Context, u *url.URL) (store.Store, error) {
				if u.Host != "host" || u.Path != "/path" || u.Query().Get("any") != "thing" {
					t.Errorf("%v", u)
				}
				return mine, nil
			},
		},
	})
	if err != nil || s != mine {
		t.Errorf("%v, %v", s, err)
	}
}
