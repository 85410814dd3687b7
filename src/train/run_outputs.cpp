// SPDX-License-Identifier: Apache-2.0
#include "train/run_outputs.h"

#include "chat/chat_files.h"
#include "comm/texts.h"
#include "data/chat_format.h"
#include "data/data_files.h"
#include "data/token_text.h"
#include "files/atomic_file.h"
#include "huggingface/tokenizer_files.h"
#include "record/run_folder.h"
#include "system/random_name.h"
#include "tokenizer/tokenizer_file.h"
#include "train/islands_record.h"

namespace tessera {
namespace {

// What writes and ends an answer, for `generate`, `chat` and `export`.
void keep_chat_files(const DataConfig& data, const std::filesystem::path& folder) {
  if (!data.tokenizer.empty()) {
    const auto tokenizer = std::filesystem::absolute(tokenizer_file_of(data.tokenizer));
    TokenizerFiles(tokenizer.parent_path()).copy_to(folder);
  }
  write_file_atomically(folder / kChatTemplateFile, open_chat_format(data).chat.source());
}

}  // namespace

RunOutputs::RunOutputs(const Config& config, const RankWorld* world, bool is_quiet,
                       const IslandRole* island, LineSink sink)
    : config_(config),
      world_(world),
      island_(island),
      quiet_(is_quiet),
      progress_({.stream = stderr,
                 .live = !quiet() && is_terminal(stderr),
                 .total_steps = config.train.steps,
                 .log_every = quiet() ? config.train.steps + 1 : config.train.log_every}),
      sink_(std::move(sink)) {
  summary_.out = config.run.out;
}

void RunOutputs::note(const std::string& text) {
  if (!quiet()) show(text);
}

void RunOutputs::warn(const std::string& text) {
  summary_.warnings.push_back(text);
  note("warning: " + text);
}

void RunOutputs::warn_always(const std::string& text) {
  summary_.warnings.push_back(text);
  if (writes_files()) show(text);
}

// Where islands share a terminal, each says which one it is.
void RunOutputs::show(const std::string& text) {
  if (shown_together())
    island_->record->note(fmt::format("island {}: {}", island_->index, text));
  else
    progress_.note(text);
}

void RunOutputs::serve_metrics(bool must) {
  const bool other_island = island_ && island_->group && island_->index > 0;
  if (config_.run.metrics_port < 0 || !writes_files() || other_island) return;
  try {
    serve_page();
  } catch (const UserError& error) {
    if (must) throw UserError(error.message()).at("run.metrics_port").help(error.advice());
    warn_always(fmt::format("warning: no metrics for Prometheus: {}", error.message()));
  }
}

void RunOutputs::serve_page() {
  auto metrics = std::make_unique<RunMetrics>();
  const auto file = [page = metrics.get()](std::string_view path) -> std::optional<PageFile> {
    if (path != "/metrics") return std::nullopt;
    return PageFile{
        .type = "text/plain; version=0.0.4; charset=utf-8", .bytes = page->page(), .etag = {}};
  };
  const auto no_question = [](std::string_view) { return std::optional<PageQuestion>(); };
  server_ =
      std::make_unique<HttpServer>(PageService{.file = file, .question = no_question},
                                   static_cast<uint16_t>(config_.run.metrics_port), random_name());
  metrics_ = std::move(metrics);
  show(fmt::format("metrics: http://127.0.0.1:{}/metrics", server_->port()));
}

// A resumed run can do without new ones: it has those of its first start.
void RunOutputs::write_side_files(const RunSaver& saver, bool resumes) {
  if (!writes_files()) return;
  try {
    saver.while_newest([&] {
      write_file_atomically(summary_.out / "config.toml", to_toml(config_));
      if (const std::vector<DataFile> files = data_files_of(config_.data); !files.empty())
        write_data_files(summary_.out, files);
      if (config_.data.source == DataSource::Chat) keep_chat_files(config_.data, summary_.out);
      keep_tokenizer(tokenizer_of_config(config_), summary_.out);
    });
  } catch (const UserError& error) {
    saver.require_newest();
    if (!resumes) throw;
    warn_always(fmt::format("warning: {}", error.message()));
  }
}

void RunOutputs::begin_record(const RunSaver& saver, const RunFacts& facts,
                              std::optional<int64_t> resumed_step) {
  if (!writes_files()) return;
  const Warn on_lost_line = [this](const std::string& text) { warn_always("warning: " + text); };
  saver.while_newest([&] {
    if (metrics_)
      metrics_->begin(facts, config_.train.steps, resumed_step ? count_starts(summary_.out) : 0);
    recorder_ =
        std::make_unique<RunRecorder>(summary_.out, facts, resumed_step, on_lost_line, sink_);
    if (server_) recorder_->serves(server_->port());
    if (island_)
      exchanges_ =
          std::make_unique<LineFile>(summary_.out / kExchangesFile, resumed_step.has_value(),
                                     on_lost_line, [&](std::string_view line) {
                                       const auto record = parse_exchange(line);
                                       return record && record->step <= *resumed_step;
                                     });
    if (config_.run.tensorboard && !tensorboard_)
      tensorboard_ = std::make_unique<TensorboardFile>(summary_.out / kTensorboardFolder,
                                                       resumed_step, on_lost_line);
  });
}

void RunOutputs::record_peak(double flops_per_second, std::string_view arithmetic, bool measured) {
  if (recorder_) recorder_->peak(flops_per_second, arithmetic, measured);
}

void RunOutputs::record_spent(const char* what, int64_t step, double seconds, int64_t bytes) {
  if (recorder_) recorder_->spent(what, step, seconds, bytes);
}

void RunOutputs::record_room(int64_t step, double need, double room, double seconds) {
  if (recorder_) recorder_->grew_room(step, need, room, seconds);
}

void RunOutputs::record_exchanges(std::span<const ExchangeRecord> records, double seconds) {
  if (!recorder_) return;
  int64_t bytes = 0;
  for (const ExchangeRecord& record : records) {
    exchanges_->write(to_json_line(record));
    bytes += record.bytes;
  }
  record_spent("exchange", records.back().step, seconds, bytes);
}

void RunOutputs::record_step(const StepRecord& record) {
  if (shown_together()) island_->record->step(island_->index, record);
  if (metrics_) metrics_->step(record);  // whoever has read the line finds it on the page
  if (recorder_) recorder_->step(record);
  if (tensorboard_) tensorboard_->write(record.step, scalars_of(record));
  if (!quiet() && !shown_together()) progress_.step(record);
}

void RunOutputs::record_ranks(int64_t step, std::span<const RankTimes> times) {
  if (metrics_) metrics_->ranks(times);
  if (recorder_)
    recorder_->ranks(step, times,
                     step % config_.train.log_every == 0 || step == config_.train.steps);
}

void RunOutputs::record_failure(int64_t step, const std::string& error) {
  if (recorder_) recorder_->failed(step, error);
}

void RunOutputs::record_end(int64_t step) {
  if (!recorder_) return;
  recorder_->ended(step, summary_.stopped_by);
  std::vector<std::string> lost = recorder_->losses();
  if (tensorboard_) lost.push_back(tensorboard_->losses());
  for (const std::string& text : lost)
    if (!text.empty()) warn_always("warning: " + text);
}

void RunOutputs::record_stall(int64_t step, double seconds, int64_t bytes) {
  ++summary_.saves;
  summary_.save_stall_seconds += seconds;
  record_spent("checkpoint", step, seconds, bytes);
}

void RunOutputs::report_saves(RunSaver& saver) {
  while (const auto outcome = saver.take_outcome()) report_save(*outcome);
}

void RunOutputs::report_save(const SaveOutcome& outcome) {
  summary_.save_written_seconds += outcome.seconds;
  summary_.save_error = outcome.saved ? "" : outcome.error;
  if (outcome.saved) {
    summary_.checkpoint = outcome.path;
    summary_.save_bytes = outcome.bytes;
  }
  for (const std::filesystem::path& aside : outcome.aside)
    warn_always(fmt::format("warning: {} is not of this run's present history, and was set aside",
                            aside.string()));
  if (metrics_) metrics_->saved(outcome);
  if (recorder_) recorder_->saved(outcome);
  if (outcome.fenced)
    throw UserError(outcome.error).help("one run at a time can use a folder: see --out");
  if (outcome.error.empty()) return;
  if (!outcome.saved) ++summary_.failed_saves;
  warn_always(fmt::format("CHECKPOINT OF STEP {} {}: {}", outcome.step,
                          outcome.saved ? "NEEDS A LOOK" : "FAILED, the run continues without it",
                          outcome.error));
}

RankObserver RunOutputs::trace_observer() {
  return [this](int rank, const InstructionEvent& event) {
    if (trace_) trace_->observe(rank, event);
  };
}

void RunOutputs::begin_trace(int ranks) { trace_ = std::make_unique<TraceRecorder>(ranks); }

void RunOutputs::write_trace(Communicator* job) {
  trace_->stop();
  std::vector<std::string> events;
  if (job) events = gather_strings(*job, trace_->events(job->rank()));
  try {
    if (writes_files())
      write_file_atomically(config_.run.trace, job ? trace_json(events) : trace_->to_json());
    summary_.trace = config_.run.trace;
  } catch (const UserError& error) {
    warn_always(fmt::format("warning: there is no trace: {}", error.message()));
  }
}

}  // namespace tessera
