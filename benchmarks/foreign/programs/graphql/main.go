// Command graphql is the API of a web shop with graphql-go: pages send one of five queries with their
// variables, and get products, categories and reviews from a catalogue of 4,000 products in memory.
//
// The form after the change parses and validates a query's text once.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/graphql-go/graphql"
	"github.com/graphql-go/graphql/language/ast"
	"github.com/graphql-go/graphql/language/parser"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const products, categories = 4000, 60

type product struct {
	ID       int       `json:"id"`
	Name     string    `json:"name"`
	Price    float64   `json:"price"`
	Stock    int       `json:"stock"`
	Category *category `json:"category"`
	Reviews  []review  `json:"reviews"`
}

type category struct {
	ID       int        `json:"id"`
	Name     string     `json:"name"`
	Products []*product `json:"products"`
}

type review struct {
	Author string `json:"author"`
	Stars  int    `json:"stars"`
	Text   string `json:"text"`
}

// shop is the catalogue with its schema.
type shop struct {
	products   []*product
	categories []*category
	schema     graphql.Schema
	answer     func(s *shop, q request) *graphql.Result
	known      sync.Map // of documents by their text, for the form after the change
}

// request is the body of a request.
type request struct {
	Query     string         `json:"query"`
	Variables map[string]any `json:"variables"`
}

func newShop() (*shop, error) {
	s := &shop{answer: do}
	for i := range categories {
		s.categories = append(s.categories, &category{ID: i, Name: fmt.Sprintf("Category %d", i)})
	}
	for i := range products {
		c := s.categories[i%categories]
		p := &product{ID: i, Name: fmt.Sprintf("Article %d of %s", i, c.Name), Price: float64(i%900) + 0.99, Stock: i % 40, Category: c}
		for k := range i % 4 {
			p.Reviews = append(p.Reviews, review{fmt.Sprintf("customer %d", i+k), 1 + (i+k)%5, "It does what it says, and came in time."})
		}
		c.Products = append(c.Products, p)
		s.products = append(s.products, p)
	}
	var err error
	s.schema, err = s.newSchema()
	return s, err
}

func field(t graphql.Output) *graphql.Field { return &graphql.Field{Type: t} }

func (s *shop) newSchema() (graphql.Schema, error) {
	reviewType := graphql.NewObject(graphql.ObjectConfig{Name: "Review", Fields: graphql.Fields{
		"author": field(graphql.String), "stars": field(graphql.Int), "text": field(graphql.String),
	}})
	categoryType := graphql.NewObject(graphql.ObjectConfig{Name: "Category", Fields: graphql.Fields{"id": field(graphql.Int), "name": field(graphql.String)}})
	productType := graphql.NewObject(graphql.ObjectConfig{Name: "Product", Fields: graphql.Fields{
		"id": field(graphql.Int), "name": field(graphql.String), "price": field(graphql.Float), "stock": field(graphql.Int),
		"category": field(categoryType), "reviews": field(graphql.NewList(reviewType)),
	}})
	categoryType.AddFieldConfig("products", &graphql.Field{Type: graphql.NewList(productType), Args: first, Resolve: func(p graphql.ResolveParams) (any, error) {
		return firstOf(p.Source.(*category).Products, p), nil
	}})
	query := graphql.NewObject(graphql.ObjectConfig{Name: "Query", Fields: graphql.Fields{
		"product": &graphql.Field{Type: productType, Args: byID, Resolve: func(p graphql.ResolveParams) (any, error) {
			return s.products[p.Args["id"].(int)%products], nil
		}},
		"category": &graphql.Field{Type: categoryType, Args: byID, Resolve: func(p graphql.ResolveParams) (any, error) {
			return s.categories[p.Args["id"].(int)%categories], nil
		}},
	}})
	return graphql.NewSchema(graphql.SchemaConfig{Query: query})
}

var (
	first = graphql.FieldConfigArgument{"first": {Type: graphql.Int, DefaultValue: 10}}
	byID  = graphql.FieldConfigArgument{"id": {Type: graphql.NewNonNull(graphql.Int)}}
)

func firstOf(list []*product, p graphql.ResolveParams) []*product {
	return list[:min(len(list), p.Args["first"].(int))]
}

func do(s *shop, q request) *graphql.Result {
	return graphql.Do(graphql.Params{Schema: s.schema, RequestString: q.Query, VariableValues: q.Variables})
}

func doKnown(s *shop, q request) *graphql.Result {
	document, ok := s.known.Load(q.Query)
	if !ok {
		parsed, err := parser.Parse(parser.ParseParams{Source: q.Query})
		if err != nil {
			return do(s, q) // the result has the error
		}
		if !graphql.ValidateDocument(&s.schema, parsed, nil).IsValid {
			return do(s, q)
		}
		document, _ = s.known.LoadOrStore(q.Query, parsed)
	}
	return graphql.Execute(graphql.ExecuteParams{Schema: s.schema, AST: document.(*ast.Document), Args: q.Variables})
}

func (s *shop) serve(w http.ResponseWriter, r *http.Request) {
	var q request
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	json.NewEncoder(w).Encode(s.answer(s, q))
}

func start(after bool) (load.Server, error) {
	s, err := newShop()
	if err != nil {
		return load.Server{}, err
	}
	if after {
		s.answer = doKnown
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /graphql", s.serve)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return load.Server{}, err
	}
	go http.Serve(l, mux)
	return load.Server{Address: "http://" + l.Addr().String()}, nil
}

// queries are those of the shop's pages.
var queries = []string{
	`query ProductPage($id: Int!, $more: Int = 4) {
  product(id: $id) { ...Card stock reviews { author stars text } category { id name products(first: $more) { ...Card } } }
}
fragment Card on Product { id name price category { id name } }`,
	`query CategoryPage($id: Int!) {
  category(id: $id) { id name products(first: 6) { id name price stock } }
}`,
	`query Basket($a: Int!, $b: Int!, $c: Int!) {
  a: product(id: $a) { ...Line }
  b: product(id: $b) { ...Line }
  c: product(id: $c) { ...Line }
}
fragment Line on Product { id name price stock category { name } }`,
	`query Compare($a: Int!, $b: Int!, $reviews: Boolean = true) {
  left: product(id: $a) { id name price stock category { id name } reviews @include(if: $reviews) { stars } }
  right: product(id: $b) { id name price stock category { id name } reviews @include(if: $reviews) { stars } }
}`,
	`query Availability($id: Int!) { product(id: $id) { id stock } }`,
}

func dial(address string, _ int) (load.Request, error) {
	client := &http.Client{Transport: &http.Transport{}}
	return func(i int) error {
		body, err := json.Marshal(request{queries[i%len(queries)], map[string]any{"id": i * 7919 % products, "a": i % products, "b": i * 13 % products, "c": i * 31 % products}})
		if err != nil {
			return err
		}
		answer, err := client.Post(address+"/graphql", "application/json", bytes.NewReader(body))
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err == nil && (!strings.HasPrefix(string(text), `{"data":{`) || bytes.Contains(text, []byte(`"errors"`))) {
			err = fmt.Errorf("%s: %s", answer.Status, text)
		}
		return err
	}, nil
}

func main() {
	load.Serve(load.Service{Ops: 1_800, Connections: 8, Start: start, HasAfter: true, Dial: dial})
}
