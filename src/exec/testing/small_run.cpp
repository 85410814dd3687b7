// SPDX-License-Identifier: Apache-2.0
#include "exec/testing/small_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/convert_elements.h"
#include "core/random.h"

namespace tessera {
namespace {

// Rows of one or two documents; positions begin again at each.
int64_t first_of_document(int64_t seq, int64_t position, bool one_document) {
  const int64_t cut = one_document ? seq : seq / 3;
  return position < cut ? 0 : cut;
}

// Element i of a row of `input`.
int32_t made_word(const std::string& input, uint64_t random, const SmallModel& model,
                  int64_t position, bool one_document) {
  const auto token = static_cast<int32_t>(
      random % static_cast<uint64_t>(std::max<int64_t>(1, model.config.vocabulary)));
  if (input == "tokens") return token;
  if (input == "labels") return random >> 40 & 3 ? token : -1;
  const int64_t first = first_of_document(model.seq, position, one_document);
  if (input == "positions") return static_cast<int32_t>(position - first);
  if (input == "document") return first == 0 ? 0 : 1;
  if (input == "last") return static_cast<int32_t>(random % static_cast<uint64_t>(model.seq));
  check_failed("a known batch input", __FILE__, __LINE__, input);
}

}  // namespace

double relative_error(std::span<const double> a, std::span<const double> b) {
  TESSERA_CHECK(a.size() == b.size());
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= difference)) difference = std::abs(a[i] - b[i]);  // keeps NaN
    size = std::max(size, std::abs(b[i]));
  }
  return difference == 0 ? 0 : difference / size;
}

SmallRun::SmallRun(const SmallModel& model, const SmallRunOptions& options)
    : model_(model), options_(options) {
  Compiled compiled = compile(model.build(options.precision, options.batch),
                              {.optimizer = options.optimizer,
                               .profile = {.threads = options.threads},
                               .microbatches = options.microbatches,
                               .pipeline = options.pipeline});
  executor_ = std::make_unique<CpuExecutor>(
      std::move(compiled.program()),
      CpuExecutorOptions{
          .threads = options.threads, .poison = options.poison, .observer = options.observer});
  initialise_states(*executor_, 7);
}

std::vector<std::byte> SmallRun::made_input(const HostBuffer& input, int step,
                                            int microbatch) const {
  const RandomStream random(static_cast<uint64_t>(step), input.name);
  const int64_t row_size = input.type.num_elements() / options_.batch;
  const int64_t first_row = microbatch * options_.batch;
  const bool one_document =
      options_.one_document_every > 0 && step % options_.one_document_every == 0;
  std::vector<std::byte> bytes(static_cast<size_t>(input.type.bytes()));
  const auto index = [&](int64_t i) { return static_cast<uint64_t>(first_row * row_size + i); };
  if (input.type.dtype == DType::Int32) {
    auto* words = reinterpret_cast<int32_t*>(bytes.data());
    for (int64_t i = 0; i < input.type.num_elements(); ++i)
      words[i] = made_word(input.name, random.bits(index(i)), model_, i % row_size, one_document);
    return bytes;
  }
  dispatch_float(input.type.dtype, [&]<typename T>() {
    T* values = reinterpret_cast<T*>(bytes.data());
    for (int64_t i = 0; i < input.type.num_elements(); ++i)
      values[i] = store<T>(static_cast<Accumulator<T>>(random.normal(index(i))));
  });
  return bytes;
}

void SmallRun::write_inputs(int step) {
  for (const HostBuffer& input : program().batch_inputs)
    for (int microbatch = 0; microbatch < options_.microbatches; ++microbatch)
      executor_->write_batch(input, microbatch, made_input(input, step, microbatch));
  executor_->write_step("learning_rate", options_.learning_rate);
  executor_->write_step("step", step);
}

double SmallRun::train_step(int step) {
  write_inputs(step);
  executor_->run("train_step");
  return executor_->read_step("loss");
}

double SmallRun::evaluate(int step) {
  write_inputs(step);
  executor_->run("evaluate");
  return executor_->read_step("loss");
}

double SmallRun::objective() const {
  double sum = 0;
  for (const char* loss : {"loss", "balance_loss", "z_loss"})
    if (program().find_step_value(loss)) sum += executor_->read_step(loss);
  return sum;
}

std::vector<double> SmallRun::losses(int steps) {
  std::vector<double> losses;
  for (int step = 1; step <= steps; ++step) losses.push_back(train_step(step));
  return losses;
}

std::map<std::string, std::vector<std::byte>> SmallRun::states() const {
  std::map<std::string, std::vector<std::byte>> states;
  for (const StateBuffer& state : program().states) {
    std::vector<std::byte>& bytes = states[state.name];
    bytes.resize(static_cast<size_t>(state.type.bytes()));
    executor_->read_state(state, bytes);
  }
  return states;
}

void SmallRun::write_states(const std::map<std::string, std::vector<std::byte>>& states) {
  for (const StateBuffer& state : program().states)
    executor_->write_state(state, states.at(state.name));
}

std::map<std::string, std::vector<double>> SmallRun::gradients() const {
  std::map<std::string, std::vector<double>> gradients;
  for (const StateBuffer& state : program().states) {
    if (!state.has_gradient()) continue;
    std::vector<std::byte> bytes(static_cast<size_t>(state.gradient_type.bytes()));
    executor_->read_gradient(state, bytes);
    gradients[state.name] = to_doubles(state.gradient_type, bytes);
  }
  return gradients;
}

}  // namespace tessera
