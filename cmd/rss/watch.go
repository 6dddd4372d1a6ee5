// SPDX-License-Identifier: Apache-2.0

package rss

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/freehold-go/freehold/cmd/debugport"
	"github.com/freehold-go/freehold/cmd/sweep"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// A Threshold is an amount of memory: bytes, or a share of the control group's limit. The zero value is none.
type Threshold struct {
	Bytes int64
	Share float64
}

// ParseThreshold reads "90%" or "2GiB".
func ParseThreshold(text string) (Threshold, error) {
	if number, ok := strings.CutSuffix(text, "%"); ok {
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err == nil && v > 0 && v <= 100 {
			return Threshold{Share: v / 100}, nil
		}
		return Threshold{}, fmt.Errorf("rss: -at is %q; it must be a share of the limit up to 100%%, or an amount such as 2GiB", text)
	}
	n, err := sweep.ParseMemory(text)
	if err != nil {
		return Threshold{}, fmt.Errorf("rss: -at: %w, or a share of the limit such as 90%%", err)
	}
	return Threshold{Bytes: n}, nil
}

// WatchOptions say how to watch a process.
type WatchOptions struct {
	Options
	// Every is the time between ticks, For the whole time; 0 is a second, and no end.
	Every, For time.Duration
	// At is the amount of memory at which the account and profiles go to the folder Dir.
	At  Threshold
	Dir string
	// Tick gets each tick. Its error ends the watch.
	Tick func(*Tick) error
	// Wait is for tests. nil waits for a duration, or for the end of ctx.
	Wait func(ctx context.Context, d time.Duration)
}

// A Tick is what a watch sees: the resident set each time, the account now and then.
type Tick struct {
	Time time.Time `json:"time"`
	RSS  int64     `json:"rss"`
	Swap int64     `json:"swap"`
	// Group is what the control group is charged with, 0 if it is not known, and Limit its limit, 0 if there is none.
	Group int64 `json:"group"`
	Limit int64 `json:"limit"`
	// Account is there if the resident set has moved.
	Account *Report `json:"account,omitempty"`
	// Saved is the folder with the profiles, if memory reached the threshold.
	Saved string `json:"saved,omitempty"`
	// Problem is why an account or a profile is missing. The watch goes on.
	Problem string `json:"problem,omitempty"`
}

// When an account is taken.
const (
	moved    = 0.05
	seldom   = time.Minute
	rearm    = 0.9 // the share of the threshold below which it counts again
	mostSets = 3   // folders that a watch writes
)

// A watcher watches one process.
type watcher struct {
	*subject
	o         *WatchOptions
	group     *Group
	last      *Report
	tried     time.Time // when an account failed
	threshold int64
	over      bool
	sets      int
}

// Watch looks at a process until it ends, ctx ends, or the time is over, and returns the accounts that it took. Between them it reads two
// small files of the kernel for each tick, and asks the program for nothing.
func Watch(ctx context.Context, o WatchOptions) ([]*Report, error) {
	if o.Collect || o.Creators || o.Leaks {
		return nil, errors.New("rss: -gc, -creators and -leaks disturb the program, and -watch must not; take one account with them")
	}
	if (o.At != Threshold{}) != (o.Dir != "") {
		return nil, errors.New("rss: -at and -o belong together: what is reached, and the folder for the profiles")
	}
	if o.Dir != "" {
		if err := os.MkdirAll(o.Dir, 0o755); err != nil { // now, and not when memory is short
			return nil, fmt.Errorf("rss: -o: %w", err)
		}
	}
	if o.Every <= 0 {
		o.Every = time.Second
	}
	if o.Wait == nil {
		o.Wait = wait
	}
	s, err := open(ctx, o.Options)
	if err != nil {
		return nil, err
	}
	if s.process == nil {
		return nil, fmt.Errorf("rss: -watch reads the process's files, and %s; give the process ID", s.note)
	}
	w := &watcher{subject: s, o: &o}
	s.brief = true
	var list []*Report
	for begin := s.Now(); ; {
		t, err := w.tick(ctx)
		switch {
		case ctx.Err() != nil, len(list) > 0 && errors.Is(err, errEnded):
			return list, nil
		case err != nil:
			return list, err
		}
		if t.Account != nil {
			list = append(list, t.Account)
		}
		if o.Tick != nil {
			if err := o.Tick(t); err != nil {
				return list, err
			}
		}
		if o.For > 0 && s.Now().Sub(begin) >= o.For {
			return list, nil
		}
		o.Wait(ctx, o.Every)
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// errEnded says that the process is not there any more.
var errEnded = errors.New("the process ended")

// tick reads the status and the group's charge, and takes an account if the resident set has moved.
func (w *watcher) tick(ctx context.Context) (*Tick, error) {
	status := w.process.status()
	if status["VmRSS"] == "" {
		return nil, fmt.Errorf("rss: process %d ended: %w", w.process.pid, errEnded)
	}
	t := &Tick{Time: w.Now(), RSS: kib(status["VmRSS"]), Swap: kib(status["VmSwap"])}
	if w.group != nil {
		t.Group, _ = number(w.group.current)
		t.Limit = w.group.Limit
	}
	if due := w.last == nil || math.Abs(float64(t.RSS-w.last.RSS)) >= moved*float64(w.last.RSS) && t.Time.Sub(w.last.Time) >= seldom && t.Time.Sub(w.tried) >= seldom; due {
		if err := w.take(ctx, t); err != nil {
			return nil, err
		}
	}
	w.guard(ctx, t)
	return t, nil
}

// take takes an account.
func (w *watcher) take(ctx context.Context, t *Tick) error {
	r, err := w.account(ctx)
	if err != nil {
		if w.process.status()["VmRSS"] == "" {
			return fmt.Errorf("%w: %w", err, errEnded)
		}
		if w.last == nil {
			return err
		}
		t.Problem, w.tried = err.Error(), t.Time // a program that is too busy to answer may do so in a minute
		return nil
	}
	first := w.last == nil
	t.Account, w.last = r, r
	if w.group = r.Group; w.group != nil {
		t.Group, t.Limit = r.Group.Current, r.Group.Limit
	}
	if first {
		return w.aim()
	}
	return nil
}

// aim computes the threshold in bytes.
func (w *watcher) aim() error {
	w.threshold = w.o.At.Bytes
	if w.o.At.Share == 0 {
		return nil
	}
	if w.group == nil || w.group.Limit == 0 {
		return errors.New("rss: -at is a share of the control group's limit, and there is none here; give an amount, such as -at 2GiB")
	}
	w.threshold = int64(w.o.At.Share * float64(w.group.Limit))
	return nil
}

// guard saves the profiles if memory has reached the threshold. The cache of files does not count: the kernel takes it before it kills.
func (w *watcher) guard(ctx context.Context, t *Tick) {
	if w.threshold == 0 {
		return
	}
	used := t.RSS
	if w.o.At.Share > 0 || w.group != nil && t.Group > used {
		if used = t.Group; used >= w.threshold {
			if g := groupOf(w.process, w.Groups, 0); g != nil {
				used = g.Current - g.Cache
			}
		}
	}
	if used < int64(rearm*float64(w.threshold)) {
		w.over = false
	}
	if used < w.threshold || w.over || w.sets == mostSets {
		return
	}
	w.over = true
	w.sets++
	dir, err := w.save(ctx, t)
	if t.Saved = dir; err != nil {
		t.Problem = err.Error()
	}
}

// save writes the account and the profiles, the smallest first: there may be little time.
func (w *watcher) save(ctx context.Context, t *Tick) (string, error) {
	dir := filepath.Join(w.o.Dir, t.Time.UTC().Format("20060102T150405Z"))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("rss: -o: %w", err)
	}
	write := func(name string, data []byte) error {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return fmt.Errorf("rss: -o: %w", err)
		}
		return nil
	}
	r := t.Account
	var failed error
	if r == nil {
		if r, failed = w.account(ctx); failed == nil {
			t.Account, w.last = r, r
		}
	}
	if r != nil {
		var text strings.Builder
		data, err := json.MarshalIndent(r, "", "  ")
		err = errors.Join(err, r.WriteText(&text, false, terminal.Width(nil), true), write("account.json", data), write("account.txt", []byte(text.String())))
		if err != nil {
			return dir, err
		}
	}
	if w.server == nil {
		return dir, failed
	}
	for _, p := range [][2]string{{"heap.pb.gz", debugport.Pprof + "/heap"}, {"goroutine.pb.gz", debugport.Pprof + "/goroutine"}, {"offheap.pb.gz", debugport.Pprof + "/offheap"}, {"vars.json", debugport.Vars}} {
		data, err := w.server.Get(ctx, p[1], 0)
		if err != nil {
			if debugport.Status(err) == 0 {
				failed = errors.Join(failed, fmt.Errorf("rss: -o: %w", err))
			}
			continue // it is not served
		}
		if err := write(p[0], data); err != nil {
			return dir, err
		}
	}
	return dir, failed
}

// String is the tick as a line.
func (t *Tick) String() string {
	s := fmt.Sprintf("%s  RSS %s", t.Time.Format("15:04:05"), mib(t.RSS))
	if t.Swap > 0 {
		s += "  swap " + mib(t.Swap)
	}
	if t.Group > 0 {
		s += "  control group " + mib(t.Group)
	}
	if t.Limit > 0 {
		s += fmt.Sprintf(" of %s (%s)", mib(t.Limit), terminal.Percent(float64(t.Group)/float64(t.Limit)))
	}
	return s
}
