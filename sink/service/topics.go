// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"fmt"
	"time"
)

// watchTopics warns of topics that the brokers do not serve, until ctx ends. If the configuration
// says so, it ends the service by end instead. The client alone would wait for a topic with a
// mistyped name and say nothing.
func (s *Service) watchTopics(ctx context.Context, end func(error)) {
	for wait := s.looks.first; ; wait = s.looks.next {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		ask, cancel := context.WithTimeout(ctx, 15*time.Second)
		reasons, err := s.source.Unreadable(ask)
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				s.log.Warn("the brokers do not say which topics there are, will be asked again", "error", err)
			}
			continue
		}
		s.unreadable.Store(int64(len(reasons)))
		for name, reason := range reasons {
			if s.config.Kafka.MissingTopics == "stop" {
				end(fmt.Errorf("the topic %s cannot be read: %w (kafka.missing_topics is stop)", name, reason))
				return
			}
			s.log.Warn("a topic cannot be read; the sink waits for it", "topic", name, "error", reason)
		}
	}
}
