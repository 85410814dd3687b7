// SPDX-License-Identifier: Apache-2.0
#include "jobs/slurm_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace tessera {
namespace {

std::vector<std::string_view> parts_of(std::string_view text, char separator, size_t most) {
  std::vector<std::string_view> parts;
  while (parts.size() + 1 < most && text.find(separator) != std::string_view::npos) {
    parts.push_back(text.substr(0, text.find(separator)));
    text.remove_prefix(parts.back().size() + 1);
  }
  parts.push_back(text);
  return parts;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines = parts_of(text, '\n', std::string_view::npos);
  std::erase_if(lines, [](std::string_view line) { return line.empty(); });
  return lines;
}

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc() && end == text.data() + text.size() && value >= 0;
  return good ? std::optional(value) : std::nullopt;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& letter : result)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return result;
}

Partition partition_of(std::string_view line) {
  Partition partition;
  for (const std::string_view field : parts_of(line, ' ', std::string_view::npos)) {
    const size_t equals = field.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = field.substr(0, equals), value = field.substr(equals + 1);
    if (key == "PartitionName") partition.name = value;
    if (key == "Default") partition.is_default = value == "YES";
    if (key == "MaxTime") partition.longest_seconds = parse_slurm_time(value);
    if (key == "GraceTime") partition.grace_seconds = whole_number(value).value_or(0);
    if (key == "PreemptMode") partition.requeues = value.find("REQUEUE") != std::string_view::npos;
  }
  return partition;
}

}  // namespace

std::optional<double> parse_slurm_time(std::string_view text) {
  const size_t dash = text.find('-');
  const std::optional<int> days =
      dash == std::string_view::npos ? 0 : whole_number(text.substr(0, dash));
  if (!days) return {};
  const std::string_view clock = dash == std::string_view::npos ? text : text.substr(dash + 1);
  std::vector<int> numbers;
  for (const std::string_view part : parts_of(clock, ':', std::string_view::npos)) {
    const std::optional<int> number = whole_number(part);
    if (!number) return {};
    numbers.push_back(*number);
  }
  // After days come hours; without them the last two are minutes and seconds, or minutes alone.
  const size_t missing = numbers.size() < 3 ? 3 - numbers.size() : 0;
  if (numbers.size() > 3) return {};
  if (dash != std::string_view::npos)
    numbers.insert(numbers.end(), missing, 0);
  else if (numbers.size() == 1)
    numbers = {0, numbers[0], 0};
  else
    numbers.insert(numbers.begin(), missing, 0);
  return ((*days * 24.0 + numbers[0]) * 60 + numbers[1]) * 60 + numbers[2];
}

std::vector<QueuedJob> parse_queue(std::string_view text) {
  constexpr size_t kFields = 6;
  std::vector<QueuedJob> jobs;
  for (const std::string_view line : lines_of(text)) {
    const std::vector<std::string_view> fields = parts_of(line, '|', kFields);
    if (fields.size() < kFields || !fields[5].starts_with(kJobComment)) continue;
    QueuedJob job{.id = std::string(fields[0]), .state = lower(fields[1])};
    if (job.state == "pending") job.reason = fields[2];
    job.nodes = whole_number(fields[3]).value_or(0);
    job.left_seconds = parse_slurm_time(fields[4]);
    job.run = fields[5].substr(kJobComment.size());
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::vector<Partition> parse_partitions(std::string_view text) {
  std::vector<Partition> partitions;
  for (const std::string_view line : lines_of(text)) {
    Partition partition = partition_of(line);
    if (!partition.name.empty()) partitions.push_back(std::move(partition));
  }
  return partitions;
}

}  // namespace tessera
