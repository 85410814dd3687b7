// SPDX-License-Identifier: Apache-2.0
// A lesson's programs for the player of the page: what each rank runs, holds and sends.
#pragma once

#include "files/json.h"
#include "studio/lessons/lesson_run.h"

namespace tessera {

Json programs_json(const LessonRun& run);
Json ranks_json(const LessonRun& run);

}  // namespace tessera
