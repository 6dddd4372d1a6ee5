// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	RunChild()
	os.Exit(m.Run())
}

// What goes in comes out: each order is in one summary, and the revenue is theirs.
func TestHandle(t *testing.T) {
	topic, err := newTopic(2)
	if err != nil {
		t.Fatal(err)
	}
	known := newProfiles(10)
	messages := topic.poll(1)
	if len(messages) != messagesPerPoll || &messages[0][0] == &topic.messages[1][0] {
		t.Fatalf("a poll gives %d messages, which must be copies", len(messages))
	}
	out, err := known.handle(messages[0])
	if err != nil {
		t.Fatal(err)
	}
	orders, err := decode(messages[0])
	if err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for _, o := range orders {
		want += o.total()
	}
	n, revenue := 0, 0.0
	for _, message := range out {
		var s summary
		if err := json.Unmarshal(message, &s); err != nil {
			t.Fatal(err)
		}
		n, revenue = n+s.Orders, revenue+s.Revenue
		if len(s.Largest) == 0 || s.Group != strings.ToLower(s.Group) {
			t.Errorf("a summary without its largest orders or its group's name: %+v", s)
		}
	}
	if n != ordersPerBatch || revenue < want-1 || revenue > want+1 {
		t.Errorf("the summaries have %d orders for %.2f; %d orders for %.2f went in", n, revenue, ordersPerBatch, want)
	}
	if len(known.byID) < 10+ordersPerBatch/2 {
		t.Errorf("%d customers are known after a batch by up to %d new ones", len(known.byID), ordersPerBatch)
	}
	if _, err := known.handle([]byte("[{")); err == nil {
		t.Error("a message that is no JSON is taken")
	}
}

// The service answers as soon as Start returns, and is gone after Stop.
func TestProcess(t *testing.T) {
	p, err := Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/debug/pprof/": "goroutine", "/debug/freehold/metrics": "/gc/heap/live:bytes"} {
		resp, err := http.Get(p.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s answers %s without %q: %v", path, resp.Status, want, err)
		}
	}
	p.stop = time.Minute // a busy machine's service must not be killed for its slowness
	p.Stop()
	if p.cmd.ProcessState == nil { // not checked by its port, which another process may have by now
		t.Error("the service goes on after Stop")
	} else if !p.cmd.ProcessState.Success() {
		t.Errorf("the service did not end by itself: %v", p.cmd.ProcessState)
	}
}

func TestStartFails(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if p, err := Start(ctx); err == nil {
		p.Stop()
		t.Error("a service is started after its context ended")
	}
}
