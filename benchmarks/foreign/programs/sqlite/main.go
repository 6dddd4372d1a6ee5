// Command sqlite runs a small shop on a file of SQLite through database/sql: orders are inserted
// with their lines in a transaction, and customers read their latest orders.
//
// The texts of the queries go to the database for each call.
//
// The form after the change prepares the statements once.
package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite"

	"github.com/freehold-go/freehold/benchmarks/foreign/load"
)

const schema = `
create table customers (id integer primary key, name text not null, city text not null);
create table articles (id integer primary key, name text not null, price real not null);
create table orders (id integer primary key, customer integer not null references customers, at integer not null, state text not null);
create table lines (id integer primary key, "order" integer not null references orders, article integer not null references articles, count integer not null);
create index orders_customer on orders (customer, at);
create index lines_order on lines ("order");
`

const (
	insertOrder = `insert into orders (customer, at, state) values (?, ?, ?)`
	insertLine  = `insert into lines ("order", article, count) values (?, ?, ?)`
	latest      = `select o.id, o.at, o.state, c.name, c.city, sum(l.count * a.price), count(*)
		from orders o join customers c on c.id = o.customer join lines l on l."order" = o.id join articles a on a.id = l.article
		where o.customer = ? group by o.id order by o.at desc limit 10`
	article = `select name, price from articles where id = ?`
)

const customers, articles = 5000, 2000

// texts are the statements in the order of the constants of statement.
var texts = []string{insertOrder, insertLine, latest, article}

// shop runs the n-th statement, by its text or prepared.
type shop struct {
	db       *sql.DB
	prepared []*sql.Stmt
}

func open() *shop {
	var err error
	if dir, err = os.MkdirTemp("", "sqlite"); err != nil {
		panic(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "shop.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	if err != nil {
		panic(err)
	}
	s := &shop{db: db}
	s.must(db.Exec(schema))
	tx, err := db.Begin()
	if err != nil {
		panic(err)
	}
	for i := range customers {
		s.must(tx.Exec(`insert into customers (name, city) values (?, ?)`, fmt.Sprintf("Customer %d", i), fmt.Sprintf("City %d", i%300)))
	}
	for i := range articles {
		s.must(tx.Exec(`insert into articles (name, price) values (?, ?)`, fmt.Sprintf("Article number %d", i), float64(i%900)/10+1))
	}
	for i := range 20_000 {
		r := s.must(tx.Exec(insertOrder, 1+i*7919%customers, 1_700_000_000+i, "sent"))
		id, _ := r.LastInsertId()
		for j := range 1 + i%4 {
			s.must(tx.Exec(insertLine, id, 1+(i*31+j*17)%articles, 1+j))
		}
	}
	if err := tx.Commit(); err != nil {
		panic(err)
	}
	return s
}

func (s *shop) must(r sql.Result, err error) sql.Result {
	if err != nil {
		panic(err)
	}
	return r
}

func (s *shop) exec(tx *sql.Tx, n int, args ...any) sql.Result {
	if s.prepared != nil {
		return s.must(tx.Stmt(s.prepared[n]).Exec(args...))
	}
	return s.must(tx.Exec(texts[n], args...))
}

func (s *shop) query(n int, args ...any) *sql.Rows {
	var rows *sql.Rows
	var err error
	if s.prepared != nil {
		rows, err = s.prepared[n].Query(args...)
	} else {
		rows, err = s.db.Query(texts[n], args...)
	}
	if err != nil {
		panic(err)
	}
	return rows
}

func (s *shop) order(i int) {
	tx, err := s.db.Begin()
	if err != nil {
		panic(err)
	}
	r := s.exec(tx, 0, 1+i*7919%customers, 1_800_000_000+i, "new")
	id, err := r.LastInsertId()
	if err != nil {
		panic(err)
	}
	for j := range 1 + i%4 {
		s.exec(tx, 1, id, 1+(i*31+j*17)%articles, 1+j)
	}
	if err := tx.Commit(); err != nil {
		panic(err)
	}
}

type summary struct {
	id, at     int64
	state      string
	name, city string
	total      float64
	lines      int
}

func (s *shop) latest(customer int) (all []summary) {
	rows := s.query(2, customer)
	defer rows.Close()
	for rows.Next() {
		var v summary
		if err := rows.Scan(&v.id, &v.at, &v.state, &v.name, &v.city, &v.total, &v.lines); err != nil {
			panic(err)
		}
		all = append(all, v)
	}
	if err := rows.Err(); err != nil {
		panic(err)
	}
	return all
}

func (s *shop) article(id int) {
	rows := s.query(3, id)
	defer rows.Close()
	var name string
	var price float64
	if !rows.Next() {
		panic(fmt.Sprintf("no article %d: %v", id, rows.Err()))
	}
	if err := rows.Scan(&name, &price); err != nil {
		panic(err)
	}
}

// op is one order for each four looks at a customer's orders and twelve at an article.
func (s *shop) op(i int) {
	if i%4 == 0 {
		s.order(i)
	}
	if len(s.latest(1+i*104729%customers)) == 0 {
		panic("no orders")
	}
	for j := range 3 {
		s.article(1 + (i*13+j*7)%articles)
	}
}

func before() load.Op { return open().op }

func after() load.Op {
	s := open()
	for _, text := range texts {
		stmt, err := s.db.Prepare(text)
		if err != nil {
			panic(err)
		}
		s.prepared = append(s.prepared, stmt)
	}
	return s.op
}

// dir has the files; they go when the process ends.
var dir string

func main() {
	load.Main(load.Sample{Ops: 10_000, Before: before, After: after})
	os.RemoveAll(dir)
}
