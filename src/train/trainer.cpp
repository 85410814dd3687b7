// SPDX-License-Identifier: Apache-2.0
#include "train/trainer.h"

#include <cerrno>
#include <chrono>
#include <cmath>

#include "config/config_notes.h"
#include "config/model_of_config.h"
#include "exec/gpu_matmul.h"
#include "files/atomic_file.h"
#include "files/make_folder.h"
#include "huggingface/tokenizer_files.h"
#include "inference/sample_losses.h"
#include "measure/utilisation.h"
#include "record/run_folder.h"
#include "system/resident_memory.h"
#include "system/seconds_since.h"
#include "train/agreement.h"
#include "train/fault_observer.h"
#include "train/learning_rate.h"
#include "train/non_finite.h"
#include "train/resume_changes.h"
#include "train/run_executor.h"
#include "train/shared_folder.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Trainer::Trainer(Config config, TrainerOptions options)
    : config_(std::move(config)),
      options_(std::move(options)),
      model_(model_of_config(config_)),
      precision_(precision_of_config(config_)),
      threads_(threads_of_config(config_)),
      text_(tokenizer_of_config(config_), model_.vocabulary),
      data_(open_training_data(config_, model_, precision_.compute)),
      progress_({.stream = stderr,
                 .live = !quiet() && is_terminal(stderr),
                 .total_steps = config_.train.steps,
                 .log_every = quiet() ? config_.train.steps + 1 : config_.train.log_every}) {
  summary_.out = config_.run.out;
  const bool begins = writes_files() && !options_.resume;
  OldRun old = OldRun::None;
  if (begins)
    old = find_old_run({.out = summary_.out,
                        .run_id = options_.run_id,
                        .overwrite = options_.overwrite,
                        .first_weights = options_.init_from ? options_.init_from->path() : ""});
  else if (writes_files())
    require_checkpoints(summary_.out, options_.run_id);
  continues_record_ = options_.resume || old == OldRun::FailedStart;
  make_executor();
  if (!on_gpu() && facts_.nodes <= 1)
    require_memory(executor_->planned_bytes(), facts_.node_memory_bytes);
  // Not before it: a plan that cannot run must cost an old run nothing.
  if (begins) make_folder(summary_.out);
  if (options_.world && (config_.checkpoint.every > 0 || options_.resume))
    require_shared_folder(*options_.world, summary_.out);
  if (old == OldRun::Replaced) clear_run_folder(summary_.out);
  if (options_.world) options_.world->at_step(0);
  saver_ =
      std::make_unique<RunSaver>(config_, *executor_, options_.world, options_.faults,
                                 RunStart{.resume = options_.resume, .run_id = options_.run_id});
  if (options_.resume)
    resume();
  else
    make_first_states();
  if (options_.init_from && !options_.resume) begin_with(*options_.init_from);
  if (writes_files()) keep_side_files();
  summary_.first_step = position_.step;
  save_begun_ = position_.step;  // before its first step a run has nothing to save
  feeder_ = std::make_unique<BatchFeeder>(*executor_, data_.train->fields(), config_.train.batch);
  loader_ = std::make_unique<BatchLoader>(*data_.train, config_.train.batch, position_.next_sample);
  summary_.parameters = parameter_count(model_);
  summary_.flops_per_token = flops_per_token(model_, config_.train.seq);
  summary_.planned_bytes = executor_->planned_bytes() + saver_->snapshot_bytes();
  summary_.peak_measured = config_.run.peak_gflops == 0;
  if (summary_.peak_measured) find_peak();
  summary_.peak_flops_per_second = config_.run.peak_gflops * 1e9;
}

// A run that is resumed can do without them: it has those of its first start.
void Trainer::keep_side_files() {
  try {
    saver_->while_newest([&] {
      write_file_atomically(summary_.out / "config.toml", to_toml(config_));
      keep_tokenizer(tokenizer_of_config(config_), summary_.out);
    });
  } catch (const UserError& error) {
    saver_->require_newest();
    if (!options_.resume) throw;
    shout(fmt::format("warning: {}", error.message()));
  }
}

// The record of an older start of this run is replaced, so that it can write no more to this one.
void Trainer::begin_record(std::optional<int64_t> resumed_step) {
  const Warn told = [this](const std::string& text) { shout("warning: " + text); };
  saver_->while_newest([&] {
    recorder_ = std::make_unique<RunRecorder>(config_.run.out, facts_, resumed_step, told);
    if (config_.run.tensorboard && !tensorboard_)
      tensorboard_ =
          std::make_unique<TensorboardFile>(summary_.out / kTensorboardFolder, resumed_step, told);
  });
}

void Trainer::tell_losses() {
  if (!recorder_) return;
  std::vector<std::string> losses = recorder_->losses();
  if (tensorboard_) losses.push_back(tensorboard_->losses());
  for (const std::string& text : losses)
    if (!text.empty()) shout("warning: " + text);
}

void Trainer::make_first_states() {
  constexpr int64_t kMany = 50'000'000;  // parameters that take seconds
  if (const int64_t parameters = parameter_count(model_); parameters > kMany && !quiet())
    progress_.note(fmt::format("drawing the first values of {:.0f}M parameters",
                               static_cast<double>(parameters) / 1e6));
  initialise_states(*executor_, static_cast<uint64_t>(config_.train.seed));
}

void Trainer::make_executor() {
  RankObserver observer;
  if (!config_.run.trace.empty())
    observer = [this](int rank, const InstructionEvent& event) {
      if (trace_) trace_->observe(rank, event);
    };
  if (options_.faults)
    observer = with_faults(std::move(observer), *options_.faults, position_.step);
  RunExecutor made =
      make_run_executor(config_, model_, threads_, options_.world, std::move(observer));
  executor_ = std::move(made.executor);
  facts_ = std::move(made.facts);
  for (const std::string& note : {made.note, warmup_note(config_.train)})
    if (!note.empty() && !quiet()) progress_.note(note);
  for (const std::string& note : notes_on(config_))
    if (!quiet()) progress_.note("note: " + note);
  for (const std::string& warning : made.warnings) warn(warning);
}

void Trainer::warn(const std::string& text) {
  summary_.warnings.push_back(text);
  if (!quiet()) progress_.note("warning: " + text);
}

void Trainer::shout(const std::string& text) {
  summary_.warnings.push_back(text);
  if (writes_files()) progress_.note(text);
}

void Trainer::resume() {
  const NewestValid newest = saver_->newest();
  for (const std::string& skipped : newest.skipped)
    shout(fmt::format("warning: a checkpoint is left out: {}", skipped));
  if (!newest.checkpoint)
    throw user_error("there is no valid checkpoint of this run in {}",
                     checkpoints_of(config_.run.out).string())
        .help("take the weights of another one with --init-from, or begin anew with --overwrite");
  const Checkpoint& checkpoint = *newest.checkpoint;
  accept_changes(checkpoint.facts());
  fault(FaultPhase::Load);
  checkpoint.load_states(*executor_);
  position_ = checkpoint.facts().position;
  summary_.checkpoint = checkpoint.path();
  if (saver_->go_on_from(position_.step) && !quiet())
    progress_.note(
        fmt::format("{} was of no run: it is now that of run {}, which never removes what it did "
                    "not write itself",
                    config_.run.out, saver_->run_id()));
  if (!quiet())
    progress_.note(fmt::format("resumed from {} at step {}, saved on {}",
                               checkpoint.path().string(), position_.step,
                               saved_on(checkpoint.facts())));
}

void Trainer::accept_changes(const CheckpointFacts& saved) {
  const std::vector<ConfigChange> changes = resume_changes(saved, config_);
  require_accepted(changes, options_.accepted_changes);
  std::vector<ConfigChange> accepted, free;
  for (const ConfigChange& change : changes)
    (change.changes_numbers ? accepted : free).push_back(change);
  if (!accepted.empty()) warn(fmt::format("goes on with changes: {}", to_text(accepted)));
  if (!free.empty() && !quiet())
    progress_.note(fmt::format("changed since the checkpoint: {}", to_text(free)));
}

// Weights alone: moments, step and data begin anew. The tokenizer goes where the weights go.
void Trainer::begin_with(const StateSource& weights) {
  weights.load_weights(*executor_, /*averaged=*/false);
  if (!writes_files()) return;
  TokenizerFiles(tokenizer_folder(weights.path())).copy_to(config_.run.out);
  if (!quiet())
    progress_.note(fmt::format("begins with the weights of {}", weights.path().string()));
}

void Trainer::fault(FaultPhase phase) {
  if (!options_.faults) return;
  for (const RankStates* rank : executor_->rank_states())
    options_.faults->at(phase, rank->rank(), position_.step);
}

// A fault on purpose: this rank alone goes on as if the step were done.
bool Trainer::skips_step() {
  if (!options_.world || fault_at(options_.faults, FaultPhase::Step, options_.world->rank(),
                                  position_.step + 1) != ECANCELED)
    return false;
  ++position_.step;
  return true;
}

StepMetrics Trainer::step() {
  const auto begin = Clock::now();
  const BatchLoader::Loaded loaded = loader_->next();
  feeder_->feed(loaded.batch);
  const double rate = learning_rate_at(config_.train, position_.step);
  executor_->write_step("learning_rate", rate);
  executor_->write_step("step", static_cast<double>(position_.step + 1));
  executor_->run("train_step");

  ++position_.step;
  position_.next_sample += config_.train.batch;
  const int64_t tokens = tokens_per_step(config_, model_);
  position_.tokens += tokens;
  const std::vector<RankTimes> times = executor_->rank_times();
  StepMetrics metrics{.step = position_.step,
                      .loss = executor_->read_step("loss"),
                      .grad_norm = std::sqrt(executor_->read_step("norm_squares")),
                      .lr = rate,
                      .tokens = position_.tokens,
                      .step_seconds = seconds_since(begin),
                      .split = split_of(times),
                      .data_seconds = loaded.waited_seconds,
                      .elapsed_seconds = recorder_ ? recorder_->elapsed_seconds() : 0,
                      .peak_bytes = summary_.planned_bytes,
                      .held_out_loss = {}};
  metrics.tokens_per_second = static_cast<double>(tokens) / metrics.step_seconds;
  measure_peak(metrics);
  metrics.mfu = model_flops_utilisation(summary_.flops_per_token.causal, metrics.tokens_per_second,
                                        summary_.peak_flops_per_second);
  metrics.hfu = hardware_flops_utilisation(facts_.hardware_flops, metrics.step_seconds,
                                           summary_.peak_flops_per_second);
  if (times.size() > 1) metrics.spread = spread_of(times);
  if (!std::isfinite(metrics.loss) || !std::isfinite(metrics.grad_norm)) meet_non_finite(metrics);
  return metrics;
}

// All ranks come here in the same step: the loss and the norm are sums over all of them.
void Trainer::meet_non_finite(StepMetrics& metrics) {
  for (double* each : {&metrics.loss, &metrics.grad_norm})
    if (std::isnan(*each)) *each = NAN;  // without a sign, which says nothing
  const std::string what = fmt::format(
      "step {}: the loss is {} and the gradient norm {}; the first that is not finite is {}",
      metrics.step, metrics.loss, metrics.grad_norm, first_non_finite(*executor_, metrics.loss));
  const std::string& policy = config_.train.on_non_finite;
  if (policy == "skip" && !std::isfinite(metrics.grad_norm)) {
    metrics.skipped = true;  // the update itself has left everything as it was
    shout(fmt::format("warning: {}; the step is skipped", what));
  } else if (policy == "rewind") {
    rewind(what);
  } else {
    throw UserError(what).help(
        "use a smaller train.learning_rate, a longer train.warmup_steps, or train.clip_norm = 1; "
        "or see train.on_non_finite");
  }
}

// Back to the newest checkpoint, and on with the data behind those of this step.
void Trainer::rewind(const std::string& why) {
  constexpr int kMost = 3;  // to the same checkpoint
  saver_->finish();
  tell_saves();
  const int64_t next_sample = position_.next_sample;
  const NewestValid newest = saver_->newest();
  if (!newest.checkpoint)
    throw UserError(why).help(
        "train.on_non_finite is rewind, but there is no checkpoint: see "
        "--save-every");
  const int64_t to = newest.checkpoint->facts().position.step;
  rewinds_ = to == rewound_to_ ? rewinds_ + 1 : 1;
  rewound_to_ = to;
  if (rewinds_ > kMost)
    throw UserError(why).help(fmt::format("{} rewinds to step {} did not help", kMost, to));
  newest.checkpoint->load_states(*executor_);
  position_ = newest.checkpoint->facts().position;
  position_.next_sample = next_sample;
  saver_->go_on_from(to);
  loader_ = std::make_unique<BatchLoader>(*data_.train, config_.train.batch, next_sample);
  save_begun_ = to;
  if (recorder_) begin_record(position_.step);
  shout(fmt::format("warning: {}; back to step {}, on with the data behind", why, to));
}

// After the first step, so that nobody waits for it; for the whole run.
void Trainer::measure_peak(const StepMetrics& metrics) {
  fastest_ = std::max(fastest_, summary_.flops_per_token.causal * metrics.tokens_per_second);
  if (position_.step != summary_.first_step + 1) return;
  if (peak_) summary_.peak_flops_per_second = devices_ * peak_->flops_per_second();
  if (recorder_) recorder_->peak(summary_.peak_flops_per_second, summary_.peak_measured);
}

// Where a step was faster than the peak: the machine was busy when it was measured.
void Trainer::raise_peak() {
  const double peak = summary_.peak_flops_per_second;
  if (!peak_ || !writes_files() || fastest_ <= peak || peak == 0) return;
  summary_.raised_peak_flops_per_second = devices_ * peak_->raise_above(fastest_ / devices_);
}

// Of one machine's cores, or of one GPU, which nobody shares: that is measured anew.
void Trainer::find_peak() {
  if (on_gpu()) {
    devices_ = options_.world ? facts_.ranks : 1;
    peak_.emplace(PeakCache({}), facts_.device,
                  [this] { return measure_cuda_matmul_rate(precision_.compute); });
    return;
  }
  devices_ = facts_.nodes;
  const int threads =
      std::min(options_.world ? facts_.device_count / facts_.nodes : threads_, cores_online());
  peak_.emplace(PeakCache(user_cache_folder()),
                fmt::format("{}, {} thread{}", facts_.device, threads, threads == 1 ? "" : "s"),
                [threads] { return measure_matmul_rate(threads); });
}

double Trainer::held_out_loss() {
  const int64_t samples = config_.train.eval_batches * config_.train.batch;
  return sample_losses(*executor_, *feeder_, *data_.held_out, samples, config_.train.batch).loss;
}

double Trainer::save() {
  if (save_begun_ == position_.step) return 0;
  const double stalled = saver_->save(position_);
  save_begun_ = position_.step;
  ++summary_.saves;
  summary_.save_stall_seconds += stalled;
  if (recorder_) recorder_->spent("checkpoint", position_.step, stalled, saver_->snapshot_bytes());
  return stalled;
}

// What became of those that are written by now.
void Trainer::tell_saves() {
  while (const auto outcome = saver_->take_outcome()) {
    summary_.save_written_seconds += outcome->seconds;
    summary_.save_error = outcome->saved ? "" : outcome->error;
    if (outcome->saved) {
      summary_.checkpoint = outcome->path;
      summary_.save_bytes = outcome->bytes;
    }
    for (const std::filesystem::path& aside : outcome->aside)
      shout(fmt::format("warning: {} is not of this run's present history, and was set aside",
                        aside.string()));
    if (recorder_) recorder_->saved(*outcome);
    if (outcome->fenced)
      throw UserError(outcome->error).help("one run at a time can use a folder: see --out");
    if (outcome->error.empty()) continue;
    if (!outcome->saved) ++summary_.failed_saves;
    const std::string text = fmt::format(
        "CHECKPOINT OF STEP {} {}: {}", outcome->step,
        outcome->saved ? "NEEDS A LOOK" : "FAILED, the run goes on without it", outcome->error);
    shout(text);
  }
}

void Trainer::write_trace() {
  trace_->stop();
  std::vector<std::string> events;
  if (options_.world) events = executor_->gather(trace_->events(options_.world->rank()));
  try {
    if (writes_files())
      write_file_atomically(config_.run.trace,
                            options_.world ? trace_json(events) : trace_->to_json());
    summary_.trace = config_.run.trace;
  } catch (const UserError& error) {
    shout(fmt::format("warning: there is no trace: {}", error.message()));
  }
  if (!options_.faults) executor_->stop_observing();
}

void Trainer::show_sample(const std::string& title) {
  const auto begin = Clock::now();
  if (!generator_)
    generator_ =
        std::make_unique<TextGenerator>(model_, precision_.compute, config_.train.seq, threads_);
  generator_->copy_parameters(*executor_);
  std::string text = config_.data.source == "stories" ? "Once upon a time" : "";
  std::vector<int32_t> prompt = text_.opening();
  for (const int32_t token : text_.encode(text)) prompt.push_back(token);
  // Calm: what the model is sure of, not all that it may say.
  generator_->generate(prompt, {.tokens = 240, .temperature = 0.4, .top_k = 0, .seed = 1},
                       [&](int32_t token) {
                         text += text_.show(token);
                         return true;
                       });
  text = printable(text);
  if (!quiet()) progress_.note(fmt::format("--- {} ---\n{}\n---", title, text));
  summary_.samples.push_back({position_.step, text});
  if (recorder_) recorder_->spent("sample", position_.step, seconds_since(begin));
}

TrainSummary Trainer::run() {
  if (writes_files())
    begin_record(continues_record_ ? std::optional(position_.step) : std::nullopt);
  if (shows_samples()) show_sample(fmt::format("what it writes at step {}", position_.step));
  try {
    train_steps();
  } catch (const std::exception& error) {
    if (recorder_) recorder_->failed(position_.step, error.what());
    throw;
  }
  raise_peak();
  finish_summary(summary_, position_, facts_.hardware_flops);
  return summary_;
}

void Trainer::train_steps() {
  bool goes = goes_on();
  // The ranks have just met: their clocks begin together.
  if (!config_.run.trace.empty())
    trace_ = std::make_unique<TraceRecorder>(executor_->program().mesh);
  for (; position_.step < config_.train.steps && goes; goes = goes_on()) {
    if (skips_step()) continue;
    StepMetrics metrics = step();
    if (position_.step < metrics.step) continue;  // rewound
    count_step(summary_, metrics);
    behind_step(metrics);
  }
  progress_.finish();
  if (!goes && config_.checkpoint.every > 0) save();
  saver_->finish();
  tell_saves();
  fault(FaultPhase::Exit);
  if (recorder_) recorder_->ended(position_.step, summary_.stopped_by);
  tell_losses();
}

bool Trainer::goes_on() {
  if (options_.world) options_.world->at_step(position_.step);
  const Agreement agreed = agree_on_next_step(
      *executor_, position_.step, {.stop = stop_.requested(), .save = stop_.take_save_request()});
  if (agreed.save && config_.checkpoint.every > 0 && position_.step > summary_.first_step) save();
  if (agreed.stop) summary_.stopped_by = stop_.requested() ? stop_.name() : "another rank";
  return !agreed.stop;
}

// What is not part of the step: traces, held-out losses, progress, samples, checkpoints.
void Trainer::behind_step(StepMetrics& metrics) {
  saver_->require_newest();
  const bool last = position_.step == config_.train.steps;
  if (trace_ && trace_->recording() &&
      (last || position_.step - summary_.first_step == config_.run.trace_steps))
    write_trace();
  if (data_.held_out && config_.train.eval_every > 0 && (due(config_.train.eval_every) || last)) {
    const auto begin = Clock::now();
    metrics.held_out_loss = summary_.held_out_loss = held_out_loss();
    if (recorder_) recorder_->spent("evaluation", position_.step, seconds_since(begin));
    if (!quiet())
      progress_.note(
          fmt::format("step {}: held-out loss {:.4f}", position_.step, *metrics.held_out_loss));
  }
  if (due(config_.checkpoint.every) || (last && config_.checkpoint.every > 0))
    metrics.checkpoint_stall_seconds = save();
  tell_saves();
  if (recorder_) recorder_->step(metrics);
  if (tensorboard_) tensorboard_->write(metrics.step, scalars_of(metrics));
  if (!quiet()) progress_.step(metrics);
  if (shows_samples() && (due(config_.train.sample_every) || last))
    show_sample(fmt::format("what it writes at step {}", position_.step));
}

}  // namespace tessera
