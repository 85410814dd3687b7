// SPDX-License-Identifier: Apache-2.0
// The options that `generate` and `chat` share: which model writes, where it runs, and how a token
// is chosen.
#pragma once

#include <cstdint>
#include <string>

#include "cli/command_line.h"
#include "inference/stored_writer.h"
#include "inference/token_choice.h"

namespace tessera {

struct WriterWords {
  WriterOptions writer;
  std::string device = std::string(name(DeviceKind::Cpu));
  TokenChoice choice;
  uint64_t seed = 1;

  WriterOptions options() const;
};

// `words` must live as long as the application.
void add_writer_words(Command command, WriterWords& words);

}  // namespace tessera
