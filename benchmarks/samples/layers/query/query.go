// Package query reads the parameters of a request.
package query

import "strconv"

// Query is the parameters of a request.
type Query struct {
	Values []*Value
	id     uint64
}

// Value is one parameter.
type Value struct {
	Name, Text string
}

var names = []string{"id", "lang", "page", "sort"}

// Parse makes the parameters of the request with the number.
func Parse(number uint64) *Query {
	q := &Query{Values: make([]*Value, len(names)), id: number}
	for i, name := range names {
		q.Values[i] = &Value{Name: name, Text: strconv.FormatUint(number+1000, 10)}
	}
	return q
}

// Number is the number that the request is about.
func (q *Query) Number() uint64 { return q.id }
