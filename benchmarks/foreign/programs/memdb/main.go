// Command memdb is the registry of a service mesh: instances register, send heartbeats and look for
// the healthy instances of a service.
//
// The table with its indexes is hashicorp/go-memdb's. It has 40,000 instances of 800 services. Of ten requests four are lookups, and six are batches of
// 20 heartbeats from a node.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/hashicorp/go-memdb"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const (
	instances = 40_000
	services  = 800
	nodes     = 2_000 // with 20 instances each
)

// instance is a row, which never changes: a heartbeat makes a new one.
type instance struct {
	ID      string            `json:"id"`
	Service string            `json:"service"`
	Node    string            `json:"node"`
	Address string            `json:"address"`
	Status  string            `json:"status"`
	Beats   int               `json:"beats"`
	Meta    map[string]string `json:"meta"`
}

var schema = &memdb.DBSchema{Tables: map[string]*memdb.TableSchema{
	"instances": {Name: "instances", Indexes: map[string]*memdb.IndexSchema{
		"id":   {Name: "id", Unique: true, Indexer: &memdb.StringFieldIndex{Field: "ID"}},
		"node": {Name: "node", Indexer: &memdb.StringFieldIndex{Field: "Node"}},
		"healthy": {Name: "healthy", Indexer: &memdb.CompoundIndex{Indexes: []memdb.Indexer{
			&memdb.StringFieldIndex{Field: "Service"}, &memdb.StringFieldIndex{Field: "Status"},
		}}},
	}},
}}

func newInstance(n int) *instance {
	return &instance{
		ID: fmt.Sprintf("i-%08x", n), Service: fmt.Sprintf("service-%d", n%services), Node: fmt.Sprintf("node-%d", n%nodes),
		Address: fmt.Sprintf("10.%d.%d.%d:8080", n>>16, n>>8&255, n&255), Status: "passing",
		Meta: map[string]string{"version": fmt.Sprintf("1.%d.%d", n%9, n%31), "zone": fmt.Sprintf("zone-%d", n%3), "weight": fmt.Sprint(n % 100)},
	}
}

// registry is the service.
type registry struct{ db *memdb.MemDB }

func (r *registry) beat(w http.ResponseWriter, q *http.Request) {
	txn := r.db.Txn(true)
	defer txn.Abort()
	rows, err := txn.Get("instances", "node", q.PathValue("node"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	var next []*instance
	for row := rows.Next(); row != nil; row = rows.Next() {
		changed := *row.(*instance)
		changed.Beats++
		if changed.Status = "passing"; changed.Beats%17 == 0 {
			changed.Status = "warning"
		}
		next = append(next, &changed)
	}
	for _, row := range next {
		if err := txn.Insert("instances", row); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	txn.Commit()
	fmt.Fprintln(w, len(next))
}

func (r *registry) healthy(w http.ResponseWriter, q *http.Request) {
	rows, err := r.db.Txn(false).Get("instances", "healthy", q.PathValue("service"), "passing")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	list := []*instance{}
	for row := rows.Next(); row != nil && len(list) < 20; row = rows.Next() {
		list = append(list, row.(*instance))
	}
	json.NewEncoder(w).Encode(list)
}

func start(bool) (load.Server, error) {
	db, err := memdb.NewMemDB(schema)
	if err != nil {
		return load.Server{}, err
	}
	for n := 0; n < instances; n += 500 {
		txn := db.Txn(true)
		for k := range 500 {
			if err := txn.Insert("instances", newInstance(n+k)); err != nil {
				return load.Server{}, err
			}
		}
		txn.Commit()
	}
	r := &registry{db}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /nodes/{node}/heartbeat", r.beat)
	mux.HandleFunc("GET /services/{service}", r.healthy)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return load.Server{}, err
	}
	go http.Serve(l, mux)
	return load.Server{Address: "http://" + l.Addr().String()}, nil
}

func dial(address string, _ int) (load.Request, error) {
	client := &http.Client{Transport: &http.Transport{}}
	return func(i int) error {
		method, url, want := "PUT", fmt.Sprintf("%s/nodes/node-%d/heartbeat", address, i*7919%nodes), "20"
		if i%10 < 4 {
			method, url, want = "GET", fmt.Sprintf("%s/services/service-%d", address, i*7919%services), "10."
		}
		r, err := http.NewRequest(method, url, nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err == nil && (answer.StatusCode != http.StatusOK || !strings.Contains(string(text), want)) {
			err = fmt.Errorf("%s: %s", answer.Status, text)
		}
		return err
	}, nil
}

func main() {
	load.Serve(load.Service{Ops: 3_000, Connections: 8, Start: start, Dial: dial})
}
