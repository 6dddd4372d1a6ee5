// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
)

// Body makes the body of a request with so many orders. Bodies of different numbers differ.
func Body(number, lines int) []byte {
	var b bytes.Buffer
	for i := range lines {
		n := (number+1)*(i+1)*7919%1_000_003 + i
		fmt.Fprintf(&b, "customer-%d,item-%d,%d\n", n%(lines/2+1), n%977, n%10_000)
	}
	return b.Bytes()
}

// A Client calls a handler without a network, so that the cost is the handler's. It is an
// http.ResponseWriter, and serves one goroutine.
type Client struct {
	handler http.Handler
	request *http.Request
	body    bytes.Reader

	header http.Header
	status int
	sum    uint32
}

// NewClient makes a client of a handler.
func NewClient(h http.Handler) (*Client, error) {
	c := &Client{handler: h, header: http.Header{}}
	var err error
	c.request, err = http.NewRequest("POST", "http://localhost/orders", io.NopCloser(&c.body))
	return c, err
}

// Post sends a body and returns the checksum of the answer.
func (c *Client) Post(body []byte) (sum uint32, err error) {
	c.body.Reset(body)
	c.status, c.sum = http.StatusOK, 0
	c.handler.ServeHTTP(c, c.request)
	if c.status != http.StatusOK {
		return 0, fmt.Errorf("orders: the handler answered %d %s", c.status, http.StatusText(c.status))
	}
	return c.sum, nil
}

// Header implements http.ResponseWriter.
func (c *Client) Header() http.Header { return c.header }

// WriteHeader implements http.ResponseWriter.
func (c *Client) WriteHeader(status int) { c.status = status }

// Write implements http.ResponseWriter.
func (c *Client) Write(b []byte) (int, error) {
	c.sum = crc32.Update(c.sum, crc32.IEEETable, b)
	return len(b), nil
}
