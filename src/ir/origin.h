// SPDX-License-Identifier: Apache-2.0
// Where a value of the IR comes from: the line of C++ that wrote it, and the passes that made it
// and last changed what computes it. Nothing depends on it: neither text nor bits.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// As std::source_location, which emscripten's library lacks.
struct SourceLine {
  const char* file = nullptr;  // as the compiler was given it; null: not known
  int line = 0;

  bool known() const { return file != nullptr; }
  // As a default argument: the line of the call.
  static constexpr SourceLine here(const char* file = __builtin_FILE(),
                                   int line = __builtin_LINE()) {
    return {file, line};
  }
};

// Within the project a path in it: src/models/llama.cpp. Elsewhere as it is.
std::string_view file_name(const SourceLine& source);
std::string to_string(const SourceLine& source);  // src/models/llama.cpp:57

// What a model wrote; the other values are made by passes.
inline constexpr std::string_view kMadeByModel = "model";

struct Origin {
  SourceLine line = {};
  std::string_view made_by = {};     // empty until stamp_origins has seen it
  std::string_view changed_by = {};  // empty: by none
  bool changed = false;              // by the pass that is running
};

}  // namespace tessera
