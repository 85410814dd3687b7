// SPDX-License-Identifier: Apache-2.0
#include "train/trainer.h"

#include <cerrno>
#include <chrono>
#include <cmath>

#include "checkpoint/joined_source.h"
#include "config/config.h"
#include "config/run_spec.h"
#include "data/island_share.h"
#include "files/folder.h"
#include "huggingface/tokenizer_files.h"
#include "inference/stored_model.h"
#include "models/lora.h"
#include "system/process.h"
#include "system/seconds_since.h"
#include "system/this_machine.h"
#include "train/agreement.h"
#include "train/fault_observer.h"
#include "train/island_exchange.h"
#include "train/learning_rate.h"
#include "train/run_executor.h"
#include "train/shared_folder.h"

namespace tessera {

Trainer::Trainer(Config config, TrainerOptions options)
    : stop_(options.takes_signals ? std::optional<StopSignal>(std::in_place) : std::nullopt),
      config_(std::move(config)),
      options_(std::move(options)),
      model_(resolve_model(config_)),
      samples_(config_, model_, resolve_threads(config_)),
      data_(options_.data ? options_.data(config_)
                          : open_training_data(config_, model_, resolve_precision(config_).compute,
                                               options_.data_progress)),
      outputs_(config_, options_.world, options_.quiet, options_.island, options_.lines) {
  outputs_.serve_metrics(!options_.resume);
  if (!options_.init_from && !config_.lora.base.empty()) {
    opened_base_ = open_base(config_.lora.base, config_.run.out);
    options_.init_from = opened_base_.get();
  }
  const OldRun old = find_run_in_folder();
  continues_record_ = options_.resume || old == OldRun::FailedStart;
  make_executor();
  if (is_host(config_.run.device) && facts_.nodes <= 1)
    require_memory(executor_->planned_bytes() * islands_here(), facts_.node_memory_bytes);
  prepare_folder(old);
  if (options_.world) options_.world->at_step(0);
  saver_ = std::make_unique<RunSaver>(
      config_, *executor_, options_.world, options_.faults,
      RunStart{.resume = options_.resume, .run_id = options_.run_id, .base = base_weights()});
  if (options_.island) make_exchange();
  const StepParts parts{.config = config_,
                        .model = model_,
                        .facts = facts_,
                        .train = share_ ? *share_ : *data_.train,
                        .data = data_,
                        .executor = *executor_,
                        .outputs = outputs_};
  room_ = std::make_unique<ExpertRoom>(config_, facts_, *executor_, *saver_, outputs_);
  runner_ = std::make_unique<StepRunner>(
      parts, MfuPeak(config_, facts_, options_.world, resolve_threads(config_)), *room_);
  recovery_ = std::make_unique<Recovery>(
      parts, *runner_, *saver_, position_, options_.faults,
      IslandRecovery{.group = options_.island ? options_.island->group : nullptr,
                     .exchange = exchange_.get()});
  if (options_.resume) {
    recovery_->resume(options_.accepted_changes);
    load_base_weights();
  } else {
    make_first_states();
  }
  if (exchange_) continue_from(exchange_->begin(position_.step));
  outputs_.write_side_files(*saver_, options_.resume);
  runner_->load_from(position_.next_sample);
  outputs_.summary().first_step = position_.step;
  outputs_.summary().planned_bytes = executor_->planned_bytes() + saver_->snapshot_bytes();
}

OldRun Trainer::find_run_in_folder() const {
  if (!outputs_.writes_files()) return OldRun::None;
  if (options_.resume) {
    require_checkpoints(config_.run.out, options_.run_id);
    return OldRun::None;
  }
  return find_old_run({.out = config_.run.out,
                       .run_id = options_.run_id,
                       .overwrite = options_.overwrite,
                       .first_weights = options_.init_from ? options_.init_from->path() : ""});
}

// Only after the executor is made: a plan that cannot run must cost an old run nothing.
void Trainer::prepare_folder(OldRun old) {
  if (outputs_.writes_files() && !options_.resume) make_folder(config_.run.out);
  if (options_.world && (config_.checkpoint.every > 0 || options_.resume))
    require_shared_folder(*options_.world, config_.run.out);
  if (old == OldRun::Replaced) clear_run_folder(config_.run.out);
}

void Trainer::make_executor() {
  RankObserver observer;
  if (!config_.run.trace.empty()) observer = outputs_.trace_observer();
  RankFault fault;
  if (options_.faults) fault = faults_in_steps(*options_.faults, position_.step);
  RunExecutor made =
      make_run_executor(config_, options_.world, std::move(observer), std::move(fault));
  executor_ = std::move(made.executor);
  if (options_.world) job_ = options_.world->everyone("job");
  facts_ = std::move(made.facts);
  for (const std::string& note : {made.note, warmup_note(config_.train)})
    if (!note.empty()) outputs_.note(note);
  for (const std::string& note : notes_on(config_)) outputs_.note("note: " + note);
  for (const std::string& note : data_.notes) outputs_.note(note);
  for (const std::string& warning : made.warnings) outputs_.warn(warning);
}

void Trainer::make_exchange() {
  const IslandRole& role = *options_.island;
  const RunSpec spec = resolve(config_);
  share_ = share_of_island(*data_.train, {.index = role.index,
                                          .islands = role.islands,
                                          .batch = spec.batch() * role.islands,
                                          .microbatches = spec.microbatches});
  exchange_ = std::make_unique<IslandExchange>(
      *executor_, IslandExchangeOptions{.islands = config_.islands,
                                        .format = island_wire_format(config_),
                                        .steps = config_.train.steps,
                                        .link = role.link,
                                        .job = job_.get()});
}

// The other islands are ahead: what lies between has been trained by them, or by nobody.
void Trainer::continue_from(std::optional<int64_t> step) {
  if (!step) return;
  position_.next_sample += (*step - position_.step) * config_.train.batch;
  outputs_.warn_always(
      fmt::format("warning: this island was at step {}, and goes on from step {} with the newest "
                  "weights of the others",
                  position_.step, *step));
  position_.step = *step;
}

void Trainer::exchange(double loss) {
  const auto begin = std::chrono::steady_clock::now();
  exchange_->report(position_.step, loss, position_.tokens);
  const std::optional<int64_t> ahead = exchange_->after_step(position_.step);
  const std::vector<ExchangeRecord> records = exchange_->take_records();
  if (!records.empty()) outputs_.record_exchanges(records, seconds_since(begin));
  if (!ahead) return;
  continue_from(ahead);
  runner_->load_from(position_.next_sample);
}

// Given weights replace random ones; moments, step and data start at zero all the same. The
// tokenizer goes where the weights go.
void Trainer::make_first_states() {
  constexpr int64_t kMany = 50'000'000;  // parameters that take seconds
  if (const int64_t parameters = parameter_count(model_); parameters > kMany)
    outputs_.note(fmt::format("drawing the first values of {:.0f}M parameters",
                              static_cast<double>(parameters) / 1e6));
  initialise_states(*executor_, static_cast<uint64_t>(config_.train.seed));
  if (!options_.init_from) return;
  const StateSource& first = *options_.init_from;
  first.load_weights(*executor_, /*averaged=*/false,
                     [&](const StateSpec&, const std::string& parameter) {
                       return !is_adapter(parameter) || first.tensors().contains(parameter);
                     });
  if (!outputs_.writes_files()) return;
  const std::filesystem::path weights = options_.init_from->path();
  // Conversations are written with the files next to data.tokenizer, which the outputs keep.
  if (config_.data.source != DataSource::Chat || config_.data.tokenizer.empty())
    TokenizerFiles(tokenizer_folder(weights)).copy_to(config_.run.out);
  outputs_.note(fmt::format("begins with the weights of {}", weights.string()));
}

const StateSource* Trainer::base_weights() const {
  if (config_.lora.base.empty() || !options_.init_from) return nullptr;
  const auto* adapted = dynamic_cast<const JoinedSource*>(options_.init_from);
  return adapted ? &adapted->base() : options_.init_from;
}

// What checkpoints leave out.
void Trainer::load_base_weights() {
  if (const StateSource* base = base_weights())
    base->load_weights(*executor_, /*averaged=*/false,
                       [](const StateSpec& state, const std::string&) { return state.in_base; });
}

TrainSummary Trainer::run() {
  outputs_.begin_record(*saver_, facts_,
                        continues_record_ ? std::optional(position_.step) : std::nullopt);
  if (writes_samples()) samples_.write(*executor_, position_.step, data_.prompt, outputs_);
  try {
    train_steps();
  } catch (const std::exception& error) {
    outputs_.record_failure(position_.step, error.what());
    throw;
  }
  runner_->raise_peak();
  finish_summary(outputs_.summary(), position_, facts_.hardware_flops);
  return outputs_.summary();
}

void Trainer::train_steps() {
  bool continues = agree_to_continue();
  // The ranks have just met: their clocks start together.
  if (!config_.run.trace.empty()) outputs_.begin_trace(facts_.ranks);
  for (; position_.step < config_.train.steps && continues; continues = agree_to_continue()) {
    if (skips_step()) continue;
    StepRecord record = runner_->run(position_);
    if (!std::isfinite(record.loss) || !std::isfinite(record.grad_norm))
      recovery_->handle_non_finite(record);
    if (position_.step < record.step) continue;  // rewound
    count_step(outputs_.summary(), record);
    if (exchange_) exchange(record.loss);
    after_step(record);
  }
  outputs_.finish_progress();
  if (exchange_) exchange_->leave();
  if (!continues && config_.checkpoint.every > 0) save();
  saver_->finish();
  outputs_.report_saves(*saver_);
  inject_faults(options_.faults, FaultPhase::Exit, *executor_, position_.step);
  outputs_.record_end(position_.step);
}

// After what the ranks have agreed on between two steps.
bool Trainer::agree_to_continue() {
  if (options_.world) options_.world->at_step(position_.step);
  TrainSummary& summary = outputs_.summary();
  const bool told = stop_ && stop_->requested();
  const Agreement mine{.stop = told || !asked_to_stop_.empty(),
                       .save = stop_ && stop_->take_save_request()};
  IslandGroup* group = options_.island ? options_.island->group : nullptr;
  const Agreement agreed = group ? group->agree(options_.island->index, position_.step, mine)
                                 : agree_on_next_step(job_.get(), position_.step, mine);
  if (agreed.save && config_.checkpoint.every > 0 && position_.step > summary.first_step) save();
  if (agreed.stop && position_.step < config_.train.steps)
    summary.stopped_by = told                     ? stop_->name()
                         : asked_to_stop_.empty() ? "another rank"
                                                  : asked_to_stop_;
  return !agreed.stop;
}

// What is not part of the step: traces, held-out losses, progress, samples, checkpoints.
void Trainer::after_step(StepRecord& record) {
  saver_->require_newest();
  TrainSummary& summary = outputs_.summary();
  const bool last = position_.step == config_.train.steps;
  if (outputs_.tracing() &&
      (last || position_.step - summary.first_step == config_.run.trace_steps)) {
    outputs_.write_trace(job_.get());
    executor_->stop_observing();
  }
  const bool evaluates =
      data_.held_out && config_.train.eval_every > 0 && (due(config_.train.eval_every) || last);
  if (evaluates) {
    const auto begin = std::chrono::steady_clock::now();
    record.held_out_loss = runner_->held_out_loss(position_.step);
    summary.held_out_loss = record.held_out_loss;
    outputs_.record_spent("evaluation", position_.step, seconds_since(begin));
    if (!options_.island || !options_.island->record)
      outputs_.note(
          fmt::format("step {}: held-out loss {:.4f}", position_.step, record.held_out_loss));
  }
  if (due(config_.checkpoint.every) || (last && config_.checkpoint.every > 0))
    record.checkpoint_stall_seconds = save();
  outputs_.report_saves(*saver_);
  outputs_.record_step(record);
  if (writes_samples() && samples_.due(position_.step, evaluates))
    samples_.write(*executor_, position_.step, data_.prompt, outputs_);
  if (options_.on_step && asked_to_stop_.empty()) asked_to_stop_ = options_.on_step(record);
}

double Trainer::save() {
  if (saver_->saved(position_.step)) return 0;
  // So that no island prunes what another one still needs.
  if (options_.island && options_.island->group) options_.island->group->meet();
  const double stalled = saver_->save(position_, exchange_ ? exchange_->save() : SideTensors{});
  outputs_.record_stall(position_.step, stalled, saver_->snapshot_bytes());
  return stalled;
}

// A fault on purpose: this rank alone continues as if the step were done.
bool Trainer::skips_step() {
  if (!options_.world || fault_at(options_.faults, FaultPhase::Step, options_.world->rank(),
                                  position_.step + 1) != ECANCELED)
    return false;
  ++position_.step;
  return true;
}

}  // namespace tessera
