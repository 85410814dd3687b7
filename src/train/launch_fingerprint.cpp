// SPDX-License-Identifier: Apache-2.0
#include "train/launch_fingerprint.h"

#include <algorithm>
#include <array>
#include <span>
#include <sstream>
#include <vector>

#include "comm/texts.h"
#include "core/error.h"
#include "files/digest.h"
#include "files/mapped_file.h"

namespace tessera {
namespace {

using DigestText = std::array<char, 16>;
using Digests = std::array<DigestText, 2>;  // of config and program

Digests digests_of(const LaunchFingerprint& facts) {
  Digests digests{};
  const std::string config = digest_of(std::as_bytes(std::span(facts.config)));
  std::copy_n(config.begin(), std::min(config.size(), digests[0].size()), digests[0].begin());
  std::copy_n(facts.program.begin(), std::min(facts.program.size(), digests[1].size()),
              digests[1].begin());
  return digests;
}

std::vector<Digests> gather_digests(Communicator& group, const Digests& mine) {
  std::vector<Digests> all(static_cast<size_t>(group.size()));
  const Parts parts = contiguous_parts(sizeof mine / sizeof(int32_t));
  group.run({.kind = CollectiveKind::AllGather,
             .dtype = DType::Int32,
             .input = reinterpret_cast<const std::byte*>(mine.data()),
             .input_parts = parts,
             .output = reinterpret_cast<std::byte*>(all.data()),
             .output_parts = parts,
             .name = "compare how ranks were started"});
  return all;
}

// A rank that is like most.
size_t usual_rank(const std::vector<Digests>& all) {
  const auto like = [&](const Digests& each) { return std::count(all.begin(), all.end(), each); };
  return static_cast<size_t>(
      std::max_element(all.begin(), all.end(),
                       [&](const Digests& a, const Digests& b) { return like(a) < like(b); }) -
      all.begin());
}

std::string first_difference(const std::string& odd, const std::string& usual) {
  std::istringstream a(odd), b(usual);
  std::string ours, theirs, section;
  while (true) {
    const bool more = static_cast<bool>(std::getline(a, ours));
    if (!std::getline(b, theirs) || !more) return "one has more keys";
    if (ours != theirs) return fmt::format("{}{}, not {}", section, ours, theirs);
    if (ours.starts_with('[')) section = ours + " ";
  }
}

}  // namespace

LaunchFingerprint fingerprint_launch(std::string config) {
  const MappedFile program("/proc/self/exe");
  return {.config = std::move(config), .program = digest_of(program.bytes())};
}

void require_identical_launch(RankWorld& world, const LaunchFingerprint& mine) {
  const auto group = world.everyone("start");
  const std::vector<Digests> all = gather_digests(*group, digests_of(mine));
  const size_t usual = usual_rank(all);
  const auto odd =
      static_cast<size_t>(std::find_if(all.begin(), all.end(),
                                       [&](const Digests& each) { return each != all[usual]; }) -
                          all.begin());
  if (odd == all.size()) return;
  if (all[odd][0] == all[usual][0])
    throw user_error("rank {} runs another tessera than rank {}", odd, usual)
        .help("start the same binary on all machines");
  const std::vector<std::string> configs = gather_strings(*group, mine.config);
  const std::string difference = broadcast_string(
      *group, configs.empty() ? "" : first_difference(configs[odd], configs[usual]));
  throw user_error("rank {} was started with another config than rank {}: {}", odd, usual,
                   difference)
      .help("start all ranks with the same file and options");
}

}  // namespace tessera
