// SPDX-License-Identifier: Apache-2.0
#include "system/fault_plan.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <vector>

#include "core/choices.h"
#include "core/error.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, kNumFaultPhases> kPhases{
    "load",  "forward", "collective", "backward", "update", "snapshot", "write",
    "fsync", "rename",  "manifest",   "prune",    "exit",   "step"};
// From the sixth on they are errors.
constexpr std::array<std::string_view, 10> kActions{
    "kill", "stop", "abort", "hang", "wait", "no_space", "io_error", "rot", "nan", "skip"};
constexpr std::array<int, 10> kErrors{0, 0, 0, 0, 0, ENOSPC, EIO, EILSEQ, EDOM, ECANCELED};

int64_t number(std::string_view key, std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    throw user_error("{} of a fault is {}, but must be a whole number of at least 0", key, text)
        .at("TESSERA_FAULT");
  return value;
}

// Splits a text at separators.
std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t found = text.find(separator, begin);
    const size_t end = found == std::string_view::npos ? text.size() : found;
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

template <size_t N>
size_t index_of(const std::array<std::string_view, N>& names, std::string_view what,
                std::string_view text) {
  for (size_t i = 0; i < N; ++i)
    if (names[i] == text) return i;
  throw user_error("{} of a fault is {}, but must be {}", what, text,
                   join_choices(std::vector<std::string>(names.begin(), names.end())))
      .at("TESSERA_FAULT");
}

}  // namespace

std::string_view name(FaultPhase phase) { return kPhases.at(static_cast<size_t>(phase)); }

FaultPlan::FaultPlan(std::string_view text) {
  for (const std::string_view part : parts_of(text, ';')) faults_.push_back(parse(part));
}

FaultPlan::Fault FaultPlan::parse(std::string_view text) {
  Fault fault;
  bool phase = false;
  for (const std::string_view part : parts_of(text, ',')) {
    const size_t equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    set(fault, key, equals == std::string_view::npos ? "" : part.substr(equals + 1));
    phase = phase || key == "phase";
  }
  if (!phase)
    throw user_error("the fault {} has no phase", text)
        .at("TESSERA_FAULT")
        .help("rank=1,phase=write,step=3,action=kill");
  return fault;
}

void FaultPlan::set(Fault& fault, std::string_view key, std::string_view value) {
  if (key == "rank")
    fault.rank = number(key, value);
  else if (key == "step")
    fault.step = number(key, value);
  else if (key == "nth")
    fault.nth = number(key, value);
  else if (key == "milliseconds")
    fault.milliseconds = number(key, value);
  else if (key == "phase")
    fault.phase = static_cast<FaultPhase>(index_of(kPhases, key, value));
  else if (key == "action") {
    const size_t action = index_of(kActions, key, value);
    fault.action = static_cast<Action>(std::min(action, static_cast<size_t>(Action::Error)));
    fault.error = kErrors.at(action);
  } else {
    throw user_error("a fault has no {}", key)
        .at("TESSERA_FAULT")
        .help("rank=1,phase=write,step=3,action=kill");
  }
}

const FaultPlan::Fault* FaultPlan::struck(FaultPhase phase, int rank, int64_t step) {
  const std::lock_guard lock(mutex_);
  for (Fault& fault : faults_) {
    if (fault.phase != phase || (fault.rank >= 0 && fault.rank != rank) ||
        (fault.step >= 0 && fault.step != step))
      continue;
    if (fault.seen_rank != rank || fault.seen_step != step) {
      fault.seen_rank = rank;
      fault.seen_step = step;
      fault.seen = 0;
    }
    if (++fault.seen == fault.nth) return &fault;
  }
  return nullptr;
}

int FaultPlan::at(FaultPhase phase, int rank, int64_t step) {
  const Fault* fault = struck(phase, rank, step);
  if (!fault) return 0;
  if (fault->action == Action::Kill) std::raise(SIGKILL);
  if (fault->action == Action::Stop) std::raise(SIGSTOP);
  if (fault->action == Action::Abort) std::abort();
  while (fault->action == Action::Hang) std::this_thread::sleep_for(std::chrono::hours(1));
  if (fault->action == Action::Wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(fault->milliseconds));
  return fault->action == Action::Error ? fault->error : 0;
}

}  // namespace tessera
