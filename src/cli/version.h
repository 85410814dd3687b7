// SPDX-License-Identifier: Apache-2.0
// The version that `tessera --version` prints, with the commit it was built from.
#pragma once

namespace tessera {

const char* version();  // "0.1.0 (8f0a899, with changes)"; without a commit where git knows none

}  // namespace tessera
