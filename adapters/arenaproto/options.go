// SPDX-License-Identifier: Apache-2.0

package arenaproto

import "google.golang.org/protobuf/proto"

// UnmarshalOptions are those of package proto, with the same meaning, and more.
type UnmarshalOptions struct {
	proto.UnmarshalOptions
	// AliasInput makes strings and bytes parts of the input, which is not copied: the caller must not
	// change it as long as the message is in use. It saves memory and time; a part in use keeps the
	// whole input alive.
	AliasInput bool
	// MaxSize bounds the bytes of a message that [Each] reads. 0 means 4 MiB, -1 means no bound.
	MaxSize int64
}
