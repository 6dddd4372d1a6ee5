// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"

	"github.com/freehold-go/freehold/internal/checks/testenv"
)

// apiTests maps each function and method of the API, as api/cache.txt has it up to its parameters, to
// the tests that hold it to its documentation. The tests stand here and in internal/checks/suite.
// What the types have in common (Get, Set, Len, Clear, Stats and others) is in commonTests.
var apiTests = map[string]string{
	"New": "TestOptionsListsEachField TestMemoryRefused", "NewMap": "TestMapRefuses", "NewObjects": "TestObjectsRefuse", "NewValues": "TestValuesRefuse",

	"(c *Cache) All": "FuzzCache TestSaveAndLoad TestParallel", "(c *Cache) Delete": "FuzzCache TestSizes TestDeleteAndSetWinOverLoad", "(c *Cache) Get": "FuzzCache TestSizes TestExpiry TestParallel",
	"(c *Cache) GetMany": "FuzzCache TestParallel", "(c *Cache) GetOrLoad": "TestLoadOnce TestLoadCancelled TestLoadPanic TestLoadRecursive TestNegativeAndStale TestRefresh TestLoadNotStored",
	"(c *Cache) Load": "TestSaveAndLoad TestDamagedFile TestSoak", "(c *Cache) Resize": "TestInside TestParallel TestResizeLeast TestMemoryRefused", "(c *Cache) Save": "TestSaveAndLoad TestSaveKilled TestSaveFullDisk",
	"(c *Cache) Set": "FuzzCache TestSizes TestMemoryRefused TestDeleteAndSetWinOverLoad", "(c *Cache) SetTTL": "TestExpiry TestLongTTL", "(c *Cache) Update": "FuzzCache TestUpdateWinsOverLoad",
	"(c *Cache) View": "FuzzCache TestViewHeld TestLateWriteToView",

	"(c *Objects[K, V]) All": "TestObjects", "(c *Objects[K, V]) Close": "TestObjects TestObjectsFreed", "(c *Objects[K, V]) Delete": "TestObjects TestObjectsFreed", "(c *Objects[K, V]) Get": "TestObjects TestObjectsParallel",
	"(c *Objects[K, V]) GetOrLoad": "TestObjects", "(c *Objects[K, V]) Resize": "TestObjectsResize", "(c *Objects[K, V]) Set": "TestObjects TestObjectsWeight", "(c *Objects[K, V]) SetTTL": "TestObjectsExpire",
	"(c *Objects[K, V]) Update": "TestObjects TestObjectsParallel",

	"(c *Values[K, V]) GetOrLoad": "TestValues", "(c *Values[K, V]) Load": "TestValues", "(c *Values[K, V]) Resize": "TestValues", "(c *Values[K, V]) Save": "TestValues TestValuesRefuse", "(c *Values[K, V]) SetTTL": "TestValues",

	"(p *PanicError) Error": "TestLoadPanic", "(p *PanicError) Unwrap": "TestLoadPanic", "(r Reason) String": "TestOnRemove", "(s Stats) HitRatio": "TestStats",
}

// optionTests maps each exported field of the options and of Stats to its tests.
var optionTests = map[string]string{
	"Bytes": "TestOptionsListsEachField TestInside TestSoak", "Name": "TestDropped TestStats", "TTL": "TestExpiry", "Idle": "TestIdle", "Jitter": "TestJitter", "Stale": "TestNegativeAndStale",
	"NegativeTTL": "TestNegativeAndStale", "Refresh": "TestRefresh", "OnRemove": "TestOnRemove FuzzCache TestOnRemoveUnderNoLock TestCompactedReason", "Clock": "TestExpiry",
	"Weight": "TestObjectsWeight", "Limit": "TestMapLimit",
	"Entries": "TestStats", "Hits": "TestStats", "Misses": "TestStats", "Evicted": "TestStats", "Expired": "TestStats", "Deleted": "TestStats", "Replaced": "TestStats", "Loads": "TestStats",
	"LoadsFailed": "TestStats", "EvictionAge": "TestEvictionAge", "BytesHeld": "TestInside TestSoak", "BytesEntries": "TestStats", "BytesTable": "TestTableBytes", "BytesViewed": "TestViewHeld",
	"Value": "TestLoadPanic", "Stack": "TestLoadPanic",
	"Refused": "TestDamagedFile", "Damaged": "TestDamagedFile",
}

// rows is what each mistake, or refusal, does, and the promises that are no call of their own, with their tests.
var rows = map[string]string{
	"key of 0 bytes or above 64 KiB, value above an eighth of Bytes":                     "TestSizes TestObjectsWeight",
	"Bytes below 1 MiB, nonsense in Options":                                             "TestOptionsListsEachField",
	"loader that hangs, panics, asks for its own key; result that cannot be stored":      "TestLoadCancelled TestLoadPanic TestLoadRecursive TestLoadNotStored",
	"clock that goes back or jumps; TTLs by the monotonic clock, saved ones by the wall": "TestExpiry TestSaveAndLoad",
	"saved file cut, flipped, of another version or type; a V with bools":                "TestDamagedFile TestValues TestValuesRefuse",
	"keys made to collide":                                 "TestCollisions TestMapChains",
	"memory refused below the budget":                      "TestMemoryRefused TestMapLimit",
	"a view held for ever":                                 "TestViewHeld TestViewedLine",
	"a slice of View that is written to afterwards":        "TestScribbled TestLateWriteToView",
	"kill -9 and a full disk during Save":                  "TestSaveKilled TestSaveFullDisk",
	"a cache dropped without Close":                        "TestDropped TestMapDropped TestObjectsFreed",
	"calls after Close":                                    "TestClosed",
	"±0 are equal, NaN is refused, padding does not count": "TestValues",
	"the sweep finds what has expired, and its memory is reused before a live entry is evicted": "TestSweep TestExpiredFirst",
	"nothing of a Map is lost; it shrinks":                                                      "TestMapModel TestMapChains TestMapParallel",
	"a hit allocates nothing":                                                                   "TestValues TestObjects",
	"what a removed object holds is freed":                                                      "TestObjectsFreed",
}

// bars are the workloads of freehold bench that measure each bar.
var bars = []string{
	"cache/collector", "cache/get", "cache/both", "cache/miss", "cache/fill", "cache/update", "cache/mixed", "cache/resident", "cache/objects", "cache/map", "cache/garbage",
}

// TestPromises: each line of the API and of the tables has a test that exists.
func TestPromises(t *testing.T) {
	testenv.Promises{
		API: "../api/cache.txt", Functions: apiTests, Types: `Options|OptionsOf\[.*\]|MapOptions|Stats|LoadStats|PanicError`, Fields: optionTests,
		Rows: rows, Workloads: "../cmd/bench/workloads/cache*.go", Bars: bars,
	}.Check(t)
}
