// SPDX-License-Identifier: Apache-2.0
// The secret that a page shows with every question: who has not seen the terminal, or the file that
// opened the browser, cannot ask.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

std::string make_access_token();  // 128 bits from the system, as 32 hexadecimal digits

// In a time that does not depend on where they differ.
bool equal_secrets(std::string_view given, std::string_view secret);

}  // namespace tessera
