// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/freehold-go/freehold/cmd/debugport"
	"github.com/freehold-go/freehold/cmd/evidence"
)

// A counterPort is where the counter of Options.Per is read of a running program.
type counterPort struct {
	server *debugport.Server
	path   string
}

// splitPer divides the name of a counter with its address, "http://host:9090/metrics#requests_total".
// The address is "" if the counter is where the profiles are.
func splitPer(counter string) (address, name string, err error) {
	if !strings.Contains(counter, "://") {
		return "", counter, nil
	}
	address, name, _ = strings.Cut(counter, "#")
	if u, err := url.Parse(address); err != nil || u.Host == "" || name == "" {
		return "", "", fmt.Errorf("doctor: -per: %q is no address of a counter; write it like http://localhost:9090/metrics#http_requests_total", debugport.Redacted(counter))
	}
	return address, name, nil
}

// findCounter finds where the program serves the counter that counts operations, nil if none is
// asked for.
func (c *collector) findCounter(ctx context.Context, server *debugport.Server) (*counterPort, error) {
	if c.Per.Counter == "" {
		return nil, nil
	}
	port := &counterPort{server: server}
	paths := debugport.Counters
	if c.perAddress != "" {
		u, _ := url.Parse(c.perAddress)
		path := u.EscapedPath()
		if u.RawQuery != "" {
			path += "?" + u.RawQuery
		}
		u.Path, u.RawPath, u.RawQuery = "", "", ""
		options := c.Server
		if !strings.HasPrefix(server.URL(), u.String()) {
			options.Headers = nil // they may be secrets of the other port
		}
		var err error
		if port.server, err = debugport.ParseWith(u.String(), options); err != nil {
			return nil, fmt.Errorf("doctor: -per: %w", err)
		}
		if path != "" && path != "/" {
			paths = []string{path}
		}
	}
	var err error
	port.path, err = port.server.FirstOf(ctx, paths, func(answer []byte) error {
		_, err := evidence.Counter(answer, c.ev.Per.Counter)
		return err
	})
	switch {
	case isMissing(err) && c.perAddress == "":
		return nil, fmt.Errorf("doctor: -per: %w; for a counter of another port write http://HOST:PORT/metrics#%s", err, c.ev.Per.Counter)
	case err != nil:
		return nil, fmt.Errorf("doctor: -per: %w", err)
	}
	return port, nil
}

// count reads the counter, and notes it for one end of the window.
func (c *collector) count(ctx context.Context, port *counterPort, end int) error {
	if port == nil {
		return nil
	}
	data, err := port.server.Get(ctx, port.path, 0)
	if err != nil {
		return fmt.Errorf("doctor: -per: %w", err)
	}
	at := time.Now()
	e := &evidence.Evidence{Per: c.ev.Per}
	if err := e.ReadBytes(port.server.String()+port.path, data); err != nil {
		// The answer may have the counter alone, as a service's own JSON does.
		v, err := evidence.Counter(data, c.ev.Per.Counter)
		if err != nil {
			return fmt.Errorf("doctor: -per: %s%s: %w", port.server, port.path, err)
		}
		e.Metrics[1].SetReading(c.ev.Per.Counter, v)
	}
	reading := e.Metrics[1].Readings()
	reading.SetReadAt(float64(at.UnixNano()) / 1e9)
	c.readings[end] = reading
	return nil
}

// addReadings adds the readings of the counter to the metrics.
func (c *collector) addReadings() {
	for i, reading := range c.readings {
		for name, v := range reading.Values {
			c.ev.Metrics[i].Set(name, v)
		}
	}
}

// isMissing reports whether the program does not serve the path.
func isMissing(err error) bool { return debugport.Status(err) == http.StatusNotFound }
