// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <system_error>
#include <thread>

#include "checkpoint/shard_file.h"
#include "comm/failure/peer_error.h"
#include "comm/texts.h"
#include "files/storage_error.h"
#include "system/seconds_since.h"
#include "system/threads.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

FaultPhase phase_of(FileCall call) {
  if (call == FileCall::Open || call == FileCall::Write) return FaultPhase::Write;
  return call == FileCall::Rename ? FaultPhase::Rename : FaultPhase::Fsync;
}

// What `act` throws, as text; empty: nothing. The loss of a rank is rethrown: a save cannot
// continue without it.
template <typename F>
std::string error_of(F&& act) {
  try {
    act();
  } catch (const PeerError&) {
    throw;
  } catch (const std::exception& error) {
    const std::string text = error.what();
    return text.empty() ? "unknown error" : text;
  }
  return "";
}

std::vector<StoredPiece> pieces_of(const RankShare& share) {
  std::vector<StoredPiece> pieces;
  for (const OwnedPiece& owned : share.pieces)
    pieces.push_back({.name = owned.state->name,
                      .dtype = owned.state->type.dtype,
                      .shape = shape_of(owned.state->type),
                      .piece = owned.piece});
  return pieces;
}

StoredPiece piece_of(const SideTensor& tensor) {
  const Shape shape{static_cast<int64_t>(tensor.bytes.size()) / size_bytes(tensor.dtype)};
  return {.name = tensor.name, .dtype = tensor.dtype, .shape = shape, .piece = whole_tensor(shape)};
}

// -1: none.
int64_t bytes_now(const std::filesystem::path& path) {
  // Opens the file, since a network file system may cache old attributes.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  struct stat status {};
  const int64_t bytes = ::fstat(file, &status) == 0 ? status.st_size : -1;
  ::close(file);
  return bytes;
}

// A rank's description of its file must match what the first process finds: their folders may
// differ.
void await_file(const std::filesystem::path& path, int64_t bytes, double patience_seconds) {
  const auto begin = Clock::now();
  for (int64_t now = bytes_now(path); now != bytes; now = bytes_now(path)) {
    if (seconds_since(begin) >= patience_seconds)
      throw user_error(
          "{} {}, but its rank has written {} bytes to that name: do all ranks see the same "
          "folder?",
          path.string(), now < 0 ? "does not exist" : fmt::format("has {} bytes", now), bytes);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

CheckpointWriter::CheckpointWriter(std::vector<RankStates*> ranks, CheckpointWriterOptions options)
    : options_(std::move(options)), snapshot_(std::move(ranks)) {}

CheckpointWriter::~CheckpointWriter() {
  if (writing_.valid()) writing_.wait();
}

FileWatch CheckpointWriter::watch(int rank, int64_t step, std::optional<FaultPhase> always) const {
  if (!options_.faults) return {};
  return [faults = options_.faults, rank, step, always](FileCall call) {
    return faults->at(always.value_or(phase_of(call)), rank, step);
  };
}

void CheckpointWriter::continue_from(int64_t step) {
  if (!leads()) return;
  own_.continue_from(step, steps_of_run(options_.folder, options_.run));
  went_on_from_ = step;
}

double CheckpointWriter::save(const CheckpointFacts& facts, SideTensors beside) {
  const auto begin = Clock::now();
  finish();
  for (const RankShare& share : snapshot_.shares())
    fault_at(options_.faults, FaultPhase::Snapshot, share.rank, facts.position.step);
  snapshot_.take(options_.threads);
  const auto write_it = [this, facts, beside = std::move(beside)] { return write(facts, beside); };
  try {
    writing_ = std::async(std::launch::async, write_it);
  } catch (const std::system_error&) {  // no thread available: training stalls for the write
    writing_ = std::async(std::launch::deferred, write_it);
    writing_.wait();
  }
  return seconds_since(begin);
}

void CheckpointWriter::finish() {
  if (writing_.valid()) ended_.push_back(writing_.get());
}

std::optional<SaveOutcome> CheckpointWriter::take_outcome() {
  if (writing_.valid() && writing_.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
    finish();
  if (ended_.empty()) return std::nullopt;
  SaveOutcome first = std::move(ended_.front());
  ended_.erase(ended_.begin());
  return first;
}

// For manifest and prune: the first rank does the work, the others wait for it.
void CheckpointWriter::inject_faults_on_others(FaultPhase phase, int64_t step) const {
  for (const RankShare& share : snapshot_.shares())
    if (share.rank != 0) fault_at(options_.faults, phase, share.rank, step);
}

void CheckpointWriter::throw_stale(SaveOutcome& outcome) const {
  outcome.fenced = true;
  throw user_error("a newer start of this run has taken over {}; this one, the {}., may not write",
                   options_.folder.string(), options_.generation);
}

std::string CheckpointWriter::first_error(std::string mine) {
  if (!options_.peers) return mine;
  const std::vector<std::string> all = gather_strings(*options_.peers, std::move(mine));
  std::string first;
  for (size_t rank = 0; rank < all.size() && first.empty(); ++rank)
    if (!all[rank].empty()) first = fmt::format("rank {}: {}", rank, all[rank]);
  return broadcast_string(*options_.peers, std::move(first));
}

SaveOutcome CheckpointWriter::write(const CheckpointFacts& facts, const SideTensors& beside) {
  const auto begin = Clock::now();
  SaveOutcome outcome{.step = facts.position.step,
                      .path = step_folder(options_.folder, facts.position.step)};
  outcome.error = error_of([&] {
    std::vector<StoredFile> own;
    std::string error = first_error(error_of([&] { own = write_shards(facts, beside); }));
    std::vector<std::string> files;
    if (error.empty()) {
      const std::string text = to_text(own);
      files = options_.peers ? gather_strings(*options_.peers, text) : std::vector{text};
    }
    if (error.empty()) inject_faults_on_others(FaultPhase::Manifest, outcome.step);
    if (leads() && error.empty()) error = error_of([&] { write_manifest(facts, files, outcome); });
    if (options_.peers) error = broadcast_string(*options_.peers, std::move(error));
    if (!error.empty()) {
      if (options_.peers)
        outcome.fenced = !broadcast_string(*options_.peers, outcome.fenced ? "fenced" : "").empty();
      std::error_code ignored;
      if (leads()) std::filesystem::remove_all(partial(outcome.step), ignored);
      throw UserError(error);
    }
    outcome.saved = true;
    verify_then_prune(own, outcome);
  });
  outcome.seconds = seconds_since(begin);
  return outcome;
}

std::vector<StoredFile> CheckpointWriter::write_shards(const CheckpointFacts& facts,
                                                       const SideTensors& beside) {
  const int64_t step = facts.position.step;
  const std::filesystem::path folder = partial(step);
  make_partial_folder(folder);
  const std::vector<RankShare>& shares = snapshot_.shares();
  std::vector<StoredFile> files(shares.size());
  std::vector<std::string> errors(shares.size());
  const auto write_one = [&](size_t i, size_t) {
    errors[i] = error_of([&] {
      std::vector<StoredPiece> pieces = pieces_of(shares[i]);
      const size_t states = pieces.size();
      if (i == 0)
        for (const SideTensor& tensor : beside) pieces.push_back(piece_of(tensor));
      files[i] = write_shard(
          folder, shares[i].rank, std::move(pieces),
          [&](size_t piece) {
            return piece < states ? snapshot_.bytes_of(shares[i], piece)
                                  : std::span<const std::byte>(beside[piece - states].bytes);
          },
          watch(shares[i].rank, step));
    });
  };
  run_parts(shares.size(), static_cast<int>(shares.size()), write_one);
  for (const std::string& text : errors)
    if (!text.empty()) throw UserError(text);
  return files;
}

void CheckpointWriter::write_manifest(const CheckpointFacts& facts,
                                      const std::vector<std::string>& files, SaveOutcome& outcome) {
  Manifest manifest{.facts = facts};
  for (const std::string& text : files)
    for (StoredFile& file : parse_files(text)) manifest.files.push_back(std::move(file));
  const int64_t step = facts.position.step;
  for (const StoredFile& file : manifest.files)
    await_file(partial(step) / file.name, file.bytes, options_.patience_seconds);
  write_file_atomically(partial(step) / kManifestName, to_text(manifest),
                        watch(0, step, FaultPhase::Manifest));
  set_others_aside(outcome);
  if (!commit_step(
          options_.folder, step,
          {.watch = watch(0, step), .generation = options_.generation, .fence = options_.fence}))
    throw_stale(outcome);
  own_.wrote(step);
  outcome.bytes = manifest.bytes();
}

void CheckpointWriter::set_others_aside(SaveOutcome& outcome) {
  if (!went_on_from_ && !std::filesystem::exists(outcome.path)) return;
  const int64_t below = went_on_from_.value_or(outcome.step - 1);
  const auto set_all_aside = [&] {
    for (const StepFolder& folder : step_folders(options_.folder))
      if (folder.step > below && !own_.has(folder.step)) outcome.aside.push_back(set_aside(folder));
  };
  if (!options_.fence)
    set_all_aside();
  else if (!options_.fence->while_newest(set_all_aside))
    throw_stale(outcome);
  went_on_from_.reset();
}

// Older ones are removed only after every byte of this one has been read back.
void CheckpointWriter::verify_then_prune(const std::vector<StoredFile>& own, SaveOutcome& outcome) {
  std::vector<int64_t> old;
  if (leads()) old = own_.prunable(options_.retention);
  std::string due = old.empty() ? "" : "due";
  if (options_.peers) due = broadcast_string(*options_.peers, std::move(due));
  if (due.empty()) return;
  const std::string error = first_error(error_of([&] {
    for (const StoredFile& file : own) verify_shard(outcome.path, file);
  }));
  if (!error.empty()) {
    own_.does_not_verify(outcome.step);
    throw user_error("saved, but verification failed: {}; no older checkpoint is removed", error);
  }
  inject_faults_on_others(FaultPhase::Prune, outcome.step);
  for (const int64_t step : old) prune(step, outcome);
}

void CheckpointWriter::prune(int64_t step, SaveOutcome& outcome) {
  const StepFolder old{step, step_folder(options_.folder, step)};
  const int fault = fault_at(options_.faults, FaultPhase::Prune, 0, outcome.step);
  if (fault != 0) throw user_error("cannot remove {}: {}", old.path.string(), errno_text(fault));
  const auto hide = [&] { hide_step(old); };
  if (!options_.fence)
    hide();
  else if (!options_.fence->while_newest(hide))
    throw_stale(outcome);
  remove_hidden(old);
  own_.removed(step);
}

}  // namespace tessera
