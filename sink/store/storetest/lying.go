// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Lying is an http.RoundTripper before a working server. It answers uploads with a success that the
// server never gave, as faulty servers and proxies do: it reads the request, passes nothing on, and
// returns one of the answers that [Lies] lists. All other requests reach the server.
type Lying struct {
	// Server makes the requests that are passed on. Nil is http.DefaultTransport.
	Server http.RoundTripper

	mu      sync.Mutex
	lie     *Lie
	at      int // the number of the upload request that is answered by the lie, 0 for each
	uploads int // since Tell
}

// Lie is an answer with the status 200 to a request whose body was not stored.
type Lie struct {
	Name   string
	Header http.Header
	Body   string
}

// Lies returns the answers that a Lying has: those of S3 to uploads, parts and completions, those of
// Google Cloud Storage, and those of proxies that know neither.
func Lies() []Lie {
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	const otherCRC, nothing = "AAAAAQ==", "d41d8cd98f00b204e9800998ecf8427e" // the MD5 of no bytes
	completed := func(fields string) string {
		return "<CompleteMultipartUploadResult><Bucket>b</Bucket><Key>k</Key><ETag>x-2</ETag>" + fields + "</CompleteMultipartUploadResult>"
	}
	return []Lie{
		{"empty answer", nil, ""},
		{"HTML", header("Content-Type", "text/html"), "<html><body>Sign in to the network</body></html>"},
		{"error document of S3", header("Content-Type", "application/xml"), "<Error><Code>InternalError</Code><Message>try again</Message></Error>"},
		{"ETag of nothing", header("ETag", `"`+nothing+`"`), ""},
		{"ETag that is no MD5", header("ETag", `"x"`), ""},
		{"ETag and another checksum", header("ETag", `"x"`, "x-amz-checksum-crc32c", otherCRC), ""},
		{"checksum without ETag", header("x-amz-checksum-crc32c", otherCRC), ""},
		{"upload without id", nil, "<InitiateMultipartUploadResult><UploadId></UploadId></InitiateMultipartUploadResult>"},
		{"completion without checksum", nil, completed("")},
		{"completion with another checksum", nil, completed("<ChecksumCRC32C>" + otherCRC + "</ChecksumCRC32C>")},
		{"empty object of JSON", header("Content-Type", "application/json"), "{}"},
		{"null of JSON", header("Content-Type", "application/json"), "null"},
		{"error of JSON", header("Content-Type", "application/json"), `{"error":{"code":503,"message":"try again"}}`},
		{"object with another checksum", header("Content-Type", "application/json"), `{"crc32c":"` + otherCRC + `","size":"100000"}`},
		{"object without checksum", header("Content-Type", "application/json"), `{"name":"k","size":"100000"}`},
		{"object of another size", header("Content-Type", "application/json"), `{"crc32c":"` + otherCRC + `","size":"1"}`},
	}
}

// Tell has the Lying answer the upload request of a number by a lie: 1 is the next one, 0 is each.
// Nil ends the lies.
func (l *Lying) Tell(lie *Lie, at int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lie, l.at, l.uploads = lie, at, 0
}

// Uploads is the number of upload requests since Tell.
func (l *Lying) Uploads() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.uploads
}

// RoundTrip implements http.RoundTripper. Requests by PUT and POST are uploads.
func (l *Lying) RoundTrip(r *http.Request) (*http.Response, error) {
	if lie := l.next(r); lie != nil {
		if r.Body != nil {
			_, err := io.Copy(io.Discard, r.Body)
			if err = errors.Join(err, r.Body.Close()); err != nil {
				return nil, err
			}
		}
		return &http.Response{
			Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
			Header: lie.header(), Body: io.NopCloser(strings.NewReader(lie.Body)), ContentLength: int64(len(lie.Body)),
		}, nil
	}
	if l.Server == nil {
		return http.DefaultTransport.RoundTrip(r)
	}
	return l.Server.RoundTrip(r)
}

// next returns the lie for a request, or nil.
func (l *Lying) next(r *http.Request) *Lie {
	if r.Method != http.MethodPut && r.Method != http.MethodPost {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.uploads++
	if l.at != 0 && l.at != l.uploads {
		return nil
	}
	return l.lie
}

func (l *Lie) header() http.Header {
	if l.Header == nil {
		return http.Header{}
	}
	return l.Header.Clone()
}
