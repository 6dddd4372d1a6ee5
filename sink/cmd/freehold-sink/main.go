// SPDX-License-Identifier: Apache-2.0

// Command freehold-sink moves the records of Kafka topics into objects of a store.
//
//	freehold-sink demo      a broker with endless orders, a directory, and what it costs: with memory outside the Go heap, and without
//	freehold-sink run       runs with a configuration
//	freehold-sink check     checks a configuration, and says what would happen
//	freehold-sink config    prints all keys of a configuration with their defaults
//	freehold-sink inspect   lists the objects of a topic with their offsets, gaps and overlaps
//	freehold-sink replay    sends the records of objects to a topic
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/freehold-go/freehold/sink/config"
	"github.com/freehold-go/freehold/sink/internal/demo"
	"github.com/freehold-go/freehold/sink/service"
)

func main() {
	demo.RunBroker() // Does not return in the demo's broker.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := strict().Run(ctx, os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "freehold-sink:", err)
		os.Exit(1)
	}
}

func command() *cli.Command {
	file := &cli.StringFlag{Name: "config", Usage: "file with the configuration", Value: "sink.yaml"}
	return &cli.Command{
		Name:  "freehold-sink",
		Usage: "Kafka topics into objects of a store, in small and flat memory",
		Commands: []*cli.Command{
			{
				Name: "run", Usage: "write until SIGTERM or SIGINT", Flags: []cli.Flag{file},
				Action: func(ctx context.Context, c *cli.Command) error { return run(ctx, c.String("config")) },
			},
			{
				Name: "check", Usage: "check a configuration, and say what would happen",
				Flags:  []cli.Flag{file, &cli.BoolFlag{Name: "offline", Usage: "look at the configuration alone, not at the brokers and the store"}},
				Action: check,
			},
			{
				Name: "config", Usage: "print all keys of a configuration with their defaults",
				Action: func(context.Context, *cli.Command) error { return config.Write(os.Stdout, config.Default()) },
			},
			{
				Name: "inspect", Usage: "list the objects of a topic with their offsets, gaps and overlaps",
				Flags: []cli.Flag{file, &cli.StringFlag{Name: "topic", Usage: "the topic; by default all of the configuration"}, &cli.BoolFlag{Name: "objects", Usage: "list each object"}},
				Action: func(ctx context.Context, c *cli.Command) error {
					conf, err := config.Load(c.String("config"), os.Environ())
					if err != nil {
						return err
					}
					if topic := c.String("topic"); topic != "" {
						conf.Kafka.Topics = []string{topic}
					}
					return service.Inspect(ctx, os.Stdout, conf, c.Bool("objects"))
				},
			},
			{
				Name: "replay", Usage: "send the records of objects to a topic",
				Flags: []cli.Flag{
					file,
					&cli.StringFlag{Name: "topic", Usage: "the topic that the objects are of", Required: true},
					&cli.StringFlag{Name: "to", Usage: "the topic that records are sent to", Required: true},
					&cli.BoolFlag{Name: "rejected", Usage: "replay the objects of bad records, without the reason"},
					&cli.BoolFlag{Name: "keep-partitions", Usage: "send records to the partition of the same number; without it the key chooses the partition"},
					&cli.Int64Flag{Name: "from-offset", Usage: "leave out epochs that end at or before this offset"},
					&cli.Int64Flag{Name: "to-offset", Usage: "leave out epochs that begin at this offset or behind it; 0 is no bound"},
					&cli.StringFlag{Name: "after", Usage: "go on behind the object of this key; the error of a replay that failed says it"},
				},
				Action: replay,
			},
			{
				Name: "demo", Usage: "a broker with endless orders, a directory, and what it costs: with memory outside the Go heap, and without",
				Flags: []cli.Flag{
					&cli.DurationFlag{Name: "time", Usage: "how long each of the two runs takes", Value: 10 * time.Second},
					&cli.StringFlag{Name: "keep", Usage: "a new directory that keeps the objects and the configurations; without it they are deleted"},
				},
				Action: func(ctx context.Context, c *cli.Command) error {
					return demo.Run(ctx, os.Stdout, c.Duration("time"), c.String("keep"))
				},
			},
		},
	}
}

// strict is the command, which refuses what it does not understand.
func strict() *cli.Command {
	c := command()
	c.CommandNotFound = func(_ context.Context, _ *cli.Command, name string) {
		fmt.Fprintf(os.Stderr, "freehold-sink: there is no command %q; freehold-sink help lists them\n", name)
		os.Exit(1)
	}
	for _, verb := range c.Commands {
		verb.Before = noArguments
		// By default the whole help and the error are printed, and main prints the error again.
		verb.OnUsageError = func(_ context.Context, c *cli.Command, err error, _ bool) error {
			return fmt.Errorf("%w; freehold-sink %s -help lists the flags", err, c.Name)
		}
	}
	return c
}

// noArguments refuses arguments that are no flags: a file that is named without -config would be left out in silence.
func noArguments(ctx context.Context, c *cli.Command) (context.Context, error) {
	if c.Args().Present() {
		return ctx, fmt.Errorf("%q is no flag of %s; the configuration is named by -config FILE", c.Args().First(), c.Name)
	}
	return ctx, nil
}

// check says what a configuration would do.
func check(ctx context.Context, c *cli.Command) error {
	conf, err := config.Load(c.String("config"), os.Environ())
	if err != nil {
		return err
	}
	connect := !c.Bool("offline")
	if connect {
		var stop func()
		if conf, stop, err = demo.WithBroker(ctx, os.Stderr, conf); err != nil {
			return err
		}
		defer stop()
	}
	return service.Describe(ctx, os.Stdout, conf, connect)
}

// replay sends records of objects to a topic.
func replay(ctx context.Context, c *cli.Command) error {
	conf, err := config.Load(c.String("config"), os.Environ())
	if err != nil {
		return err
	}
	if slices.Contains(conf.Kafka.Brokers, demo.Embedded) {
		return errors.New("kafka.brokers is embedded, and that broker ends with the process that has it: replay needs another one")
	}
	return service.Replay(ctx, os.Stdout, conf, service.ReplayOptions{
		From: c.String("topic"), To: c.String("to"), Rejected: c.Bool("rejected"), KeepPartitions: c.Bool("keep-partitions"),
		FromOffset: c.Int64("from-offset"), ToOffset: c.Int64("to-offset"), After: c.String("after"),
	})
}

// run runs the service.
func run(ctx context.Context, file string) error {
	conf, err := config.Load(file, os.Environ())
	if err != nil {
		return err
	}
	log, err := logger(conf.Log)
	if err != nil {
		return err
	}
	conf, stop, err := demo.WithBroker(ctx, os.Stderr, conf)
	if err != nil {
		return err
	}
	defer stop()
	s, err := service.New(ctx, conf, log)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

func logger(c config.Log) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(strings.ToUpper(c.Level))); err != nil {
		return nil, fmt.Errorf("log.level: %w", err)
	}
	o := &slog.HandlerOptions{Level: level}
	switch c.Format {
	case "json":
		return slog.New(slog.NewJSONHandler(os.Stderr, o)), nil
	case "text":
		return slog.New(slog.NewTextHandler(os.Stderr, o)), nil
	}
	return nil, fmt.Errorf("log.format is %q; it must be text or json", c.Format)
}
