// SPDX-License-Identifier: Apache-2.0
#include "comm/failure/failure_file.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "files/atomic_file.h"
#include "system/say.h"

namespace tessera {

void write_failure_file(const std::filesystem::path& run, std::string_view cause,
                        std::span<const RankReport> ranks) {
  const std::filesystem::path file = run / "failure.txt";
  try {
    write_file_atomically(file, fmt::format("{}\n{}", cause, to_text(ranks)));
    say(stderr, "what every rank was doing: {}\n", file.string());
  } catch (const std::exception& problem) {
    say(stderr, "warning: the failure report could not be written: {}\n", problem.what());
  }
}

}  // namespace tessera
