// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/open_mpi_segments.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace tessera {

std::optional<uint32_t> open_mpi_job_of(pid_t rank) {
  constexpr std::string_view kVariable = "OMPI_MCA_ess_base_jobid=";
  std::ifstream environment(fmt::format("/proc/{}/environ", rank), std::ios::binary);
  for (std::string entry; std::getline(environment, entry, '\0');)
    if (entry.starts_with(kVariable))
      return static_cast<uint32_t>(
          std::strtoull(entry.c_str() + kVariable.size(), nullptr, 10));  // NOLINT
  return std::nullopt;
}

void remove_open_mpi_segments(uint32_t job, const std::filesystem::path& folder) {
  // vader_segment.<host>.<user>.<job>.<rank>
  const std::string of_job = fmt::format(".{:x}", job);
  std::error_code ignored;  // what stays takes memory, but harms nobody
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::filesystem::path name = entry.path().filename();
    if (name.string().starts_with("vader_segment.") && name.stem().extension() == of_job)
      std::filesystem::remove(entry.path(), ignored);
  }
}

}  // namespace tessera
