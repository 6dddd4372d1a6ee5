// SPDX-License-Identifier: Apache-2.0

package bound

import "sync"

// HugePagesMissing returns why mappings cannot have huge pages here, or "".
var HugePagesMissing = sync.OnceValue(noHugePages)
