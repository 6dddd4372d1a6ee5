// SPDX-License-Identifier: Apache-2.0

package sort

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Main carries out the command line behind the word sort and returns the exit status. Version is
// what --version prints.
func Main(args []string, version string, stdin io.Reader, stdout, stderr io.Writer) int {
	err := run(args, version, stdin, stdout, stderr)
	switch {
	case err == nil:
		return 0
	case err == errDisorder:
		return exitDisorder
	}
	fmt.Fprintln(stderr, "sort:", strings.TrimPrefix(err.Error(), "sortbuf: "))
	return exitTrouble
}

func run(args []string, version string, stdin io.Reader, stdout, stderr io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.help || o.version {
		text := Help
		if o.version {
			text = "freehold sort " + version + "\n"
		}
		_, err = io.WriteString(stdout, text)
		return err
	}
	c := &command{options: o, stdin: stdin, stdout: stdout, stderr: stderr, longest: math.MaxInt32}
	if c.files0From != "" {
		if len(c.files) > 0 {
			return usagef("extra operand '%s'\nfile operands cannot be combined with --files0-from", c.files[0])
		}
		if c.files, err = c.readFiles0(c.files0From); err != nil {
			return err
		}
	}
	if len(c.files) == 0 {
		c.files = []string{"-"}
	}
	if c.check != 0 {
		if len(c.files) > 1 {
			return fmt.Errorf("extra operand '%s' not allowed with -%c", c.files[1], c.check)
		}
		return c.checkOrder(c.files[0])
	}
	return c.write()
}

// write sorts or merges the inputs into the output.
func (c *command) write() error {
	if err := c.checkInputs(c.files); err != nil {
		return err
	}
	out, err := c.create()
	if err != nil {
		return err
	}
	defer out.abort()
	if c.merge {
		err = c.mergeFiles(c.files, out)
	} else {
		err = c.sortFiles(c.files, out)
	}
	if err != nil {
		_, _ = out.settle() // the error before is the one to report
		return err
	}
	return out.commit()
}
