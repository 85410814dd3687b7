// SPDX-License-Identifier: Apache-2.0
// Copies between the memories of device and host: run, checked before they run, traced.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <numeric>

#include "exec/cpu/cpu_executor.h"
#include "exec/testing/copy_program.h"
#include "exec/trace_recorder.h"
#include "ir/op_list.h"
#include "program/check_program.h"

namespace tessera {
namespace {

std::vector<float> run(CpuExecutor& executor, const std::vector<float>& input) {
  executor.write_batch(executor.program().batch_inputs.front(), 0, std::as_bytes(std::span(input)));
  executor.run("evaluate");
  std::vector<float> output(input.size());
  executor.read_output(std::as_writable_bytes(std::span(output)));
  return output;
}

std::vector<float> counting() {
  std::vector<float> values(15);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

TEST(HostMemory, WhatIsCopiedThereComesBack) {
  CpuExecutor executor(CopyProgram().program, {});
  EXPECT_EQ(run(executor, counting()), counting());
  // It was there: the host's arena is none of the device's.
  const auto host = executor.host_arena(Lifetime::Slot);
  ASSERT_EQ(host.size(), 128 + 15 * sizeof(float));
  EXPECT_EQ(std::memcmp(host.data() + 128, counting().data(), 15 * sizeof(float)), 0);
}

TEST(HostMemory, IsNoPartOfTheDevicesPeak) {
  const Program program = CopyProgram().program;
  EXPECT_EQ(program.peak_bytes(), program.window_bytes + program.slot_bytes);
}

TEST(HostMemory, CopiesAreKernelsOfATrace) {
  TraceRecorder recorder(1);
  CpuExecutor executor(CopyProgram().program,
                       {.observer = [&](const InstructionEvent& e) { recorder.observe(0, e); }});
  run(executor, counting());
  int copies = 0;
  const nlohmann::json trace = nlohmann::json::parse(recorder.to_json());
  for (const nlohmann::json& event : trace.at("traceEvents"))
    if (event.at("name") == "copy") {
      ++copies;
      EXPECT_EQ(event.at("args").at("bytes"), 2 * 15 * sizeof(float));
    }
  EXPECT_EQ(copies, 2);
}

std::string refusal(const Program& program) {
  try {
    check_memory(program);
  } catch (const ProgramError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(HostMemory, WhatRestsThereMayBeReadAtOnce) {
  CopyProgram copies;
  EXPECT_EQ(refusal(copies.program), "accepted");
  copies.forward().erase(copies.forward().begin());
  EXPECT_EQ(refusal(copies.program),
            "script evaluate, forward of block only, microbatch 0: copy reads stored before it is "
            "written");
  copies.only().buffers[CopyProgram::kOnHost].lifetime = Lifetime::Persistent;
  EXPECT_EQ(refusal(copies.program), "accepted");
}

TEST(HostMemory, IsReachedByCopiesAlone) {
  CopyProgram copies;
  copies.forward()[1].what = KernelInstruction{.op = OpKind::accumulate,
                                               .operands = {CopyProgram::kOnHost},
                                               .results = {CopyProgram::kOutput}};
  EXPECT_EQ(refusal(copies.program),
            "script evaluate, forward of block only, microbatch 0: accumulate works on the "
            "device, but stored is on the host");
}

TEST(HostMemory, CopiesKeepTheNumberOfBytes) {
  CopyProgram copies;
  copies.only().buffers[CopyProgram::kOnHost].type.dtype = DType::Bf16;
  EXPECT_EQ(refusal(copies.program),
            "script evaluate, forward of block only, microbatch 0: copy: x is fp32[batch=3, d=5], "
            "but stored is bf16[batch=3, d=5]");
}

}  // namespace
}  // namespace tessera
