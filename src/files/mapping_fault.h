// SPDX-License-Identifier: Apache-2.0
// A mapped file whose bytes the disk does not give, or which somebody has made shorter, would end
// the process by SIGBUS without a word. With this it ends with a word: which file, which byte.
// No caller can forget it, and no reader pays for it.
#pragma once

namespace tessera {

// For the first lines of main; the process then ends with that status.
void explain_mapping_faults(int exit_status);

}  // namespace tessera
