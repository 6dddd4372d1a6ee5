package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Limits on what a server may answer, beyond the window that is asked for.
const (
	answerTime = 30 * time.Second
	answerSize = 256 << 20 // bytes
)

// baseOf is the part of an address before /debug.
func baseOf(address string) (*url.URL, error) {
	base, err := url.Parse(address)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("%q is no address; write it like http://localhost:6060", shown(address))
	}
	path, _, _ := strings.Cut(base.Path, "/debug/")
	base.Path, base.RawQuery, base.Fragment = strings.TrimSuffix(path, "/"), "", ""
	return base, nil
}

// shown is an address as it may be told: without the password.
func shown(address string) string {
	if u, err := url.Parse(address); err == nil {
		if u.User == nil {
			return address
		}
		return u.Redacted()
	}
	if scheme, rest, ok := strings.Cut(address, "://"); ok {
		if i := strings.LastIndex(rest, "@"); i >= 0 { // what a name and a password with signs that no address may have end with
			return scheme + "://xxxxx" + rest[i:]
		}
	}
	return address
}

// sameServer says whether two bases lead to one server, whoever asks.
func sameServer(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && a.Host == b.Host && a.Path == b.Path
}

// get asks the server for a path below its base, and waits for the answer as long as the window takes, and some.
func (s *server) get(ctx context.Context, path string, window time.Duration) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, window+answerTime)
	defer cancel()
	request, err := http.NewRequestWithContext(limited, http.MethodGet, s.base.String()+path, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, s.unreachable(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, answerSize+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s%s: the answer broke off: %w", s.name, path, err)
	case response.StatusCode != http.StatusOK:
		return nil, s.refused(path, response.StatusCode, data)
	case len(data) > answerSize:
		return nil, fmt.Errorf("%s%s: the answer is larger than %d MiB", s.name, path, answerSize>>20)
	}
	return data, nil
}

// unreachable says why there was no answer.
func (s *server) unreachable(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%s: nobody listens there; is the program running, and is this its address for net/http/pprof?", s.name)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: no answer in time; is a proxy with a shorter timeout in between, or the program too busy?", s.name)
	}
	return fmt.Errorf("%s: cannot be reached: %w", s.name, err)
}

// refused says what an answer other than 200 means.
func (s *server) refused(path string, status int, body []byte) error {
	path, _, _ = strings.Cut(path, "?")
	switch status {
	case http.StatusNotFound:
		what := "import net/http/pprof in the program"
		if path == "/debug/vars" {
			what = "import expvar in the program, or leave out -per"
		}
		return fmt.Errorf("%s: serves no %s (404); %s", s.name, path, what)
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%s: %s may not be read (%d); put a name and password into the address, or ask for permission", s.name, path, status)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
	if len(first) > 200 {
		first = first[:200]
	}
	return fmt.Errorf("%s: %s answers with status %d: %s", s.name, path, status, first)
}

// Lines at the end of the heap profile's text form: "# PauseNs = [13000 0 0 ...]", "# MaxRSS = 1234".
var (
	pauseLine  = regexp.MustCompile(`(?m)^# PauseNs = \[([0-9 ]*)\]`)
	maxRSSLine = regexp.MustCompile(`(?m)^# MaxRSS = ([0-9]+)`)
)

// pausesOf reads the ring of pauses, in seconds.
func pausesOf(text []byte) []float64 {
	match := pauseLine.FindSubmatch(text)
	if match == nil {
		return nil
	}
	var pauses []float64
	for field := range strings.FieldsSeq(string(match[1])) {
		ns, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return nil
		}
		pauses = append(pauses, ns/1e9)
	}
	return pauses
}

// numberOf reads the number that a pattern finds, 0 if there is none.
func numberOf(text []byte, pattern *regexp.Regexp) float64 {
	match := pattern.FindSubmatch(text)
	if match == nil {
		return 0
	}
	v, err := strconv.ParseFloat(string(match[1]), 64)
	if err != nil {
		return 0
	}
	return v
}
