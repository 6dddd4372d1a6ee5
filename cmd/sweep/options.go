// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Options say what to run. Either Command or Bench and Package are set.
type Options struct {
	// Command is the program with its arguments; variables may stand in front, "NAME=value".
	Command []string
	// Bench selects one benchmark of Package, as go test -bench does.
	Bench, Package string
	// Prepare is a command that runs before each run, and is not measured. Variables may stand in front.
	Prepare string
	// Load is a command that puts load on Command, which is then a server: it is started, Load runs once when it listens, and it is
	// asked to end. The server's CPU time and memory count.
	Load string
	// Ready is an address that the server listens at, "host:port". Without it the server is ready when it listens anywhere, which only
	// Linux shows.
	Ready string
	// Wait is how long a server may take until it listens. 0 is half a minute.
	Wait time.Duration
	// Settings are run in place of the usual ones.
	Settings []Setting
	// Rounds is the number of rounds that count. 0 is eight.
	Rounds int
	// Memory bounds the peak RSS of the setting that the report proposes, in bytes; 0 is no bound.
	Memory int64
	// Progress gets the current step, one line at a time, and Say what stays; both may be nil.
	Progress, Say func(line string)
}

// The defaults of the options.
const (
	DefaultRounds = 8
	DefaultWait   = 30 * time.Second
	leastRounds   = 6 // the fewest that have an interval
	mostRounds    = 1000
)

func (o *Options) prepare() error {
	if o.Rounds == 0 {
		o.Rounds = DefaultRounds
	}
	if o.Wait == 0 {
		o.Wait = DefaultWait
	}
	if _, err := regexp.Compile(o.Bench); err != nil {
		return fmt.Errorf("sweep: -bench: %w", err)
	}
	switch {
	case o.Bench == "" && len(o.Command) == 0:
		return errors.New("sweep: want a command behind --, or -bench and a package")
	case o.Bench != "" && (len(o.Command) > 0 || o.Package == ""):
		return errors.New("sweep: -bench wants one package, and no command")
	case o.Bench != "" && o.Load != "":
		return errors.New("sweep: -load is for a server, and -bench runs a benchmark")
	case o.Load == "" && o.Ready != "":
		return errors.New("sweep: -ready says where a server listens, and there is no -load")
	case o.Rounds < leastRounds || o.Rounds > mostRounds:
		return fmt.Errorf("sweep: -rounds is %d; it must be from %d, the fewest that have an interval, to %d", o.Rounds, leastRounds, mostRounds)
	case o.Memory < 0 || o.Wait < 0:
		return errors.New("sweep: -memory and -wait must not be negative")
	case len(o.Settings) == 1:
		return errors.New("sweep: -settings has one setting; want two at least, of which the first is what the others are compared with")
	}
	return nil
}

func (o *Options) progress(line string) {
	if o.Progress != nil {
		o.Progress(line)
	}
}

func (o *Options) say(line string) {
	if o.Say != nil {
		o.Say(line)
	}
}
