// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Unreadable asks the brokers for the topics and returns, for each that they do not serve to this
// client, the reason: it does not exist, or the user may not read it. The client itself waits for
// such topics without a word. Unreadable waits until Run has begun.
func (s *Source) Unreadable(ctx context.Context) (map[string]error, error) {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	topics, err := kadm.NewClient(s.client).ListTopics(ctx, s.o.Topics...)
	if err != nil {
		return nil, fmt.Errorf("kafka: asking for the topics: %w", err)
	}
	reasons := map[string]error{}
	for _, name := range s.o.Topics {
		switch err := topics[name].Err; {
		case errors.Is(err, kerr.UnknownTopicOrPartition):
			reasons[name] = fmt.Errorf("it does not exist; correct its name, or create it: %w", err)
		case err != nil:
			reasons[name] = err
		}
	}
	return reasons, nil
}
