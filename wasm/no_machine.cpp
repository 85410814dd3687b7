// SPDX-License-Identifier: Apache-2.0
// Stands in for studio/machine_kinds.cpp and what reads files: a page has neither kernels nor files.
#include "files/mapped_file.h"
#include "studio/kinds.h"

namespace tessera {

std::span<const QuestionKind> machine_kinds() { return {}; }

}  // namespace tessera
