// SPDX-License-Identifier: Apache-2.0

// Package sink moves the records of Kafka topics into objects of a store, and commits what is durable.
//
// # Model
//
// A Sink takes records from a source.Source. Each partition of a topic that this process owns has a writer. It divides the records into
// groups (by hour, by a field, or not at all), and writes those of each group into an open object: encoded as the format says, and
// compressed in members of equal size, which stand one after the other in the object.
//
// The records from the committed offset to the next boundary are an epoch. At the boundary the writer ends all open objects of the partition,
// stores them, waits until all are durable, and commits the offset of the next record. Meanwhile the next epoch grows. So nothing is open at a committed
// offset, and a restart needs no other state.
//
// # Exactly once
//
// An object's key holds the topic, the partition, the group and the first offset; its bytes follow from the configuration and its records.
// If the process dies between storing and committing, the epoch is read again, and its objects replace those that are there. If the boundaries follow
// from the records alone (Rotation: Records, Bytes, Span), the objects are the same ones, whoever writes them, and however often.
// With boundaries by the clock (Age, Every, FlushOnStop) this holds as long as one process at a time writes a partition, which a group
// guarantees but for a process that stands still for longer than its session, and then goes on: then records can be in
// two objects. Records are never lost.
//
// These break the promise: another configuration at the second time, and another version of a compressor, if bytes are compared and not records.
//
// # Independent groups
//
// Where records are divided into many groups, epochs make small objects. With Rotation.Independent each group's object ends by itself. The committed offset is then
// that of the oldest record in an open object; what is stored beyond it stands, group by group, in the metadata of the commit, and whoever reads the partition
// next leaves those records out. What is said above holds for this, too, and for the records, not the bytes: members may be cut at other places. The broker bounds
// the metadata. If it is full, all objects of the partition end early, which counts as a boundary by the clock.
//
// # Memory
//
// Records, open objects and compressed content lie outside the Go heap and count against a block.Budget. Beyond its limit the sink
// fetches no more, until objects are stored. If all memory is in open objects that no boundary ends, the sink moves the compressed content of the largest
// epoch to files (Options.Spill), which changes neither objects nor boundaries. Without a directory for them, or if it is full, the sink ends that epoch
// early, says so in the log and counts it (Stats.EarlyEnds).
//
// # Errors
//
// A record that cannot be written is treated as Options.Bad says, and never dropped in silence. An error of the store
// that lasts ends Run: nothing is committed that is not stored, so the next start goes on from there.
package sink
