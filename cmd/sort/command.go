// SPDX-License-Identifier: Apache-2.0

package sort

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// The exit statuses, which are those of GNU sort.
const (
	exitDisorder = 1 // of -c and -C
	exitTrouble  = 2
)

// errDisorder says that the input of -c or -C is out of order.
var errDisorder = errors.New("out of order")

// A command is one run of the verb.
type command struct {
	*options
	stdin          io.Reader
	stdout, stderr io.Writer
	longest        int // bytes of a line
	block          int // bytes of what a sort reads at a time
}

// sysError is an error of the system in GNU sort's form: what failed, with what, and why.
func sysError(what, name string, err error) error {
	if name == "" {
		name = "'standard output'"
	}
	cause := err
	for e := errors.Unwrap(cause); e != nil; e = errors.Unwrap(e) {
		cause = e
	}
	text := cause.Error()
	return fmt.Errorf("%s: %s: %s", what, name, strings.ToUpper(text[:1])+text[1:])
}
