// SPDX-License-Identifier: Apache-2.0
#include "jobs/attempt_log.h"

#include <chrono>
#include <fstream>

#include "files/json.h"
#include "jobs/job_plan.h"

namespace tessera {
namespace {

bool add_line(const std::filesystem::path& run, const Json& json) {
  std::ofstream file(attempts_file(run), std::ios::app);
  file << json.dump() + "\n" << std::flush;
  return file.good();
}

std::string text(const Json& json, const char* name) {
  const Json* found = json.find(name);
  return found && found->text() ? *found->text() : "";
}

double number(const Json& json, const char* name) {
  const Json* found = json.find(name);
  return found ? found->number().value_or(0) : 0;
}

}  // namespace

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::filesystem::path attempts_file(const std::filesystem::path& run) {
  return run / kJobFolder / "attempts.jsonl";
}

bool log_begin(const std::filesystem::path& run, const JobAttempt& attempt) {
  return add_line(run, {{"event", "begin"},
                        {"unix_time", attempt.begin},
                        {"job", attempt.job},
                        {"step", attempt.first_step},
                        {"nodes", attempt.nodes},
                        {"ranks", attempt.ranks},
                        {"mesh", attempt.mesh},
                        {"step_seconds", attempt.step_seconds}});
}

bool log_end(const std::filesystem::path& run, const JobAttempt& attempt) {
  return add_line(run, {{"event", "end"},
                        {"unix_time", *attempt.end},
                        {"step", attempt.last_step},
                        {"code", attempt.code},
                        {"ended", attempt.ended}});
}

std::vector<JobAttempt> read_attempts(const std::filesystem::path& run) {
  std::vector<JobAttempt> attempts;
  std::ifstream file(attempts_file(run));
  for (std::string line; std::getline(file, line);) {
    const Json json = parse_json(line);
    if (!json.is_object()) continue;
    const std::string event = text(json, "event");
    if (event == "begin") {
      attempts.push_back({.job = text(json, "job"),
                          .begin = number(json, "unix_time"),
                          .first_step = static_cast<int64_t>(number(json, "step")),
                          .nodes = static_cast<int>(number(json, "nodes")),
                          .ranks = static_cast<int>(number(json, "ranks")),
                          .mesh = text(json, "mesh"),
                          .step_seconds = number(json, "step_seconds")});
    } else if (event == "end" && !attempts.empty() && !attempts.back().end) {
      attempts.back().end = number(json, "unix_time");
      attempts.back().last_step = static_cast<int64_t>(number(json, "step"));
      attempts.back().code = static_cast<int>(number(json, "code"));
      attempts.back().ended = text(json, "ended");
    }
  }
  return attempts;
}

}  // namespace tessera
