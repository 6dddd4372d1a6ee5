// SPDX-License-Identifier: Apache-2.0

// Command protocheck compares adapters/arenaproto with protobuf-go on material of other projects.
//
// It generates Go packages at all three API levels, links them into a program and runs that program. The
// Makefile of the repository has the commands.
//
//	go run -tags protolegacy . conformance   the conformance test runner of Protocol Buffers, from the npm registry
//	go run -tags protolegacy . random        random schemata and random inputs
//	go run -tags protolegacy . corpus        the test data of hyperpb, and the schemata google_message1 to 4
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	commands := map[string]func(options) error{"conformance": conformance, "random": random, "corpus": corpus}
	var o options
	f := flag.NewFlagSet("protocheck", flag.ExitOnError)
	f.StringVar(&o.runner, "runner", "", "the conformance `program`; empty means the downloaded one")
	f.DurationVar(&o.time, "time", time.Minute, "how long random inputs are decoded, in all")
	f.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "the first random schema")
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "protocheck: the first argument must be conformance, random or corpus")
		os.Exit(2)
	}
	_ = f.Parse(os.Args[2:]) // It exits.
	if err := commands[os.Args[1]](o); err != nil {
		fmt.Fprintln(os.Stderr, "protocheck:", err)
		os.Exit(1)
	}
}
