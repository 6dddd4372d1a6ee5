// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/freehold-go/freehold/cmd/compare/child"
)

// A program runs once under a setting.
type program interface {
	run(ctx context.Context, s Setting, traced bool) (*child.Outcome, error)
	// command is what the user would paste behind the setting.
	command() string
}

// A row has what was measured under one setting.
type row struct {
	setting        Setting
	cpu, wall, rss []float64
	// Of the discarded round:
	took   time.Duration
	cycles int     // that the program did not ask for
	gogc   float64 // as the goals of the heap show it, or 0
	peak   float64
}

// once runs a command that is not measured.
func once(ctx context.Context, name, line string) error {
	env, args, err := child.ParseWords(line)
	if err != nil {
		return fmt.Errorf("%s, %q: %w", name, line, err)
	}
	_, err = (&child.Process{Name: name, Args: args, Env: env}).Run(ctx, false)
	return err
}

// leadingVariables divides words into variables in front and the rest.
func leadingVariables(words []string) (env, args []string) {
	for i, w := range words {
		if name, _, ok := strings.Cut(w, "="); !ok || name == "" || strings.ContainsAny(name, "/ -.") {
			return words[:i], words[i:]
		}
	}
	return words, nil
}

// A commandProgram is a command with fixed work.
type commandProgram struct{ child.Process }

func (c *commandProgram) run(ctx context.Context, s Setting, traced bool) (*child.Outcome, error) {
	return c.under(s).Run(ctx, traced)
}

// under is the command with a setting's environment.
func (c *commandProgram) under(s Setting) *child.Process {
	p := c.Process
	p.Name += " with " + s.String()
	p.Env = slices.Concat(p.Env, s.all())
	return &p
}

func (c *commandProgram) command() string {
	var words []string
	for _, a := range slices.Concat(c.Env, c.Args) {
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$;&|<>()*?`#~") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}
