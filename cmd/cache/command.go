// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/freehold-go/freehold/cmd/terminal"
)

// exitFailed is the exit status of a wrong command line, an address that is taken, and a file that cannot
// be read or saved.
const exitFailed = 1

// protocol is the version of memcached whose clients are served as memcached serves them. Clients read
// it before anything else in the answer to version.
const protocol = "1.6.18"

// stopGrace is how long a stop waits for clients that do not read their answers.
const stopGrace = 5 * time.Second

// Command is the verb cache. Version is the version of the command.
func Command(version string) *cli.Command {
	return &cli.Command{
		Name:  "cache",
		Usage: "serve a cache to clients of memcached, on this machine",
		Commands: []*cli.Command{{
			Name:  "serve",
			Usage: "answer memcached's text and meta protocols until SIGTERM or Ctrl-C",
			Description: "Prints where it listens. SIGTERM and Ctrl-C carry out the commands that were read, save the items if -save says where,\n" +
				"and end with status 0. Status 1 is a wrong flag, an address that is taken, or a file that cannot be read or saved.",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "listen", Value: "127.0.0.1:11211", Usage: "listen at `ADDRESS`: of this machine, with a port, or the path of a Unix socket, which has a slash"},
				&cli.StringFlag{Name: "memory", Value: "64M", Usage: "keep at most `SIZE` of items, with the table that finds them"},
				&cli.StringFlag{Name: "max-item", Value: "1M", Usage: "refuse items above `SIZE`: key, data and 24 bytes; at most an eighth of -memory"},
				&cli.IntFlag{Name: "max-conns", Value: 1024, Usage: "serve at most `N` connections at the same time"},
				&cli.DurationFlag{Name: "idle", Usage: "close a connection after `DURATION` without a command; 0 is never"},
				&cli.StringFlag{Name: "save", Usage: "save the items to `FILE` when the server stops; load and remove the file when it starts"},
				&cli.BoolFlag{Name: "shutdown", Usage: "let clients stop the server with the command shutdown"},
			},
			OnUsageError: terminal.UsageError(exitFailed),
			Action: func(ctx context.Context, c *cli.Command) error {
				if err := serve(ctx, c, version); err != nil {
					return cli.Exit(fmt.Errorf("cache serve: %w", err), exitFailed)
				}
				return nil
			},
		}},
		OnUsageError: terminal.UsageError(exitFailed),
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Args().Len() > 0 {
				return cli.Exit(fmt.Sprintf("cache: unknown command %q; the command is serve", c.Args().First()), exitFailed)
			}
			return cli.ShowSubcommandHelp(c)
		},
	}
}

func serve(ctx context.Context, c *cli.Command, version string) error {
	if c.Args().Len() > 0 {
		return fmt.Errorf("unexpected argument %q", c.Args().First())
	}
	memory, err1 := parseSize("memory", c.String("memory"))
	maxItem, err2 := parseSize("max-item", c.String("max-item"))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	ctx, unnotify := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer unnotify()
	return run(ctx, Options{
		Listen: c.String("listen"), Memory: memory, MaxItem: maxItem, MaxConns: c.Int("max-conns"), Idle: c.Duration("idle"),
		Save: c.String("save"), Shutdown: c.Bool("shutdown"), Version: protocol + " freehold " + version, Log: c.Root().ErrWriter,
	}, unnotify)
}

// run serves until the context ends or a client stops the server. It calls stopping when it begins to
// stop: a second signal then ends the process at once.
func run(ctx context.Context, o Options, stopping func()) error {
	s, err := newServer(o)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.listen(); err != nil { // Before load, which removes the file.
		return err
	}
	defer s.listener.Close()
	if err := s.load(); err != nil {
		return err
	}
	s.logf("listening on %s", s.listener.Addr())
	served := make(chan error, 1)
	go func() { served <- s.serve() }()
	select {
	case <-ctx.Done():
	case <-s.stopAsked:
	case err := <-served:
		return err
	}
	stopping()
	s.stop(stopGrace)
	return errors.Join(<-served, s.save())
}

// parseSize parses the size of a flag: bytes, or a number with K, M, G or T.
func parseSize(flag, text string) (int64, error) {
	digits, shift := text, 0
	if n := len(text); n > 0 {
		if i := strings.IndexByte("KMGT", text[n-1]&^0x20); i >= 0 {
			digits, shift = text[:n-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("-%s is %q; want bytes, or a number with K, M, G or T: 64M", flag, text)
	}
	return n << shift, nil
}
