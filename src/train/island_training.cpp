// SPDX-License-Identifier: Apache-2.0
#include "train/island_training.h"

#include <algorithm>
#include <exception>
#include <thread>

#include "config/island_config.h"
#include "config/run_spec.h"
#include "files/atomic_file.h"
#include "files/folder.h"
#include "islands/local_islands.h"
#include "train/island_exchange.h"
#include "train/island_group.h"
#include "train/islands_record.h"

namespace tessera {
namespace {

// All of them must keep one checkpoint in common while the newest is being written.
constexpr int64_t kLeastKept = 2;

Config config_of_thread(const Config& config, int island, int islands) {
  Config own = config_of_island(config, island);
  own.run.out = island_folder(config.run.out, island).string();
  own.train.threads = std::max(1, resolve_threads(config) / islands);
  own.checkpoint.keep = std::max(own.checkpoint.keep, kLeastKept);
  if (island > 0) own.run.trace.clear();
  return own;
}

// Also those of more islands than there are now.
void clear_folders(const std::filesystem::path& out, int islands) {
  clear_run_folder(out);
  for (int i = islands; std::filesystem::is_directory(island_folder(out, i)); ++i)
    clear_run_folder(island_folder(out, i));
}

class IslandThreads {
 public:
  IslandThreads(const Config& config, const TrainerOptions& options)
      : config_(config),
        options_(options),
        islands_(islands_of(config)),
        links_(islands_, outer_options(config.islands), island_wire_format(config)),
        group_(islands_),
        record_(config, islands_, options.quiet),
        summaries_(static_cast<size_t>(islands_)),
        errors_(static_cast<size_t>(islands_)) {}

  TrainSummary run() {
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < islands_; ++i) threads.emplace_back([this, i] { run_one(i); });
    }
    throw_cause();
    record_.end(summaries_.front().stopped_by);
    return together();
  }

 private:
  void run_one(int island) {
    const auto i = static_cast<size_t>(island);
    try {
      const auto link = links_.link(island);
      const IslandRole role{.index = island,
                            .islands = islands_,
                            .link = link.get(),
                            .group = &group_,
                            .record = &record_};
      TrainerOptions options = options_;
      options.island = &role;
      options.quiet = options_.quiet || island > 0;  // the first one's notes are those of all
      if (island > 0) options.on_step = {};
      if (island > 0) options.lines = {};
      Trainer trainer(config_of_thread(config_, island, islands_), std::move(options));
      group_.meet();
      if (island == 0) begin_record(trainer);
      group_.meet();
      summaries_[i] = trainer.run();
    } catch (const std::exception& error) {
      errors_[i] = std::current_exception();
      links_.fail(island, error.what());
      group_.fail(island, error.what());
    }
  }

  void begin_record(const Trainer& first) {
    if (!options_.resume) write_file_atomically(config_.run.out + "/config.toml", to_toml(config_));
    record_.begin(first.facts(), options_.resume ? std::optional(first.step()) : std::nullopt);
  }

  // The error of the island that failed, not those of islands that ended because of it.
  void throw_cause() {
    std::exception_ptr cause, consequence;
    for (const std::exception_ptr& error : errors_) {
      if (!error) continue;
      try {
        std::rethrow_exception(error);
      } catch (const IslandFailed&) {
        consequence = error;
      } catch (const std::exception& failed) {
        if (!cause) record_.failed(failed.what());
        if (!cause) cause = error;
      }
    }
    if (cause) std::rethrow_exception(cause);
    if (consequence) std::rethrow_exception(consequence);
  }

  TrainSummary together() {
    TrainSummary all = summaries_.front();
    const auto islands = static_cast<double>(islands_);
    const auto sum_up = [&](auto figure) {
      all.*figure = 0;
      for (const TrainSummary& each : summaries_) all.*figure += each.*figure;
    };
    for (const auto figure : {&TrainSummary::tokens_per_second, &TrainSummary::mfu,
                              &TrainSummary::mfu_full, &TrainSummary::hfu})
      sum_up(figure);
    for (const auto figure : {&TrainSummary::mfu, &TrainSummary::mfu_full, &TrainSummary::hfu})
      all.*figure /= islands;
    sum_up(&TrainSummary::planned_bytes);
    all.losses = record_.losses();
    if (!all.losses.empty()) {
      all.first_loss = all.losses.front();
      all.last_loss = all.losses.back();
    }
    if (all.held_out_loss) {
      double sum = 0;
      for (const TrainSummary& each : summaries_) sum += each.held_out_loss.value_or(0);
      all.held_out_loss = sum / islands;
    }
    for (const TrainSummary& each : summaries_) {
      all.failed_saves = std::max(all.failed_saves, each.failed_saves);
      if (all.save_error.empty()) all.save_error = each.save_error;
    }
    all.out = config_.run.out;
    return all;
  }

  const Config& config_;
  const TrainerOptions& options_;
  const int islands_;
  LocalIslands links_;
  IslandGroup group_;
  IslandsRecord record_;
  std::vector<TrainSummary> summaries_;
  std::vector<std::exception_ptr> errors_;
};

}  // namespace

std::filesystem::path island_folder(const std::filesystem::path& out, int island) {
  return out / fmt::format("island-{}", island);
}

Config config_of_island(const Config& config, int island) {
  Config own = one_island(config);
  own.islands.index = island;
  return own;
}

TrainSummary train_islands(const Config& config, const TrainerOptions& options) {
  TESSERA_CHECK(!options.world && islands_of(config) > 0, "islands of this process");
  if (!options.resume) {
    const OldRun old = find_old_run({.out = config.run.out, .overwrite = options.overwrite});
    make_folder(config.run.out);
    if (old == OldRun::Replaced) clear_folders(config.run.out, islands_of(config));
  }
  return IslandThreads(config, options).run();
}

}  // namespace tessera
