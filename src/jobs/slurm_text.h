// SPDX-License-Identifier: Apache-2.0
// What Slurm's commands print, read: queues of squeue and partitions of scontrol. Slurm's own JSON
// needs plugins that many clusters lack.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// "2:03", "1:02:03", "1-02:03:04", "1-02" as seconds; nothing for UNLIMITED, NOT_SET and the like.
std::optional<double> parse_slurm_time(std::string_view text);

struct QueuedJob {
  std::string id = {};      // "12", "12_3", "12_[3-5%1]"
  std::string state = {};   // "running"
  std::string reason = {};  // why it waits; empty: it does not
  int nodes = 0;
  std::optional<double> left_seconds = {};  // until its limit
  std::string run = {};                     // folder of the run
};
// The format that parse_queue() reads.
inline constexpr const char* kQueueFormat = "%i|%T|%r|%D|%L|%k";
// The comment of a job names the folder of its run: "tessera:/home/me/out".
inline constexpr std::string_view kJobComment = "tessera:";
// Jobs of other programs are left out.
std::vector<QueuedJob> parse_queue(std::string_view text);

struct Partition {
  std::string name = {};
  bool is_default = false;
  std::optional<double> longest_seconds = {};  // of a job; nothing: unlimited
  double grace_seconds = 0;                    // that a preempted job has
  bool requeues = false;                       // preempted jobs
};
// Of `scontrol show partition --oneliner`.
std::vector<Partition> parse_partitions(std::string_view text);

}  // namespace tessera
