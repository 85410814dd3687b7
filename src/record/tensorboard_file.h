// SPDX-License-Identifier: Apache-2.0
// Numbers of steps as TensorBoard reads them: a TFRecord file of Event messages, each written as
// soon as it is known. Every start of a run has a file of its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "files/record_file.h"

namespace tessera {

struct Scalar {
  std::string tag;
  double value = 0;
};

class TensorboardFile {
 public:
  // Makes the folder. A run that resumes after `resumed_step` tells readers to drop what files of
  // earlier starts hold of later steps.
  TensorboardFile(const std::filesystem::path& folder, std::optional<int64_t> resumed_step,
                  Warn warn = {});

  void write(int64_t step, std::span<const Scalar> scalars);
  std::string losses() const { return file_.losses(); }

 private:
  RecordFile file_;
};

}  // namespace tessera
