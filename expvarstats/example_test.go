// SPDX-License-Identifier: Apache-2.0

package expvarstats_test

import (
	"encoding/json"
	"expvar"
	"fmt"

	"github.com/freehold-go/freehold/expvarstats"
	"github.com/freehold-go/freehold/offheap"
)

func Example() {
	expvarstats.Publish("offheap") // Once, at the start. The variable is at /debug/vars then.

	network := offheap.NewPurpose("network")
	defer offheap.Free(network.Alloc(1 << 20))

	var f expvarstats.Figures
	if err := json.Unmarshal([]byte(expvar.Get("offheap").String()), &f); err != nil {
		fmt.Println(err)
	}
	fmt.Println(f.Offheap.Purposes["network"].InUse)
	// Output: 1048576
}
