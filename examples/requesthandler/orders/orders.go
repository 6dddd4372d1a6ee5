// SPDX-License-Identifier: Apache-2.0

// Package orders has an HTTP handler twice: on the Go heap, and in the arena of its request.
//
// The handler reads orders, a line "customer,item,cents" each, adds them up by customer, and answers
// with a table of the customers, the one with the largest sum first. All of its memory dies with
// the request. [Plain] uses maps and strings.Builder, [InArena] an arena.Map and an arena.Builder.
package orders

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/freehold-go/freehold/offheap"
)

// A customer is a row of the table.
type customer struct {
	name   string
	orders int
	cents  int64
}

// byCents orders rows: the largest sum first.
func byCents(a, b customer) int {
	return cmp.Or(cmp.Compare(b.cents, a.cents), strings.Compare(a.name, b.name))
}

// parseOrder cuts a line of the request.
func parseOrder(line string) (name string, cents int64, err error) {
	name, rest, ok := strings.Cut(line, ",")
	_, price, ok2 := strings.Cut(rest, ",")
	if !ok || !ok2 || name == "" {
		return "", 0, fmt.Errorf("want customer,item,cents: %q", line)
	}
	unsigned, err := strconv.ParseUint(price, 10, 40)
	if err != nil {
		return "", 0, fmt.Errorf("the price of %q: %w", line, err)
	}
	return name, int64(unsigned), nil
}

// appendRow appends the text of a row.
func appendRow(b []byte, c *customer) []byte {
	b = append(b, c.name...)
	b = strconv.AppendInt(append(b, '\t'), int64(c.orders), 10)
	b = strconv.AppendInt(append(b, '\t'), c.cents/100, 10)
	return append(b, '.', byte('0'+c.cents/10%10), byte('0'+c.cents%10), '\n')
}

// refuse answers a request whose body cannot be read, because it is wrong, larger than the server
// accepts, or larger than the limit of the request's arena.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	if large := new(http.MaxBytesError); errors.As(err, &large) || errors.Is(err, offheap.ErrLimit) {
		status = http.StatusRequestEntityTooLarge
	}
	http.Error(w, err.Error(), status)
}
