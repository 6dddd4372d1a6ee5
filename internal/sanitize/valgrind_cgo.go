// SPDX-License-Identifier: Apache-2.0

//go:build valgrind && cgo && !asan && !msan && linux && (amd64 || arm64)

package sanitize

// Threads that C makes have stacks that Valgrind knows; those that Go makes by itself drown its
// report in complaints about the runtime.
import _ "runtime/cgo"
