// SPDX-License-Identifier: Apache-2.0
#include "core/byte_size.h"

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace tessera {

int64_t parse_byte_size(const std::string& text) {
  static constexpr std::array<std::pair<std::string_view, double>, 9> kUnits{
      {{"", 1.0},
       {"B", 1.0},
       {"KB", 1e3},
       {"MB", 1e6},
       {"GB", 1e9},
       {"TB", 1e12},
       {"KiB", 1024.0},
       {"MiB", 1048576.0},
       {"GiB", 1073741824.0}}};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && number > 0)
    for (const auto& [unit, bytes] : kUnits)
      if (unit == std::string_view(end)) return static_cast<int64_t>(number * bytes);
  throw user_error("{} is not a size", text)
      .help("write a number and a unit, such as 24GB, 512MB or 1.5GiB");
}

}  // namespace tessera
