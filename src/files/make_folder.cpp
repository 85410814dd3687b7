// SPDX-License-Identifier: Apache-2.0
#include "files/make_folder.h"

#include "core/error.h"
#include "files/errno_text.h"

namespace tessera {

void make_folder(const std::filesystem::path& folder, const std::string& advice) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw user_error("cannot create the folder {}: {}", folder.string(), errno_text(error.value()))
        .help(advice);
}

}  // namespace tessera
