// SPDX-License-Identifier: Apache-2.0
// Everything that a run writes apart from checkpoints: its record and TensorBoard file, the lines
// on the terminal, the trace, the files beside them, and the summary that it returns. In a job only
// the first process writes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "comm/communicator.h"
#include "config/config.h"
#include "exec/rank_executor.h"
#include "exec/trace_recorder.h"
#include "record/exchange_record.h"
#include "record/progress.h"
#include "record/run_metrics.h"
#include "record/run_recorder.h"
#include "serve/http_server.h"
#include "train/island_group.h"
#include "train/run_saver.h"
#include "train/train_summary.h"

namespace tessera {

class RunOutputs {
 public:
  // `world`: this process is one rank of it; null: it runs all ranks.
  // `island`: the run is one of several, whose progress is shown together; null: it is not.
  // `sink` gets every line of the record.
  RunOutputs(const Config& config, const RankWorld* world, bool quiet,
             const IslandRole* island = nullptr, LineSink sink = {});

  bool writes_files() const { return !world_ || world_->rank() == 0; }
  bool quiet() const { return quiet_ || !writes_files(); }
  TrainSummary& summary() { return summary_; }

  void note(const std::string& text);
  // Warnings are in the summary, too. A quiet run still prints those of warn_always.
  void warn(const std::string& text);
  void warn_always(const std::string& text);

  // The config and the tokenizer, beside the record.
  void write_side_files(const RunSaver& saver, bool resumes);

  // From now on gives metrics to Prometheus, where the config asks for it. Where it cannot, that is
  // a UserError, or else a warning: a run that was restarted goes on.
  void serve_metrics(bool must);

  // Replaces the record of an older start of this run, so that it can no longer write to this one.
  void begin_record(const RunSaver& saver, const RunFacts& facts,
                    std::optional<int64_t> resumed_step);
  double elapsed_seconds() const { return recorder_ ? recorder_->elapsed_seconds() : 0; }
  void record_peak(double flops_per_second, std::string_view arithmetic, bool measured);
  // "evaluation", "checkpoint", "sample": after a step.
  void record_spent(const char* what, int64_t step, double seconds, int64_t bytes = 0);
  void record_room(int64_t step, double need, double room, double seconds);
  void record_step(const StepRecord& record);
  void record_exchanges(std::span<const ExchangeRecord> records, double seconds);
  void record_ranks(int64_t step, std::span<const RankTimes> times);
  void record_failure(int64_t step, const std::string& error);
  void record_end(int64_t step);

  void record_stall(int64_t step, double seconds, int64_t bytes);  // of a checkpoint
  // What became of the checkpoints that are written by now.
  void report_saves(RunSaver& saver);

  // Gets all instructions; those after begin_trace are recorded.
  RankObserver trace_observer();
  void begin_trace(int ranks);
  bool tracing() const { return trace_ && trace_->recording(); }
  void write_trace(Communicator* job);  // null: this process runs all ranks

  void finish_progress() { progress_.finish(); }

 private:
  void report_save(const SaveOutcome& outcome);
  void show(const std::string& text);
  void serve_page();
  bool shown_together() const { return island_ && island_->record; }

  const Config& config_;
  const RankWorld* world_;
  const IslandRole* island_;
  bool quiet_;
  Progress progress_;
  std::unique_ptr<RunRecorder> recorder_;         // null where this process writes no files
  std::unique_ptr<TensorboardFile> tensorboard_;  // null where the config asks for none
  std::unique_ptr<LineFile> exchanges_;           // null where this is no island
  std::unique_ptr<TraceRecorder> trace_;          // null where no trace has begun
  TrainSummary summary_;
  LineSink sink_;
  // Null where nobody serves them. The server is destroyed first: it reads the metrics.
  std::unique_ptr<RunMetrics> metrics_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace tessera
