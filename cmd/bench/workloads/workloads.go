// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"slices"

	"github.com/freehold-go/freehold/cmd/bench"
)

// All returns freehold's workloads, in a set of the caller's own.
func All() *bench.Set {
	return bench.NewSet(slices.Concat(
		listWorkloads(), pairWorkloads(), churnWorkloads(), handoffWorkloads(), fragmentationWorkloads(),
		scanWorkloads(), scanMapWorkloads(),
		objectsWorkloads(), treeWorkloads(), mapWorkloads(), frameWorkloads(),
		poolWorkloads(), poolBufferWorkloads(), poolSlabWorkloads(), cacheWorkloads(), cacheMemoryWorkloads(), cacheTypeWorkloads(), sortWorkloads(), sortFileWorkloads(),
		jsonWorkloads(), decodeWorkloads(), []bench.Workload{linesWorkload(), orderWorkload()},
	)...)
}
