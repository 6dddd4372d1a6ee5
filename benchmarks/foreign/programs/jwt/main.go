// Command jwt is the identity provider of a company: it issues tokens that it signs with RS256, and
// tells other services whether a token is valid and whose it is, with golang-jwt.
//
// Of ten requests three are logins and seven are checks of a token. It has 10,000 users, and a list of
// the tokens that were issued last.
package main

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const (
	users  = 10_000
	issuer = "https://id.example.com"
)

// claims are what a token says.
type claims struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups"`
	Scope  string   `json:"scope"`
	jwt.RegisteredClaims
}

type user struct {
	name   string
	groups []string
}

// provider is the service.
type provider struct {
	key    *rsa.PrivateKey
	parser *jwt.Parser
	users  map[string]*user

	mu     sync.Mutex
	issued [5000]string // identifiers of the latest tokens
	next   int
}

func newProvider() (*provider, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	p := &provider{key: key, users: map[string]*user{}, parser: jwt.NewParser(
		jwt.WithValidMethods([]string{"RS256"}), jwt.WithIssuer(issuer), jwt.WithExpirationRequired(),
	)}
	for n := range users {
		u := &user{name: fmt.Sprintf("Person %d", n)}
		for g := range 2 + n%6 {
			u.groups = append(u.groups, fmt.Sprintf("group-%d", (n*7+g*31)%200))
		}
		p.users[fmt.Sprintf("user-%d", n)] = u
	}
	return p, nil
}

func (p *provider) login(w http.ResponseWriter, r *http.Request) {
	id := r.FormValue("user")
	u := p.users[id]
	if u == nil {
		http.Error(w, "no such user", http.StatusUnauthorized)
		return
	}
	now := time.Now()
	p.mu.Lock()
	number := fmt.Sprintf("t-%d", p.next)
	p.issued[p.next%len(p.issued)] = number
	p.next++
	p.mu.Unlock()
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims{u.name, u.groups, "openid profile orders:read orders:write", jwt.RegisteredClaims{
		Issuer: issuer, Subject: id, ID: number, Audience: jwt.ClaimStrings{"shop", "backoffice"},
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(time.Hour)),
	}})
	signed, err := token.SignedString(p.key)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	io.WriteString(w, signed)
}

// answer says whose a token is.
type answer struct {
	Active  bool     `json:"active"`
	Subject string   `json:"sub,omitempty"`
	Scope   string   `json:"scope,omitempty"`
	Groups  []string `json:"groups,omitempty"`
}

func (p *provider) introspect(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(io.LimitReader(r.Body, 16<<10))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var c claims
	_, err = p.parser.ParseWithClaims(string(text), &c, func(*jwt.Token) (any, error) { return &p.key.PublicKey, nil })
	if err != nil {
		json.NewEncoder(w).Encode(answer{})
		return
	}
	json.NewEncoder(w).Encode(answer{true, c.Subject, c.Scope, c.Groups})
}

func start(bool) (load.Server, error) {
	p, err := newProvider()
	if err != nil {
		return load.Server{}, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", p.login)
	mux.HandleFunc("POST /introspect", p.introspect)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return load.Server{}, err
	}
	go http.Serve(l, mux)
	return load.Server{Address: "http://" + l.Addr().String()}, nil
}

// post returns the body of the answer.
func post(client *http.Client, url string, body []byte) ([]byte, error) {
	r, err := client.Post(url, "text/plain", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", r.Status, text)
	}
	return text, err
}

func dial(address string, connection int) (load.Request, error) {
	client := &http.Client{Transport: &http.Transport{}}
	login := func(i int) ([]byte, error) {
		return post(client, fmt.Sprintf("%s/login?user=user-%d", address, i*7919%users), nil)
	}
	token, err := login(connection)
	if err != nil {
		return nil, err
	}
	return func(i int) (err error) {
		if i%10 < 3 {
			token, err = login(i)
			return err
		}
		text, err := post(client, address+"/introspect", token)
		if err == nil && !bytes.Contains(text, []byte(`"active":true`)) {
			err = errors.New("a token that was just issued is not active")
		}
		return err
	}, nil
}

func main() {
	load.Serve(load.Service{Ops: 4_000, Connections: 8, Start: start, Dial: dial})
}
