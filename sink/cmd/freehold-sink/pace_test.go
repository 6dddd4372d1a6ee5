// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// pace is how long a transfer of the topic would take if the fault lasted so long. Without it a
// million records are often committed before the fault has ended.
const pace = 5 * time.Minute

// slow has the brokers limit what they send to each client, so that a transfer takes as long as
// pace says, until the returned function is called.
func (s *suite) slow(t *testing.T) (restore func()) {
	t.Helper()
	rate := s.bytes(t) / int64(s.brokers) / int64(pace/time.Second)
	s.limit(t, kadm.AlterClientQuotaOp{Key: quota, Value: float64(rate)}) // Brokers refuse fractions.
	return func() {
		t.Helper()
		s.limit(t, kadm.AlterClientQuotaOp{Key: quota, Remove: true})
	}
}

// quota is the setting of brokers that limits the bytes a second that a broker sends to the clients
// of one name.
const quota = "consumer_byte_rate"

func (s *suite) limit(t *testing.T, op kadm.AlterClientQuotaOp) {
	t.Helper()
	altered, err := s.admin.AlterClientQuotas(t.Context(), []kadm.AlterClientQuotaEntry{{
		Entity: kadm.ClientQuotaEntity{{Type: "client-id"}}, Ops: []kadm.AlterClientQuotaOp{op},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range altered {
		if a.Err != nil {
			t.Fatal(a.Err)
		}
	}
}

// bytes is the size of the topic's records as brokers store and send them.
func (s *suite) bytes(t *testing.T) (sum int64) {
	t.Helper()
	brokers, err := s.admin.DescribeAllLogDirs(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	largest := map[int32]int64{} // by partition: each broker has a copy
	brokers.Each(func(dir kadm.DescribedLogDir) {
		for _, p := range dir.Topics[topic] {
			largest[p.Partition] = max(largest[p.Partition], p.Size)
		}
	})
	for _, size := range largest {
		sum += size
	}
	if sum == 0 {
		t.Fatal("the brokers do not say how large the topic is")
	}
	return sum
}
