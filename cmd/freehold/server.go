// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/freehold-go/freehold/cmd/debugport"
)

// serverFlags say how to reach the net/http/pprof of a running program. A verb that has them sets DisableSliceFlagSeparator: a header may
// hold a comma.
func serverFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "insecure", Usage: "accept every certificate of the program's address"},
		&cli.StringFlag{Name: "ca", Usage: "trust the certificate authority in the PEM `FILE` for the program's address"},
		&cli.StringSliceFlag{Name: "header", Usage: "send `HEADER` with each request, such as 'Authorization: Bearer TOKEN'; it is never printed, and goes to no other host"},
		&cli.DurationFlag{Name: "timeout", Value: debugport.AnswerTime, Usage: "wait `DURATION` for an answer beyond the time that it covers"},
	}
}

// readServer reads serverFlags for a verb.
func readServer(c *cli.Command, verb string) (debugport.Options, error) {
	o := debugport.Options{Insecure: c.Bool("insecure"), CA: c.String("ca"), Headers: c.StringSlice("header"), Timeout: c.Duration("timeout")}
	if o.Timeout <= 0 {
		return o, fmt.Errorf("%s: -timeout must be above 0; the default is %s", verb, debugport.AnswerTime)
	}
	return o, nil
}
