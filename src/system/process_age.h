// SPDX-License-Identifier: Apache-2.0
// How long this process has been running, including its loading.
#pragma once

namespace tessera {

double process_age_seconds();

}  // namespace tessera
