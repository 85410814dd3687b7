// SPDX-License-Identifier: Apache-2.0
// The table of answers as what a server serves.
#pragma once

#include <string>

#include "serve/page_service.h"

namespace tessera {

// The page is that of the binary, or of a folder where one is given.
PageService studio_service(const std::string& page_folder);

}  // namespace tessera
