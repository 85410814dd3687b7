// SPDX-License-Identifier: Apache-2.0
// The table of answers as what a server serves.
#pragma once

#include <string>

#include "serve/page_service.h"
#include "studio/answers.h"

namespace tessera {

// The page is that of the binary, or of a folder where one is given. `runs` must outlive it; null:
// there are none.
PageService studio_service(const std::string& page_folder, const RunFolders* runs);

}  // namespace tessera
