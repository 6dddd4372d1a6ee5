// SPDX-License-Identifier: Apache-2.0

package service

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/freehold-go/freehold/sink/config"
)

// TestMistypedTopic: the log and a metric say that a topic does not exist, again and again, or the
// service stops.
func TestMistypedTopic(t *testing.T) {
	c := cluster(t)
	conf := configure(t, c)
	conf.HTTP.Listen = "127.0.0.1:0"
	conf.Kafka.Topics = []string{topic, "odrers"}
	var log shared
	s, err := New(t.Context(), conf, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	s.looks.first, s.looks.next = time.Millisecond, time.Millisecond
	r := run(t, s)
	soon(t, "three warnings", func() bool { return strings.Count(log.String(), "topic=odrers") >= 3 })
	if !strings.Contains(log.String(), "it does not exist; correct its name") || strings.Contains(log.String(), "topic="+topic+" error") {
		t.Error(log.String())
	}
	if got := get(t, "http://"+s.Address()+"/metrics"); !strings.Contains(got, "freehold_sink_unreadable_topics 1\n") {
		t.Error("the metric does not count the topic")
	}
	if err := c.CreateTopic("odrers", 1, nil); err != nil {
		t.Fatal(err)
	}
	soon(t, "the topic is there", func() bool { return s.unreadable.Load() == 0 })
	if err := r.end(); err != nil {
		t.Error(err)
	}

	conf.Kafka.Topics, conf.Kafka.MissingTopics = []string{"tpoic"}, "stop"
	if s, err = New(t.Context(), conf, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	s.looks.first = time.Millisecond
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "the topic tpoic cannot be read") {
		t.Error(err)
	}
}

// TestFirstMistakes has what newcomers do: a store that is a file, a replay of a topic without
// objects.
func TestFirstMistakes(t *testing.T) {
	c := cluster(t)
	conf := configure(t, c)
	if err := c.CreateTopic("other", 1, nil); err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]ReplayOptions{
		`no objects of the topic nosuch under "nosuch/"`:                              {From: "nosuch", To: "other"},
		`no objects of the topic nosuch under "nosuch/" from offset 5 to 7; freehold`: {From: "nosuch", To: "other", FromOffset: 5, ToOffset: 7},
	} {
		if err := Replay(t.Context(), new(strings.Builder), conf, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	name := filepath.Join(t.TempDir(), "objects")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{"dir://" + filepath.ToSlash(name), "dir://" + filepath.ToSlash(name) + "/below"} {
		conf.Store = config.Store{URL: url, Uploads: 1}
		if _, err := New(t.Context(), conf, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "needs a directory") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
