// Command opa runs OPA's server with a policy of roles and their grants, as it stands beside a
// service that asks it for each request whether the user may do that.
//
// The data, 4000 users and 200 roles, is in its store. The client asks POST /v1/data/shop/authz.
//
// The form after the change sets the option "optimize store for read speed" of opa run.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/runtime"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const policy = `package shop.authz

default allow := false

allow if count(reasons) > 0

reasons contains "admin" if "admin" in data.users[input.user].roles

reasons contains sprintf("role %s", [role]) if {
	some role in data.users[input.user].roles
	some grant in data.roles[role].grants
	input.action in grant.actions
	glob.match(grant.path, ["/"], input.path)
}

reasons contains "owner" if {
	startswith(input.path, concat("", ["/accounts/", data.users[input.user].account, "/"]))
	input.action == "read"
}

quota := data.users[input.user].quota

fields contains field if {
	some field in input.fields
	not field in data.hidden
}
`

const users, roles = 4000, 200

var (
	actions = []string{"read", "list", "create", "update", "delete"}
	objects = []string{"orders", "carts", "invoices", "articles", "refunds", "addresses"}
)

type grant struct {
	Path    string   `json:"path"`
	Actions []string `json:"actions"`
}

type role struct {
	Grants []grant `json:"grants"`
}

type user struct {
	Account string   `json:"account"`
	Name    string   `json:"name"`
	Roles   []string `json:"roles"`
	Quota   int      `json:"quota"`
}

func data() map[string]any {
	allRoles := make(map[string]role)
	for i := range roles {
		var r role
		for j := range 4 + i%5 {
			r.Grants = append(r.Grants, grant{
				Path:    fmt.Sprintf("/shops/%d/%s/*", (i*7+j)%50, objects[(i+j)%len(objects)]),
				Actions: actions[:1+(i+j)%len(actions)],
			})
		}
		allRoles[fmt.Sprintf("role-%d", i)] = r
	}
	allUsers := make(map[string]user)
	for i := range users {
		u := user{Account: fmt.Sprint(10000 + i), Name: fmt.Sprintf("User %d of the shop", i), Quota: i % 100}
		for j := range 2 + i%4 {
			u.Roles = append(u.Roles, fmt.Sprintf("role-%d", (i*13+j*31)%roles))
		}
		allUsers[fmt.Sprintf("user-%d", i)] = u
	}
	return map[string]any{"roles": allRoles, "users": allUsers, "hidden": []string{"password", "iban", "birthday"}}
}

func start(after bool) (load.Server, error) {
	dir, err := os.MkdirTemp("", "opa")
	if err != nil {
		return load.Server{}, err
	}
	defer os.RemoveAll(dir) // the server has read its files when it has started
	text, err := json.Marshal(data())
	if err != nil {
		return load.Server{}, err
	}
	if err := os.WriteFile(filepath.Join(dir, "data.json"), text, 0o666); err != nil {
		return load.Server{}, err
	}
	if err := os.WriteFile(filepath.Join(dir, "authz.rego"), []byte(policy), 0o666); err != nil {
		return load.Server{}, err
	}
	params := runtime.NewParams()
	params.Addrs = &[]string{"127.0.0.1:0"}
	params.Paths = []string{dir}
	params.PprofEnabled = true
	params.Logging.Level = "error"
	params.Logger = logging.NewNoOpLogger()
	params.ReadAstValuesFromStore = after
	ctx, cancel := context.WithCancel(context.Background())
	rt, err := runtime.NewRuntime(ctx, params)
	if err != nil {
		cancel()
		return load.Server{}, err
	}
	ended := make(chan error, 1)
	go func() { ended <- rt.Serve(ctx) }()
	for len(rt.Addrs()) == 0 {
		select {
		case err := <-ended:
			cancel()
			return load.Server{}, fmt.Errorf("the server ended: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	address := rt.Addrs()[0]
	return load.Server{Address: address, Debug: address, Stop: cancel}, nil
}

func dial(address string, connection int) (load.Request, error) {
	client := &http.Client{Transport: &http.Transport{}}
	return func(i int) error {
		body := fmt.Sprintf(`{"input":{"user":"user-%d","action":%q,"path":"/shops/%d/%s/%d","fields":["id","name","iban","total"],"ip":"10.1.%d.%d"}}`,
			i*7919%users, actions[i%len(actions)], i%50, objects[i%len(objects)], i, i%200, i%250)
		answer, err := client.Post("http://"+address+"/v1/data/shop/authz", "application/json", bytes.NewReader([]byte(body)))
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			return err
		}
		if answer.StatusCode != http.StatusOK || !bytes.Contains(text, []byte(`"allow":`)) {
			return fmt.Errorf("%s: %s", answer.Status, text)
		}
		return nil
	}, nil
}

func main() {
	load.Serve(load.Service{Ops: 6_000, Connections: 8, Start: start, HasAfter: true, Dial: dial})
}
