// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/freehold-go/freehold/sink/internal/secure"
	"github.com/freehold-go/freehold/sink/protobuf"
	"github.com/freehold-go/freehold/sink/record"
)

// RegistryOptions are the options of NewRegistry. URLs is needed.
type RegistryOptions struct {
	// URLs are the addresses of the registry's servers. An attempt goes to the next one, in turn.
	URLs []string
	// User and the password authenticate each request. The password is in PasswordFile, or in the variable of the environment PasswordEnv. The
	// file is read for each request, so the password can change.
	User, PasswordFile, PasswordEnv string
	// TokenFile has a bearer token. It takes the place of user and password.
	TokenFile string
	TLS       secure.TLS
	// Messages compiles schemas of Protocol Buffers, with these options, and fetches those that they refer to. nil does not.
	Messages *protobuf.Options

	// RetryFor is how long the registry is asked for one schema if it does not answer. Then the sink ends with an error. 0 is 10 minutes; if it is
	// negative, there is no limit.
	RetryFor time.Duration
	// First is the longest wait after the first attempt; each further wait may be twice as long, up to 10 s. 0 is 200 ms.
	First time.Duration
	// UnknownFor is how long an id that the registry does not know is not asked for again. 0 is 30 s.
	UnknownFor time.Duration
	// OnAttempt is called after each attempt, by a goroutine of the registry. nil is no call.
	OnAttempt func(Attempt)
}

// Attempt describes one attempt to fetch a schema.
type Attempt struct {
	ID      int32
	N       int // 1 for the first
	Took    time.Duration
	Err     error         // nil if the registry has answered with the schema
	Unknown bool          // The registry has answered that it has no such schema.
	Wait    time.Duration // before the next attempt; 0 if there is none
}

// A Registry fetches schemas by their ids and keeps them. A schema never changes, so it is kept until the registry is closed. Its methods
// may be called by several goroutines at once.
type Registry struct {
	o       RegistryOptions
	clients []*sr.Client
	ctx     context.Context
	cancel  context.CancelFunc
	asking  sync.WaitGroup

	mu      sync.RWMutex
	known   map[int32]*entry
	unknown int // entries of ids that the registry does not know
	closed  bool
}

// An entry is what is known of an id. The fields behind done are written before done is closed.
type entry struct {
	done   chan struct{}
	schema *fetched
	err    error
	bad    bool      // err is a *record.Bad: the registry does not know the id
	until  time.Time // until when an error holds; zero without one
}

// mostUnknown bounds the entries of unknown ids: values that have no framing can look like any id.
const mostUnknown = 10_000

// NewRegistry makes the client of a registry. It connects to nothing.
func NewRegistry(o RegistryOptions) (*Registry, error) {
	r := &Registry{o: o, known: map[int32]*entry{}}
	set := func(d *time.Duration, preset time.Duration) {
		if *d == 0 {
			*d = preset
		}
	}
	set(&r.o.RetryFor, 10*time.Minute)
	set(&r.o.First, 200*time.Millisecond)
	set(&r.o.UnknownFor, 30*time.Second)
	if o.OnAttempt == nil {
		r.o.OnAttempt = func(Attempt) {}
	}
	if len(o.URLs) == 0 {
		return nil, errors.New("schema registry: no URL")
	}
	authorize, err := r.authorization()
	if err != nil {
		return nil, fmt.Errorf("schema registry: %w", err)
	}
	tlsConfig, err := o.TLS.Config()
	if err != nil {
		return nil, fmt.Errorf("schema registry: %w", err)
	}
	for _, text := range o.URLs {
		u, err := url.Parse(text)
		switch {
		case err != nil:
			return nil, errors.New("schema registry: a URL cannot be read") // It may hold a password.
		case u.User != nil:
			return nil, fmt.Errorf("schema registry: the URL of %s has a user or a password; they belong to options of their own", u.Host)
		case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			return nil, fmt.Errorf("schema registry: the URL %q does not begin with http://HOST or https://HOST", text)
		}
		c, err := sr.NewClient(sr.URLs(text), sr.UserAgent("freehold-sink"), sr.HTTPClient(&http.Client{Timeout: attemptTimeout}), sr.DialTLSConfig(tlsConfig), sr.PreReq(authorize))
		if err != nil {
			return nil, fmt.Errorf("schema registry: %w", err)
		}
		r.clients = append(r.clients, c)
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r, nil
}

// authorization makes what sets the header of requests. It reads the secrets once, so that a missing file is an error at the start.
func (r *Registry) authorization() (func(*http.Request) error, error) {
	o := r.o
	password := func() (string, error) { return secure.Secret(o.PasswordFile, o.PasswordEnv) }
	switch {
	case o.TokenFile != "" && (o.User != "" || o.PasswordFile != "" || o.PasswordEnv != ""):
		return nil, errors.New("there are a token and a user with a password; choose one")
	case o.TokenFile != "":
		_, err := secure.Secret(o.TokenFile, "")
		return func(q *http.Request) error {
			token, err := secure.Secret(o.TokenFile, "")
			q.Header.Set("Authorization", "Bearer "+token)
			return err
		}, err
	case o.User == "" && o.PasswordFile == "" && o.PasswordEnv == "":
		return func(*http.Request) error { return nil }, nil
	case o.User == "" || (o.PasswordFile == "") == (o.PasswordEnv == ""):
		return nil, errors.New("a user, and either a file with the password or the name of its variable, belong together")
	}
	_, err := password()
	return func(q *http.Request) error {
		p, err := password()
		q.SetBasicAuth(o.User, p)
		return err
	}, err
}

// get returns the schema of an id. If the registry does not answer, get waits until it does, or until ctx ends. The error is a *record.Bad if the
// registry has no such schema.
func (r *Registry) get(ctx context.Context, id int32) (*fetched, error) {
	r.mu.RLock()
	e := r.known[id]
	r.mu.RUnlock()
	if e == nil || e.stale() {
		if e = r.ask(id, e); e == nil {
			return nil, errClosed
		}
	}
	select {
	case <-e.done:
		return e.schema, e.err
	default:
	}
	select {
	case <-e.done:
		return e.schema, e.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// stale reports whether an entry holds an error that is to be forgotten.
func (e *entry) stale() bool {
	select {
	case <-e.done:
		return e.err != nil && time.Now().After(e.until)
	default:
		return false
	}
}

var errClosed = errors.New("schema registry: the client is closed")

// ask begins to fetch a schema, unless another goroutine has begun since the caller found the entry before. It returns nil if the registry is closed.
func (r *Registry) ask(id int32, before *entry) *entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.known[id]; r.closed || e != nil && e != before {
		return e
	}
	if before != nil && before.bad {
		r.unknown--
	}
	if r.unknown >= mostUnknown {
		for id, e := range r.known {
			select {
			case <-e.done:
				if e.err != nil {
					delete(r.known, id)
				}
			default:
			}
		}
		r.unknown = 0
	}
	e := &entry{done: make(chan struct{})}
	r.known[id] = e
	r.asking.Go(func() {
		e.schema, e.err = r.repeat(id)
		if bad := (*record.Bad)(nil); errors.As(e.err, &bad) {
			e.bad, e.until = true, time.Now().Add(r.o.UnknownFor)
			r.mu.Lock()
			r.unknown++
			r.mu.Unlock()
		} else if e.err != nil {
			e.until = time.Now() // For those who wait; the next call begins anew.
		}
		close(e.done)
	})
	return e
}

// confirm is how long the registry has time to learn of a schema: the servers of a registry learn of it one after the other.
const confirm = time.Second

// repeat asks until the registry answers. It asks a second time for an id that the registry does not know.
func (r *Registry) repeat(id int32) (*fetched, error) {
	unknown := 0
	for began, n := time.Now(), 1; ; n++ {
		attempt := Attempt{ID: id, N: n}
		from := time.Now()
		s, err := r.fetch(r.clients[(n-1)%len(r.clients)], id)
		attempt.Took, attempt.Err = time.Since(from), err
		attempt.Unknown = errors.Is(err, errUnknown)
		switch {
		case err == nil:
			r.o.OnAttempt(attempt)
			return s, nil
		case attempt.Unknown && unknown > 0:
			r.o.OnAttempt(attempt)
			return nil, record.Badf("the schema registry has no schema with the id %d: %w", id, err)
		case attempt.Unknown:
			unknown++
			attempt.Wait = min(confirm, 5*r.o.First)
		default:
			attempt.Wait = rand.N(min(r.o.First<<min(n-1, 20), 10*time.Second) + 1)
			if r.o.RetryFor > 0 && time.Since(began)+attempt.Wait > r.o.RetryFor {
				attempt.Wait = 0
				r.o.OnAttempt(attempt)
				return nil, fmt.Errorf("schema registry: the schema %d: gave up after %d attempts in %v: %w", id, n, time.Since(began).Round(time.Millisecond), err)
			}
		}
		r.o.OnAttempt(attempt)
		select {
		case <-time.After(attempt.Wait):
		case <-r.ctx.Done():
			return nil, errClosed
		}
	}
}

// errUnknown says that the registry has no such schema, or lacks one that the schema refers to.
var errUnknown = errors.New("the schema registry has no such schema")

// answer makes errUnknown of answers that say that there is no such schema. Any other 404 comes from a wrong URL or from a proxy.
func answer(err error) error {
	var e *sr.ResponseError
	if errors.As(err, &e) {
		if known := e.SchemaError(); known == sr.ErrSchemaNotFound || known == sr.ErrSubjectNotFound || known == sr.ErrVersionNotFound {
			return fmt.Errorf("%w: %s", errUnknown, clip(e.Message))
		}
		return fmt.Errorf("%s says %s: %s", e.URL, http.StatusText(e.StatusCode), clip(e.Error()))
	}
	return err
}

// clip shortens the text of an answer, which may be a page of a proxy.
func clip(s string) string {
	if s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "?"); len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "..."
	}
	return s
}

// Check asks the registry which types of schemas it has.
func (r *Registry) Check(ctx context.Context) (types []string, err error) {
	for _, c := range r.clients {
		all, err := c.SupportedTypes(ctx)
		if err != nil {
			return nil, fmt.Errorf("schema registry: %w", answer(err))
		}
		types = nil
		for _, t := range all {
			types = append(types, t.String())
		}
	}
	return types, nil
}

// Close ends all that waits for the registry.
func (r *Registry) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	r.asking.Wait()
}
