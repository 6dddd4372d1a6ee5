// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/freehold-go/freehold/sink/config"
)

// brokersKilled kills one broker after the other, and starts it again: the controller, too. Each
// time the sink commits more afterwards.
func (s *suite) brokersKilled(t *testing.T) {
	conf := s.configure(t)
	s.transfer(t, conf, 2, func(children []*child) {
		for _, i := range []int{1, 0} {
			before := s.committed(t, conf)
			if err := s.cluster.Kill(i); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			if err := s.cluster.Start(t.Context(), i); err != nil {
				t.Fatal(err)
			}
			s.inSync(t)
			s.until(t, conf, before+1, children...)
		}
	})
}

// inSync waits until both brokers have all of the topic again, so that the next one can be killed.
func (s *suite) inSync(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		topics, err := s.admin.ListTopicsWithInternal(t.Context())
		if err != nil {
			continue
		}
		behind := 0
		topics.EachPartition(func(p kadm.PartitionDetail) {
			if len(p.ISR) < len(p.Replicas) {
				behind++
			}
		})
		if behind == 0 {
			return
		}
	}
	t.Fatal("the brokers are not in sync")
}

// leadersMove makes the other broker the leader of all partitions, again and again.
func (s *suite) leadersMove(t *testing.T) {
	s.transfer(t, s.configure(t), 2, func([]*child) {
		for round := range 4 {
			var to kadm.AlterPartitionAssignmentsReq
			leader := int32(1 + round%2)
			for p := range int32(partitions) {
				to.Assign(topic, p, []int32{leader, 3 - leader})
			}
			moved, err := s.admin.AlterPartitionAssignments(t.Context(), to)
			if err == nil {
				err = moved.Error()
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.admin.ElectLeaders(t.Context(), kadm.ElectPreferredReplica, nil); err != nil {
				t.Fatal(err)
			}
			s.led(t, leader)
		}
	})
}

// led waits until a broker leads all partitions of the topic.
func (s *suite) led(t *testing.T, leader int32) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		topics, err := s.admin.ListTopics(t.Context(), topic)
		if err != nil {
			continue
		}
		others := 0
		topics.EachPartition(func(p kadm.PartitionDetail) {
			if p.Leader != leader {
				others++
			}
		})
		if others == 0 {
			return
		}
	}
	t.Fatalf("broker %d does not lead all partitions", leader)
}

// bucket serves an S3 bucket. Before is called before each request that writes; if it returns false, the request is refused.
func bucket(t *testing.T, conf *config.Config, before func() bool) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	backend := s3mem.New()
	if err := backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	handler := gofakes3.New(backend).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if (r.Method == http.MethodPut || r.Method == http.MethodPost) && !before() {
			http.Error(w, "<Error><Code>SlowDown</Code></Error>", http.StatusServiceUnavailable)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	conf.Store.URL = "s3://bucket/prefix?endpoint=" + server.URL + "&region=us-east-1&path-style=true"
}

// storeRefuses has the store refuse all requests for a minute.
func (s *suite) storeRefuses(t *testing.T) {
	var refusing, refused atomic.Int64
	conf := s.configure(t)
	bucket(t, &conf, func() bool {
		refused.Add(refusing.Load())
		return refusing.Load() == 0
	})
	s.transfer(t, conf, 1, func([]*child) {
		pause := 5 * time.Second
		if s.full {
			pause = time.Minute
		}
		refusing.Store(1)
		time.Sleep(pause)
		refusing.Store(0)
	})
	t.Logf("%d requests were refused", refused.Load())
}

// slowStore has each request to the store take half a second.
func (s *suite) slowStore(t *testing.T) {
	conf := s.configure(t)
	bucket(t, &conf, func() bool {
		time.Sleep(500 * time.Millisecond)
		return true
	})
	s.transfer(t, conf, 1, func([]*child) {})
}

// diskFull has the directory on a disk that is full. A sink that may not wait for long ends with an error. One that may wait goes on when there is room.
func (s *suite) diskFull(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting a small disk takes root")
	}
	dir := t.TempDir()
	mount := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("mount", append(args, dir)...).CombinedOutput(); err != nil {
			t.Skipf("mounting a small disk: %v, %s", err, out)
		}
	}
	small := "size=4m"
	mount("-t", "tmpfs", "-o", small, "tmpfs")
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	conf := s.configure(t)
	conf.Store.URL = "dir://" + dir
	conf.Store.RetryFor = config.Duration(2 * time.Second)
	c := spawn(t, conf, "")
	<-c.done
	if c.err == nil || c.slain() || !strings.Contains(c.text(t), "no space left on device") {
		t.Errorf("with a full disk the sink ended with %v\n%s", c.err, c.tail(t))
	}
	conf.Store.RetryFor = config.Duration(10 * time.Minute)
	c = spawn(t, conf, "")
	before := s.committed(t, conf)
	time.Sleep(5 * time.Second)
	if c.ended() {
		t.Fatalf("the sink ended with %v\n%s", c.err, c.tail(t))
	}
	t.Logf("%d records fit on the disk, %d later", before, s.committed(t, conf))
	mount("-o", "remount,size=4g")
	s.until(t, conf, int64(partitions*s.each), c)
	c.stop(t)
	inspect(t, conf)
	s.checkAll(t, conf)
}

// standsStill stops a member by SIGSTOP for longer than its session, so that others have its partitions, and lets it go on.
func (s *suite) standsStill(t *testing.T) {
	s.transfer(t, s.configure(t), 3, func(children []*child) {
		for _, c := range children {
			signal := func(sig syscall.Signal) {
				if err := c.cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
			}
			signal(syscall.SIGSTOP)
			time.Sleep(2 * slowSession)
			signal(syscall.SIGCONT)
		}
	})
}
