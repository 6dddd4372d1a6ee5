// SPDX-License-Identifier: Apache-2.0

//go:build !(amd64 || arm64) || go1.28

package workloads

import "github.com/freehold-go/freehold/cmd/bench"

// sonicContestants are none: sonic calls encoding/json here.
func sonicContestants(bool) []bench.Contestant { return nil }

// sonicLines are none, too.
func sonicLines() []bench.Contestant { return nil }

// sonicOrders are none, too.
func sonicOrders() []bench.Contestant { return nil }
