// SPDX-License-Identifier: Apache-2.0
// The table of answers as what a server serves.
#pragma once

#include <string>

#include "serve/page_service.h"
#include "studio/answers.h"

namespace tessera {

// What questions are about beside their fields; null where there is none. They outlive the service.
struct StudioRuns {
  const RunFolders* folders = nullptr;
  StartedRuns* started = nullptr;
  KeptChat* chat = nullptr;
};

// The page is that of the binary, or of a folder where one is given.
PageService studio_service(const std::string& page_folder, const StudioRuns& runs);

}  // namespace tessera
