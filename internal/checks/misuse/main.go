// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	explain := flag.Bool("explain", false, "recover from faults and explain them")
	stale := flag.Bool("stale", false, "run all programs that use a value too late, one behind the other, and print what they read")
	flag.Parse()
	if *stale {
		readStale()
		return
	}
	c := Find(flag.Arg(0))
	if c == nil || c.Run[Variant(flag.Arg(1))] == nil {
		fmt.Fprintf(os.Stderr, "no program %q of variant %q\n", flag.Arg(0), flag.Arg(1))
		os.Exit(4)
	}
	if err := c.Start(Variant(flag.Arg(1)), *explain); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	fmt.Println("done")
}
