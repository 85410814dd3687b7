// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/run_identity.h"

#include <algorithm>
#include <array>
#include <span>

#include "files/atomic_file.h"
#include "files/json.h"
#include "files/regular_file.h"

namespace tessera {
namespace {

constexpr size_t kIdDigits = 16;
constexpr int64_t kMostIdentityBytes = 4096;

// Nothing where there is no such file; of a long one, which is none of ours, the beginning.
std::optional<std::string> read_small_file(const std::filesystem::path& path) {
  std::optional<RegularFile> found = find_regular_file(path);
  if (!found) return std::nullopt;
  const FileReader file(path, std::move(*found));
  std::string text(static_cast<size_t>(std::min(file.bytes(), kMostIdentityBytes)), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace

bool RunIdentity::may_continue_from(const CheckpointFacts& facts) const {
  return facts.run == id || (adopted_step && facts.position.step <= *adopted_step);
}

bool is_run_id(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == kIdDigits && std::all_of(text.begin(), text.end(), is_digit);
}

std::optional<RunIdentity> read_run_identity(const std::filesystem::path& out) {
  const std::filesystem::path path = out / kRunFileName;
  const std::optional<std::string> text = read_small_file(path);
  if (!text) return std::nullopt;
  const Json json = parse_json(*text);
  const auto unfit = [&] {
    return user_error("{} does not name a run", path.string())
        .help("remove it, and continue with --resume: the run then gets a new id");
  };
  const Json *run = json.find("run"), *adopted = json.find("adopted_step");
  if (!run || !run->text() || !is_run_id(*run->text())) throw unfit();
  RunIdentity identity{.id = *run->text()};
  if (adopted && !adopted->integer()) throw unfit();
  if (adopted) identity.adopted_step = adopted->integer();
  return identity;
}

void write_run_identity(const std::filesystem::path& out, const RunIdentity& identity) {
  Json json{{"run", identity.id}};
  if (identity.adopted_step) json["adopted_step"] = *identity.adopted_step;
  write_file_atomically(out / kRunFileName, json.dump() + "\n");
}

}  // namespace tessera
