// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/mpi_process.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>

#include "comm/failure/peer_error.h"
#include "comm/local/run_ranks.h"
#include "comm/mpi/mpi_engine.h"
#include "comm/mpi/mpi_reporter.h"
#include "comm/mpi/mpi_world.h"
#include "files/storage_error.h"

namespace tessera {
namespace {

// What the others are told of an exception of this rank; `known` is what this one was told before.
MpiFailure failure_of(const std::exception& error, int rank,
                      const std::optional<MpiFailure>& known) {
  const auto* peer = dynamic_cast<const PeerError*>(&error);
  const bool bad_input = dynamic_cast<const UserError*>(&error) != nullptr &&
                         dynamic_cast<const StorageError*>(&error) == nullptr;
  return {peer ? peer->guilty_rank() : rank, error.what(),
          bad_input || (known && known->bad_input)};
}

}  // namespace

bool built_with_mpi() { return true; }

MpiProcess::MpiProcess() : engine_(std::make_unique<MpiEngine>()) {}
MpiProcess::~MpiProcess() = default;
int MpiProcess::rank() const { return engine_->rank(); }
int MpiProcess::size() const { return engine_->size(); }
bool MpiProcess::all_ranks_answer() const { return engine_->all_ranks_answer(); }

bool MpiProcess::had_bad_input() const {
  const std::optional<MpiFailure> failure = engine_->failure();
  return failure && failure->bad_input;
}

void MpiProcess::run(const std::function<void(RankWorld&)>& body, const MpiOptions& options,
                     const std::function<void(const std::exception&)>& report) {
  engine_->begin_round(options.deadline_seconds, options.told_to_end);
  MpiReporter reporter(*engine_, options);
  std::exception_ptr error;
  std::optional<MpiFailure> failure;
  try {
    MpiWorld world(*engine_, reporter, options.largest_message_bytes);
    body(world);
    failure = engine_->failure();
  } catch (const std::exception& thrown) {
    error = std::current_exception();
    failure = failure_of(thrown, rank(), engine_->failure());
    if (report) report(thrown);
    reporter.report_failure(*failure);
  }
  engine_->announce(failure);
  engine_->await_announcements(options.grace_seconds);
  failure = engine_->failure();
  if (failure && !error) {
    const PeerError stopped(failure->guilty_rank,
                            fmt::format("rank {}/{}: ended, but rank {} failed: {}", rank(), size(),
                                        failure->guilty_rank, failure->text));
    error = std::make_exception_ptr(stopped);
    if (report) report(stopped);
    reporter.report_failure({failure->guilty_rank, stopped.what(), failure->bad_input});
  }
  reporter.end(failure.has_value());
  if (error) std::rethrow_exception(error);
}

void run_mpi_rank(const std::function<void(RankWorld&)>& body, const MpiOptions& options) {
  const auto report = [](const std::exception& error) {
    const auto* user = dynamic_cast<const UserError*>(&error);
    const std::string text = user ? user->report() : fmt::format("error: {}\n", error.what());
    std::fputs(text.c_str(), stderr);
    std::fflush(nullptr);
  };
  auto process = std::make_unique<MpiProcess>();
  try {
    process->run(body, options, report);
  } catch (const std::exception&) {
    // Reported above. Of the ranks' codes mpirun passes on the first, so they must be the same.
    const int status = process->had_bad_input() ? kUserExitStatus : kPeerExitStatus;
    // mpirun ends whatever rank does not answer.
    if (process->all_ranks_answer()) process.reset();
    std::_Exit(status);
  }
}

}  // namespace tessera
