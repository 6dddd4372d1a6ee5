// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/sink/record"
)

// ahead has the offset up to which the records of a group are stored, where that is beyond the committed one.
type ahead map[string]int64

// rejectsTag is the name of the rejected records, where groups have the prefix groupTag.
const (
	rejectsTag = "r"
	groupTag   = "g"
)

// mostMetadata is how long the metadata of a commit may be. Brokers take 4,096 bytes by default (offset.metadata.max.bytes).
const mostMetadata = 4000

// has reports whether a record of a group is in an object that is stored.
func (a ahead) has(tag string, group []byte, r *record.Record) bool {
	if len(a) == 0 {
		return false
	}
	return r.Offset < a[tag+string(group)]
}

// metadataPrefix begins the metadata of commits. What begins otherwise is another program's.
const metadataPrefix = "freehold-sink/1 "

// encode writes the groups whose records are stored beyond the committed offset: the names in order, each as the number of bytes that it shares with
// the name before, the number of those that follow, these, and the distance from the offset. Numbers are varints. All of it is deflated, and base64 without
// padding.
func (a ahead) encode(committed int64) string {
	var b []byte
	before := ""
	for _, name := range slices.Sorted(maps.Keys(a)) {
		next := a[name]
		if next <= committed {
			continue
		}
		shared := 0
		for shared < len(name) && shared < len(before) && name[shared] == before[shared] {
			shared++
		}
		b = binary.AppendUvarint(b, uint64(shared))
		b = binary.AppendUvarint(b, uint64(len(name)-shared))
		b = append(b, name[shared:]...)
		b = binary.AppendUvarint(b, uint64(next-committed))
		before = name
	}
	if len(b) == 0 {
		return ""
	}
	var small bytes.Buffer
	z, _ := flate.NewWriter(&small, flate.BestCompression) // The level is valid.
	z.Write(b)                                             // A buffer takes all.
	z.Close()
	return metadataPrefix + base64.RawStdEncoding.EncodeToString(small.Bytes())
}

var errMetadata = errors.New("the metadata of the committed offset is damaged, so it is not known which records are stored already; " +
	"commit the offset again without metadata to write them again")

// decodeAhead is the inverse of encode. The result is empty if the metadata is another program's.
func decodeAhead(metadata string, committed int64) (ahead, error) {
	text, ours := strings.CutPrefix(metadata, metadataPrefix)
	if !ours {
		return ahead{}, nil
	}
	// Damaged text may deflate to anything: of what the sink has written it is some 20 times as long at most.
	b, err := io.ReadAll(io.LimitReader(flate.NewReader(base64.NewDecoder(base64.RawStdEncoding, strings.NewReader(text))), 1<<20))
	if err != nil || len(b) == 1<<20 {
		return nil, errMetadata
	}
	number := func() uint64 {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			err, b = errMetadata, nil
			return 0
		}
		b = b[size:]
		return n
	}
	stored := ahead{}
	for before := ""; len(b) > 0; {
		shared, more := number(), number()
		if shared > uint64(len(before)) || more > uint64(len(b)) {
			return nil, errMetadata
		}
		name := before[:shared] + string(b[:more])
		b = b[more:]
		stored[name] = committed + int64(number())
		before = name
	}
	return stored, err
}
