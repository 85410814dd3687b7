// SPDX-License-Identifier: Apache-2.0
// Splitting rules are written for Oniguruma; this writes them for PCRE2. What the two read in the
// same way stays; white space and hex digits are spelt out; what could differ is refused.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

std::string to_pcre2_pattern(std::string_view pattern);  // a UserError names what is refused

}  // namespace tessera
