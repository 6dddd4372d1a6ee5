// Package protobuf has workloads that decode Protocol Buffers with different libraries.
//
// The messages are of public schemata and are made from a seed. A workload is one type, because some contestants exist for some types
// alone.
package protobuf
