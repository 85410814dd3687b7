// SPDX-License-Identifier: Apache-2.0
// Translates splitting rules from Oniguruma to PCRE2. Syntax that both interpret in the same way
// stays; white space and hex digits are expanded; everything else is rejected.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

std::string to_pcre2_pattern(std::string_view pattern);  // a UserError names what is rejected

}  // namespace tessera
