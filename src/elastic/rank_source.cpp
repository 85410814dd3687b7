// SPDX-License-Identifier: Apache-2.0
#include "elastic/rank_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/error.h"
#include "files/small_file.h"
#include "launch/command_output.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 4> kHostFileOptions{"--hostfile", "-hostfile",
                                                           "--machinefile", "-machinefile"};
constexpr std::array<std::string_view, 3> kHostOptions{"--host", "-host", "-H"};
constexpr int kProbeSeconds = 5;
constexpr const char* kHostsFile = "hosts";

bool is_one_of(std::string_view word, std::span<const std::string_view> options) {
  return std::ranges::find(options, word) != options.end();
}

std::string value_of(const std::vector<std::string>& words,
                     std::span<const std::string_view> options) {
  std::string value;
  for (size_t i = 0; i + 1 < words.size(); ++i)
    if (is_one_of(words[i], options)) value = words[i + 1];
  return value;
}

std::string shell_quoted(std::string_view text) {
  std::string all = "'";
  for (const char letter : text)
    all += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return all + "'";
}

// What a shell prints; nothing where the command fails.
std::optional<std::string> printed_by(const std::string& command) {
  CommandOutput output = output_of({"sh", "-c", "{ " + command + "\n} 2>/dev/null"});
  if (!output.good()) return {};
  return std::move(output.text);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// In the order in which Slurm counts them.
std::vector<HostRanks> nodes_of_job() {
  const std::string list = variable("SLURM_JOB_NODELIST");
  std::vector<int> counts = parse_counts_of_nodes(variable("SLURM_TASKS_PER_NODE"));
  if (counts.empty()) counts = parse_counts_of_nodes(variable("SLURM_JOB_CPUS_PER_NODE"));
  std::istringstream names(
      printed_by("scontrol show hostnames " + shell_quoted(list)).value_or(""));
  std::vector<HostRanks> nodes;
  for (std::string name; names >> name && nodes.size() < counts.size();)
    nodes.push_back({name, counts[nodes.size()]});
  return nodes;
}

std::vector<HostRanks> hosts_of_option(const std::string& given) {
  std::string lines = given;
  std::ranges::replace(lines, ',', '\n');
  return parse_available(lines, "--host " + given).hosts;
}

}  // namespace

RankSource::RankSource(const ElasticConfig& policy, std::vector<std::string> launcher)
    : launcher_(std::move(launcher)) {
  if (policy.least_ranks == 0) return;  // nobody asks
  file_ = policy.ranks_from;
  probe_ = policy.probe;
  const bool is_srun = !launcher_.empty() && launcher_.front().ends_with("srun");
  if (file_.empty() && !is_srun) file_ = value_of(launcher_, kHostFileOptions);
  if (const std::string given = value_of(launcher_, kHostOptions);
      file_.empty() && !is_srun && !given.empty())
    hosts_ = hosts_of_option(given);
  if (file_.empty() && is_srun) {
    hosts_ = nodes_of_job();
    is_slurm_ = !hosts_.empty();
  }
  asks_commands_ = is_slurm_ || !probe_.empty();
  if (file_.empty()) return;
  if (!find_small_file(file_))
    throw user_error("cannot read {}, which says how many ranks are there", file_)
        .at("elastic.ranks_from")
        .help("write the number of ranks into it, or a line for each host: node7 slots=8");
  read_file();
}

AvailableRanks RankSource::read_file() const {
  return parse_available(find_small_file(file_).value_or(""), file_);
}

std::optional<AvailableRanks> RankSource::listed() const {
  if (!file_.empty()) return read_file();
  if (is_slurm_) {
    // A node that failed is no longer the job's, even when it is back.
    const auto states = printed_by(fmt::format(
        "own=$(squeue -h -j {} -o %N) && test -n \"$own\" && sinfo -h -N -n \"$own\" -o '%N %T'",
        shell_quoted(variable("SLURM_JOB_ID"))));
    if (!states) return {};
    return nodes_that_are_up(hosts_, *states);
  }
  if (hosts_.empty()) return {};
  return ranks_of(hosts_);
}

AvailableRanks RankSource::that_answer(const AvailableRanks& listed) const {
  if (probe_.empty() || listed.hosts.empty()) return listed;
  std::string script;
  for (const HostRanks& host : listed.hosts) {
    std::string probe = probe_;
    for (size_t at = 0; (at = probe.find("{host}", at)) != std::string::npos;
         at += host.name.size())
      probe.replace(at, std::string_view("{host}").size(), host.name);
    script += fmt::format("(timeout {} sh -c {} </dev/null >/dev/null 2>&1 && echo {}) &\n",
                          kProbeSeconds, shell_quoted(probe), shell_quoted(host.name));
  }
  std::istringstream answers(printed_by(script + "wait").value_or(""));
  std::vector<std::string> names;
  for (std::string name; answers >> name;) names.push_back(name);
  std::vector<HostRanks> there;
  for (const HostRanks& host : listed.hosts)
    if (std::ranges::find(names, host.name) != names.end()) there.push_back(host);
  return ranks_of(std::move(there));
}

std::optional<AvailableRanks> RankSource::look() {
  try {
    // An empty file is one that is being written.
    if (!file_.empty() && find_small_file(file_).value_or("").empty()) return last_;
    if (const std::optional<AvailableRanks> found = listed()) last_ = that_answer(*found);
  } catch (const UserError&) {
    // It was right at the start: somebody is writing it.
  }
  return last_;
}

std::vector<std::string> RankSource::launcher(const AvailableRanks& available, int ranks,
                                              const std::filesystem::path& folder) const {
  if (launcher_.empty() || available.hosts.empty()) return launcher_;
  std::vector<std::string> words;
  if (is_slurm_) {
    words = launcher_;
    std::string names;
    const std::vector<HostRanks> hosts = hosts_for(available, ranks);
    for (const HostRanks& host : hosts) names += (names.empty() ? "" : ",") + host.name;
    words.push_back(fmt::format("--nodes={}", hosts.size()));
    words.push_back("--nodelist=" + names);
    // Of the start before, Slurm may wait for a node that does not answer.
    words.emplace_back("--overlap");
    return words;
  }
  for (size_t i = 0; i < launcher_.size(); ++i) {
    const bool names_hosts =
        is_one_of(launcher_[i], kHostFileOptions) || is_one_of(launcher_[i], kHostOptions);
    if (names_hosts)
      ++i;  // and its value
    else
      words.push_back(launcher_[i]);
  }
  const std::filesystem::path file = folder / kHostsFile;
  std::ofstream stream(file);
  for (const HostRanks& host : available.hosts)
    stream << fmt::format("{} slots={}\n", host.name, host.ranks);
  words.insert(words.end(), {"--hostfile", file.string()});
  return words;
}

}  // namespace tessera
