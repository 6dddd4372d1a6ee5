// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/arena"
)

// InArena is the handler in the arena of its request, which httparena.Middleware puts into the
// request's context and ends when the handler has returned. Without the middleware FromContext
// returns the nil arena, and all memory comes from the Go heap.
func InArena(w http.ResponseWriter, r *http.Request) {
	a := arena.FromContext(r.Context())
	body := arena.NewBuilder(a)
	if _, err := body.ReadFrom(r.Body); err != nil {
		refuse(w, err)
		return
	}
	customers := arena.NewMap[string, customer](a, 0)
	// String copies nothing: the lines and names are parts of the body, which lives as long.
	for line := range strings.Lines(body.String()) {
		name, cents, err := parseOrder(strings.TrimSuffix(line, "\n"))
		if err != nil {
			refuse(w, err)
			return
		}
		customers.Update(name, func(c customer, _ bool) customer {
			return customer{name, c.orders + 1, c.cents + cents}
		})
	}
	rows := arena.Collect(a, customers.Values())
	slices.SortFunc(rows, byCents)
	table := arena.NewBuilder(a)
	var row []byte
	for i := range rows {
		row = appendRow(row[:0], &rows[i])
		table.Write(row)
	}
	// A header's value must outlive the handler, because the server writes the header later. A
	// constant does.
	w.Header().Set("Content-Type", "text/tab-separated-values")
	io.WriteString(w, table.String()) // The server copies the text. An error means that the client is gone.
}
