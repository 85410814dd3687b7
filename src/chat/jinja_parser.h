// SPDX-License-Identifier: Apache-2.0
// Reads a chat template into its syntax tree: the part of Jinja that docs/chat.md lists; all else
// is a UserError with its line.
#pragma once

#include <string_view>

#include "chat/jinja_syntax.h"

namespace tessera {

JinjaBody parse_jinja(std::string_view source);

}  // namespace tessera
