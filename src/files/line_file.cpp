// SPDX-License-Identifier: Apache-2.0
#include "files/line_file.h"

#include <algorithm>

#include "core/error.h"
#include "files/file_reader.h"

namespace tessera {
namespace {

// What is not kept stands at the end. Little more than that is read, because a run of many steps
// may be resumed often.
int64_t kept_bytes(const std::filesystem::path& path, const KeepsLine& keeps) {
  const FileReader file(path);
  for (int64_t block = 1 << 16;; block *= 4) {
    const int64_t begin = std::max<int64_t>(0, file.bytes() - block);
    std::string text(static_cast<size_t>(file.bytes() - begin), '\0');
    file.read(begin, std::as_writable_bytes(std::span(text)));
    for (std::string_view kept = text; !kept.empty();) {
      const size_t line = kept.substr(0, kept.size() - 1).rfind('\n') + 1;  // npos + 1 is 0
      if (line == 0 && begin > 0) break;  // its begin has not been read yet
      if (kept.ends_with('\n') && keeps(kept.substr(line)))
        return begin + static_cast<int64_t>(kept.size());
      kept = kept.substr(0, line);
    }
    if (begin == 0) return 0;
  }
}

RecordFileOptions options_for(const std::filesystem::path& path, bool resumed, Warn warn,
                              const KeepsLine& keeps) {
  RecordFileOptions options{.warn = std::move(warn)};
  std::error_code none;
  const auto bytes = std::filesystem::file_size(path, none);
  if (!resumed) return options;
  options.kept_bytes = none ? 0 : static_cast<int64_t>(bytes);
  if (none || !std::filesystem::is_regular_file(path)) return options;
  try {
    options.kept_bytes = kept_bytes(path, keeps);
  } catch (const UserError& unreadable) {
    if (!options.warn) throw;
    options.warn(fmt::format("{}; its lines stay as they are", unreadable.message()));
  }
  return options;
}

}  // namespace

LineFile::LineFile(const std::filesystem::path& path, bool resumed, Warn warn,
                   const KeepsLine& keeps)
    : file_(path, options_for(path, resumed, std::move(warn), keeps)) {}

}  // namespace tessera
