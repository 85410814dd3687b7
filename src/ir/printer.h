// SPDX-License-Identifier: Apache-2.0
// The IR as text; ir/parser.h reads it back to the same module.
#pragma once

#include <string>

#include "ir/module.h"

namespace tessera {

std::string print(const Module& module);
std::string print(const BlockClass& block_class, const Mesh& mesh = {});

}  // namespace tessera
