// SPDX-License-Identifier: Apache-2.0

package filestore_test

import (
	"testing"

	"github.com/freehold-go/freehold/sink/examples/filestore"
	"github.com/freehold-go/freehold/sink/store"
	"github.com/freehold-go/freehold/sink/store/storetest"
)

// TestConformance is all that a store written elsewhere needs to know that the sink can use it.
func TestConformance(t *testing.T) {
	storetest.Test(t, func(t *testing.T) store.Store { return filestore.New(t.TempDir()) })
}
