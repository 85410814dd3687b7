// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets share: an input as text or as a file, and the one way in which a reader may
// refuse it. Anything else that is thrown, a sanitizer's finding or a failed `must` is a bug.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"

namespace tessera {

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}
// f(line) for every line of the input.
template <typename F>
void each_line(const uint8_t* data, size_t size, F f) {
  std::string_view text = text_of(data, size);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    f(line);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
}

inline void must(bool claim, const char* what) {
  if (claim) return;
  std::fprintf(stderr, "not true: %s\n", what);
  std::abort();
}

// Calls `read`; a UserError is an answer like any other.
template <typename F>
void may_refuse(F&& read) {
  try {
    read();
  } catch (const UserError&) {
  }
}

// What `read` takes, `print` gives as a text that reads back to the same one and is not refused.
template <typename Read, typename Print>
void must_read_back(std::string_view text, Read&& read, Print&& print) {
  std::optional<std::string> printed;
  may_refuse([&] { printed = print(read(text)); });
  if (printed) must(print(read(*printed)) == *printed, "what is printed reads back");
}

// A folder in memory for files that are read through their path; each input replaces them.
class InputFolder {
 public:
  InputFolder() {
    std::string name = "/dev/shm/tessera_fuzz_XXXXXX";
    must(::mkdtemp(name.data()) != nullptr, "a folder can be made in /dev/shm");
    path_ = name;
  }
  ~InputFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  InputFolder(const InputFolder&) = delete;
  InputFolder& operator=(const InputFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const char* name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace tessera
