// Command expr decides about payments with rules that the risk team writes in expr's language: a
// payment comes as JSON, each rule that holds for it adds its points, and the answer names them.
//
// The latest 20,000 payments stay for the team's dashboard.
//
// The form after the change keeps the engine, and so its compiled rules, for all payments.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

// payment is what the rules see.
type payment struct {
	ID       int      `json:"id" expr:"id"`
	Amount   float64  `json:"amount" expr:"amount"`
	Currency string   `json:"currency" expr:"currency"`
	Country  string   `json:"country" expr:"country"`
	Issued   string   `json:"issued" expr:"issued"`
	Email    string   `json:"email" expr:"email"`
	Attempts int      `json:"attempts" expr:"attempts"`
	Age      int      `json:"age" expr:"age"`
	Items    []item   `json:"items" expr:"items"`
	Tags     []string `json:"tags" expr:"tags"`
}

type item struct {
	SKU   string  `json:"sku" expr:"sku"`
	Price float64 `json:"price" expr:"price"`
	Count int     `json:"count" expr:"count"`
}

// rule is a line of the risk team's table.
type rule struct {
	name   string
	points int
	when   string
}

var rules = []rule{
	{"large", 20, `amount > 1000 && currency in ["EUR", "USD", "GBP"]`},
	{"foreign card", 15, `country != issued`},
	{"new account", 10, `age < 7 and amount > 150`},
	{"many attempts", 25, `attempts >= 4`},
	{"throw-away mail", 30, `email endsWith "@mailbox.example" || email contains "+"`},
	{"many pieces", 10, `sum(map(items, .count)) > 20`},
	{"vouchers", 15, `any(items, .sku startsWith "GIFT" and .price >= 50)`},
	{"expensive piece", 5, `len(filter(items, .price > 400)) > 0`},
	{"known customer", -30, `"loyal" in tags and age > 365`},
	{"reviewed", -10, `"reviewed" in tags`},
	{"round amount", 5, `amount == floor(amount) && amount >= 100`},
	{"risky region", 20, `country in ["XA", "XB", "XC", "XD"] or issued in ["XA", "XB"]`},
}

// engine compiles a rule when it is first needed.
type engine struct {
	mu       sync.Mutex
	compiled map[string]*vm.Program
}

func newEngine() *engine { return &engine{compiled: map[string]*vm.Program{}} }

func (e *engine) program(text string) (*vm.Program, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p, ok := e.compiled[text]; ok {
		return p, nil
	}
	p, err := expr.Compile(text, expr.Env(payment{}), expr.AsBool())
	if err == nil {
		e.compiled[text] = p
	}
	return p, err
}

// verdict is the answer for a payment.
type verdict struct {
	Points  int      `json:"points"`
	Reasons []string `json:"reasons"`
}

func (e *engine) decide(p payment) (v verdict, err error) {
	for _, r := range rules {
		program, err := e.program(r.when)
		if err != nil {
			return v, err
		}
		holds, err := expr.Run(program, p)
		if err != nil {
			return v, err
		}
		if holds.(bool) {
			v.Points += r.points
			v.Reasons = append(v.Reasons, r.name)
		}
	}
	return v, nil
}

// desk is the service.
type desk struct {
	engine func() *engine
	mu     sync.Mutex
	latest [20_000]payment
}

func (d *desk) payment(w http.ResponseWriter, r *http.Request) {
	var p payment
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	v, err := d.engine().decide(p)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	d.mu.Lock()
	d.latest[p.ID%len(d.latest)] = p
	d.mu.Unlock()
	json.NewEncoder(w).Encode(v)
}

func start(after bool) (load.Server, error) {
	d := &desk{engine: newEngine}
	for i := range d.latest {
		d.latest[i] = newPayment(i)
	}
	if after {
		kept := newEngine()
		d.engine = func() *engine { return kept }
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /payments", d.payment)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return load.Server{}, err
	}
	go http.Serve(l, mux)
	return load.Server{Address: "http://" + l.Addr().String()}, nil
}

func newPayment(n int) payment {
	countries := []string{"DE", "FR", "IT", "XA", "ES", "PL", "XC"}
	p := payment{
		ID: n, Amount: float64(n*37%200_000) / 100, Currency: "EUR", Country: countries[n%7], Issued: countries[n/3%7],
		Email: fmt.Sprintf("customer%d@example.com", n), Attempts: n % 6, Age: n * 13 % 900,
	}
	for k := range 1 + n%6 {
		p.Items = append(p.Items, item{SKU: fmt.Sprintf("SKU-%d", (n+k*977)%5000), Price: float64(n*k%50_000) / 100, Count: 1 + k})
	}
	if n%3 == 0 {
		p.Tags = []string{"loyal", "newsletter"}
	}
	return p
}

func dial(address string, _ int) (load.Request, error) {
	client := &http.Client{Transport: &http.Transport{}}
	return func(i int) error {
		body, err := json.Marshal(newPayment(i))
		if err != nil {
			return err
		}
		answer, err := client.Post(address+"/payments", "application/json", bytes.NewReader(body))
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err == nil && (answer.StatusCode != http.StatusOK || !bytes.Contains(text, []byte(`"points":`))) {
			err = fmt.Errorf("%s: %s", answer.Status, text)
		}
		return err
	}, nil
}

func main() {
	load.Serve(load.Service{Ops: 3_000, Connections: 8, Start: start, HasAfter: true, Dial: dial})
}
