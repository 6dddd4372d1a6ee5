// SPDX-License-Identifier: Apache-2.0

package vmem

// rlimitAS says that there is no such limit: OpenBSD limits data, which Commit learns of by ENOMEM.
const rlimitAS = -1
