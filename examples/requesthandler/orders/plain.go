// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"io"
	"net/http"
	"slices"
	"strings"
)

// Plain is the handler on the Go heap.
func Plain(w http.ResponseWriter, r *http.Request) {
	var body strings.Builder
	if _, err := io.Copy(&body, r.Body); err != nil {
		refuse(w, err)
		return
	}
	customers := map[string]customer{}
	for line := range strings.Lines(body.String()) {
		name, cents, err := parseOrder(strings.TrimSuffix(line, "\n"))
		if err != nil {
			refuse(w, err)
			return
		}
		c := customers[name]
		customers[name] = customer{name, c.orders + 1, c.cents + cents}
	}
	rows := make([]customer, 0, len(customers))
	for _, c := range customers {
		rows = append(rows, c)
	}
	slices.SortFunc(rows, byCents)
	var table strings.Builder
	var row []byte
	for i := range rows {
		row = appendRow(row[:0], &rows[i])
		table.Write(row)
	}
	w.Header().Set("Content-Type", "text/tab-separated-values")
	io.WriteString(w, table.String()) // An error means that the client is gone.
}
