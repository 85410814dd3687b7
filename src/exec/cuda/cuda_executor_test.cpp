// SPDX-License-Identifier: Apache-2.0
// Small models of every family in training on a GPU and on the CPU, from the same weights and data.
#include "exec/cuda/cuda_executor.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "core/convert_elements.h"
#include "exec/device.h"
#include "exec/testing/copy_program.h"
#include "exec/testing/small_run.h"
#include "exec/train_step.h"

namespace tessera {
namespace {

struct Case {
  SmallModel model;
  Precision precision;
  int microbatches;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const SmallModel& model : small_models())
    for (const Precision precision : kPrecisions)
      for (const int microbatches : {1, 3}) all.push_back({model, precision, microbatches});
  return all;
}

std::string case_title(const testing::TestParamInfo<Case>& info) {
  return fmt::format("{}_{}_{}_microbatches", info.param.model.name, name(info.param.precision),
                     info.param.microbatches);
}

// Of losses, gradients and weights, over ten steps.
double tolerance(Precision precision) {
  if (precision.compute == DType::Fp64) return 1e-9;
  return precision.compute == DType::Fp32 ? 1e-4 : 5e-2;
}

// The program of a SmallRun once more, on the GPU, fed with what the CPU has been fed with.
class GpuTwin {
 public:
  GpuTwin(const Case& c, SmallRun& cpu, bool wait_for_each = true,
          const std::function<void(Program&)>& change = {})
      : cpu_(cpu) {
    Compiled compiled =
        compile(c.model.build(c.precision, 2),
                {.optimizer = {}, .profile = {.threads = 1}, .microbatches = c.microbatches});
    if (change) change(compiled.program());
    executor_ = require_device(DeviceKind::Cuda)
                    .make_executor(std::move(compiled.programs), {.wait_for_each = wait_for_each});
    initialise_states(*executor_, 7);
  }

  double run(const char* script, int step) {
    const Program& program = cpu_.program();
    const std::byte* window = cpu_.executor().arena(Lifetime::Window).data();
    for (const HostBuffer& input : program.batch_inputs)
      for (int m = 0; m < program.microbatches; ++m)
        executor_->write_batch(input, m,
                               {window + input.offset + m * program.batch_input_stride,
                                static_cast<size_t>(input.type.bytes())});
    executor_->write_step("learning_rate", SmallRunOptions{}.learning_rate);
    executor_->write_step("step", step);
    executor_->run(script);
    return executor_->read_step("loss");
  }

  double seconds() const { return executor_->rank_times().front().run_seconds; }

  std::map<std::string, std::vector<double>> gradients() const {
    std::map<std::string, std::vector<double>> all;
    for (const StateBuffer& state : cpu_.program().states) {
      if (!state.has_gradient()) continue;
      std::vector<std::byte> bytes(static_cast<size_t>(state.gradient_type.bytes()));
      executor_->read_gradient(state, bytes);
      all[state.name] = to_doubles(state.gradient_type, bytes);
    }
    return all;
  }
  std::vector<std::byte> state(const StateBuffer& state) const {
    std::vector<std::byte> bytes(static_cast<size_t>(state.type.bytes()));
    executor_->read_state(state, bytes);
    return bytes;
  }

 private:
  SmallRun& cpu_;
  std::unique_ptr<Executor> executor_;
};

// max|a-b| over the largest of b, or 0.01 of the largest of any tensor: some gradients are zero in
// theory.
void expect_near(const std::map<std::string, std::vector<double>>& a,
                 const std::map<std::string, std::vector<double>>& b, double tolerance) {
  double largest = 0;
  const auto most = [](const std::vector<double>& values) {
    double size = 0;
    for (const double value : values) size = std::max(size, std::abs(value));
    return size;
  };
  for (const auto& [name, values] : b) largest = std::max(largest, most(values));
  for (const auto& [name, values] : b) {
    double difference = 0;
    const std::vector<double>& other = a.at(name);
    for (size_t i = 0; i < values.size(); ++i)
      if (!(std::abs(other[i] - values[i]) <= difference))
        difference = std::abs(other[i] - values[i]);
    EXPECT_LE(difference / std::max(most(values), 0.01 * largest), tolerance) << name;
  }
}

TEST(GpuKernels, EveryOpOfASmallModelHasOne) {
  for (const SmallModel& model : small_models()) {
    const Compiled compiled = compile(model.build(DType::Bf16, 2), {.microbatches = 2});
    for (const ProgramClass& each : compiled.program().classes)
      for (const auto& routine : each.routines)
        for (const Instruction& instruction : routine)
          if (const auto* kernel = instruction.as<KernelInstruction>()) {
            EXPECT_TRUE(has_cuda_kernel(kernel->op)) << model.name << " " << name(kernel->op);
          }
  }
}

TEST(GpuHostMemory, WhatIsCopiedThereComesBack) {
  if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
  CudaExecutor executor(CopyProgram().program, {});
  for (const float first : {1.0F, 2.0F, 3.0F}) {  // from the second run on it is a graph
    std::vector<float> input(15, first), output(15);
    executor.write_batch(executor.program().batch_inputs.front(), 0,
                         std::as_bytes(std::span(input)));
    executor.run("evaluate");
    executor.read_output(std::as_writable_bytes(std::span(output)));
    EXPECT_EQ(output, input);
  }
}

class GpuTraining : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
  }
  SmallRun cpu_run() const {
    return SmallRun(GetParam().model,
                    {.precision = GetParam().precision, .microbatches = GetParam().microbatches});
  }
};

TEST_P(GpuTraining, FirstGradientsAreTheCpus) {
  SmallRun cpu = cpu_run();
  GpuTwin gpu(GetParam(), cpu);
  const double expected = cpu.train_step(1), loss = gpu.run("train_step", 1);
  EXPECT_NEAR(loss, expected, tolerance(GetParam().precision) * std::abs(expected));
  expect_near(gpu.gradients(), cpu.gradients(), tolerance(GetParam().precision));
}

TEST_P(GpuTraining, TenLossesAreTheCpus) {
  SmallRun cpu = cpu_run();
  GpuTwin gpu(GetParam(), cpu);
  for (int step = 1; step <= 10; ++step) {
    const double expected = cpu.train_step(step);
    EXPECT_NEAR(gpu.run("train_step", step), expected,
                tolerance(GetParam().precision) * std::abs(expected))
        << "step " << step;
  }
  const double expected = cpu.evaluate(11);
  EXPECT_NEAR(gpu.run("evaluate", 11), expected,
              tolerance(GetParam().precision) * std::abs(expected));
}

TEST_P(GpuTraining, RepeatsItsBits) {
  SmallRun cpu = cpu_run();
  cpu.write_inputs(1);
  GpuTwin once(GetParam(), cpu), again(GetParam(), cpu);
  for (int step = 1; step <= 3; ++step)
    EXPECT_EQ(once.run("train_step", step), again.run("train_step", step));
  for (const StateBuffer& state : cpu.program().states)
    EXPECT_EQ(once.state(state), again.state(state)) << state.name;
}

TEST_P(GpuTraining, AGraphOfTheStepGivesTheSameBits) {
  SmallRun cpu = cpu_run();
  GpuTwin apart(GetParam(), cpu), graph(GetParam(), cpu, false);
  for (int step = 1; step <= 4; ++step) {
    cpu.write_inputs(step);
    EXPECT_EQ(apart.run("train_step", step), graph.run("train_step", step)) << "step " << step;
    EXPECT_EQ(apart.run("evaluate", step), graph.run("evaluate", step)) << "step " << step;
  }
  for (const StateBuffer& state : cpu.program().states)
    EXPECT_EQ(apart.state(state), graph.state(state)) << state.name;
}

TEST_P(GpuTraining, TellsTheSecondsOfTheLastScript) {
  SmallRun cpu = cpu_run();
  cpu.write_inputs(1);
  GpuTwin gpu(GetParam(), cpu, false);
  EXPECT_EQ(gpu.seconds(), 0);
  for (int step = 1; step <= 3; ++step) {  // the third is a graph
    const auto begin = std::chrono::steady_clock::now();
    gpu.run("train_step", step);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    EXPECT_GT(gpu.seconds(), 0) << "step " << step;
    EXPECT_LE(gpu.seconds(), passed.count()) << "step " << step;
  }
}

// Heads that tensor cores take; every second batch is plain causal and takes another graph.
TEST(GpuAttentionInTraining, GivesTheCpusLossesWithAndWithoutDocuments) {
  if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
  SmallModel model = small_model("Llama");
  model.config.head_size = 64;
  model.config.context = model.seq = 128;
  for (const int microbatches : {1, 2}) {
    const Case wide{model, DType::Bf16, microbatches};
    SmallRun cpu(
        model,
        {.precision = wide.precision, .microbatches = microbatches, .one_document_every = 2});
    GpuTwin gpu(wide, cpu, false), again(wide, cpu, false);
    for (int step = 1; step <= 8; ++step) {
      const double expected = cpu.train_step(step), loss = gpu.run("train_step", step);
      EXPECT_NEAR(loss, expected, tolerance(wide.precision) * std::abs(expected))
          << "step " << step;
      EXPECT_EQ(again.run("train_step", step), loss) << "step " << step;
    }
  }
}

// Two ranks with a row each: their own pieces of a batch decide, not all of it.
TEST(GpuAttentionInTraining, LooksAtTheRanksOwnPieceOfABatch) {
  if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
  SmallModel model = small_model("Llama");
  model.config.head_size = 64;
  model.config.context = model.seq = 128;
  SmallRun cpu(model, {.precision = DType::Bf16, .one_document_every = 2});
  const Plan plan = make_plan({.mesh = {{"dp", 2}}}, {.kv_heads = model.config.kv_heads});
  const auto mesh =
      require_device(DeviceKind::Cuda)
          .make_mesh(compile(model.build(DType::Bf16, 2), {.optimizer = {}, .plan = plan}).programs,
                     {});
  initialise_states(*mesh, 7);
  const auto inputs_of = [&](int step) {
    cpu.write_inputs(step);
    std::vector<std::vector<std::byte>> all;
    for (const HostBuffer& input : cpu.program().batch_inputs) {
      const std::byte* data = cpu.executor().arena(Lifetime::Window).data() + input.offset;
      all.emplace_back(data, data + input.type.bytes());
    }
    return all;
  };
  const auto documents = inputs_of(1), plain = inputs_of(2);
  for (int step = 1; step <= 8; ++step) {
    const bool first_plain = step % 2 == 0, second_plain = step % 4 >= 2;
    for (size_t i = 0; i < plain.size(); ++i) {
      std::vector<std::byte> bytes = first_plain ? plain[i] : documents[i];
      const auto half = static_cast<std::ptrdiff_t>(bytes.size() / 2);
      std::copy((second_plain ? plain[i] : documents[i]).begin() + half,
                (second_plain ? plain[i] : documents[i]).end(), bytes.begin() + half);
      cpu.executor().write_batch(cpu.program().batch_inputs[i], 0, bytes);
      mesh->write_batch(mesh->program().batch_inputs[i], 0, bytes);
    }
    const StepInputs inputs{.learning_rate = SmallRunOptions{}.learning_rate, .step = step};
    const double expected = run_train_step(cpu.executor(), inputs).loss;
    EXPECT_NEAR(run_train_step(*mesh, inputs).loss, expected, tolerance(DType::Bf16) * expected)
        << step;
    EXPECT_EQ(dynamic_cast<CudaExecutor&>(mesh->rank(0)).plain_causal(), first_plain) << step;
    EXPECT_EQ(dynamic_cast<CudaExecutor&>(mesh->rank(1)).plain_causal(), second_plain) << step;
  }
}

// A program whose embedding reads tokens where nothing is, run by a process of its own: a GPU does
// not recover from that.
void run_with_a_wild_address(bool wait_for_each) {
  SmallRun cpu(small_model("Gpt"), {});
  cpu.write_inputs(1);
  GpuTwin gpu({small_model("Gpt"), DType::Fp64, 1}, cpu, wait_for_each, [](Program& program) {
    const HostBuffer& tokens = *program.find_batch_input("tokens");
    for (ProgramBlock& block : program.blocks)
      for (size_t i = 0; i < block.offsets.size(); ++i)
        if (program.class_of(block).buffers[i].lifetime == Lifetime::Window &&
            block.offsets[i] == tokens.offset)
          block.offsets[i] = int64_t{1} << 45;
  });
  try {
    gpu.run("train_step", 1);
  } catch (const CudaError& error) {
    std::fputs(error.what(), stderr);
    std::_Exit(3);
  }
}

TEST(GpuFaultDeathTest, NamesTheInstructionAndTheValue) {
  if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run_with_a_wild_address(true), testing::ExitedWithCode(3),
              "embedding of block .*, microbatch 0, making %.*: .*illegal memory access");
  EXPECT_EXIT(run_with_a_wild_address(false), testing::ExitedWithCode(3),
              "illegal memory access.*here or before; CUDA_LAUNCH_BLOCKING=1 names");
}

INSTANTIATE_TEST_SUITE_P(GpuSmallModels, GpuTraining, testing::ValuesIn(cases()), case_title);

}  // namespace
}  // namespace tessera
