// SPDX-License-Identifier: Apache-2.0

package graph

// This file lists struct types of the standard library that the rule of arena.DeepClone needs to
// know, by their package and all their fields. A Go release that changes the fields of a type makes
// it an unknown one, whose values are refused, and TestKnownTypes fails (GC-10).

// KnownTypes are the types whose unexported fields are what their types say, in all code of their
// package. They are copied field by field.
var KnownTypes = set(
	"bytes: buf []uint8; off int; lastRead bytes.readOp",                                          // Buffer
	"bytes: s []uint8; i int64; prevRune int",                                                     // Reader
	"container/list: next *list.Element; prev *list.Element; list *list.List; Value interface {}", // Element
	"container/list: root list.Element; len int",                                                  // List
	"container/ring: next *ring.Ring; prev *ring.Ring; Value interface {}",                        // Ring
	"crypto/x509: der []uint8",                                                                    // OID
	"errors: errs []error",                                                                        // of Join
	"fmt: msg string; err error",                                                                  // of Errorf with one %w
	"fmt: msg string; errs []error",                                                               // of Errorf with several
	"math/big: a big.Int; b big.Int",                                                              // Rat
	"math/big: neg bool; abs big.nat",                                                             // Int
	"math/big: prec uint32; mode big.RoundingMode; acc big.Accuracy; form big.form; neg bool; mant big.nat; exp int32",                        // Float
	"mime/multipart: Filename string; Header textproto.MIMEHeader; Size int64; content []uint8; tmpfile string; tmpoff int64; tmpshared bool", // FileHeader
	"net/url: username string; password string; passwordSet bool",                                                                             // Userinfo
	"strings: addr *strings.Builder; buf []uint8",                                                                                             // Builder
	"strings: s string; i int64; prevRune int",                                                                                                // Reader
	"sync: noCopy sync.noCopy; L sync.Locker; notify sync.notifyList; checker sync.copyChecker",                                               // Cond
	"sync/atomic: v interface {}", // Value
)

// A RefusedType says why values of a type are refused unless they are zero.
type RefusedType struct {
	Why string
	// Final says that Share does not permit copies of the bits either.
	Final bool
}

// RefusedTypes need no unexported pointers to be wrong when copied, or deserve a better message.
var RefusedTypes = map[string]RefusedType{
	"time: C <-chan time.Time; initTimer bool":  {timerWhy, true},
	"time: C <-chan time.Time; initTicker bool": {timerWhy, true},
	"os: file *os.file":                         {"is an open file", false},
	"sync: _ sync.noCopy; m sync.HashTrieMap[interface {},interface {}]": {
		"keeps entries in memory of other types: copy the entries to a map", false},
}

const timerWhy = "is known to the runtime by its address, with more memory than its fields"

// SharedNames are the types, by package and name, to which pointers are shared: values of these
// types do not change for those who use them. To share is sound whatever fields the type has.
var SharedNames = set(
	"google.golang.org/protobuf/internal/impl.MessageInfo", // Each generated message leads to its type's.
	"regexp.Regexp",
	"strings.Replacer",
)

func set(keys ...string) map[string]bool {
	m := make(map[string]bool, len(keys))
	for _, k := range keys {
		m[k] = true
	}
	return m
}
