// SPDX-License-Identifier: Apache-2.0
// Reads the IR as text. Result types may be left out: they are inferred; where given, they must
// agree.
#pragma once

#include <string_view>

#include "ir/module.h"

namespace tessera {

Module parse_module(std::string_view text);

}  // namespace tessera
