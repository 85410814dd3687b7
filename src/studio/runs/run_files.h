// SPDX-License-Identifier: Apache-2.0
// The records of a run as they grow: whole lines from a byte on, as many as one look takes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "files/closed_folder.h"
#include "files/json.h"

namespace tessera {

inline constexpr const char *kMetricsFile = "metrics.jsonl", *kEventsFile = "events.jsonl";
// Of a run that Studio has started: what it was asked for, and what it prints.
inline constexpr const char *kOrderFile = "studio.json", *kOutputFile = "studio.log";

// Calls with each whole line from `begin` on, until `line` says false, and returns the byte after
// the last one. A last line without its end is left for later; one that is longer than a megabyte
// is passed over.
int64_t read_lines(const ClosedFolder& folder, const std::string& name, int64_t begin,
                   const std::function<bool(std::string_view line)>& line);

// An object, of bounded depth; nothing where the line is none.
std::optional<Json> line_object(std::string_view line);

// What the page shows of a run before it opens it: model, mesh, last step, state.
Json summary_of(const ClosedFolder& folder);

}  // namespace tessera
