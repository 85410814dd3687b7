// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "ir/op_list.h"
#include "ir/optimizer.h"
#include "ops/testing/sample_call.h"

namespace tessera {
namespace {

constexpr int64_t kElements = 4096, kDecayed = 2500;

TensorType flat(DType dtype, int64_t elements) { return {dtype, {{"flat", elements}}}; }

HostTensor part_of(const HostTensor& whole, int64_t shard, int64_t shards) {
  HostTensor part(flat(whole.type().dtype, whole.size() / shards));
  for (int64_t i = 0; i < part.size(); ++i) part.set(i, whole.at(shard * part.size() + i));
  return part;
}

// Weights, gradient and slots, which may have to be positive.
std::vector<HostTensor> states(const OptimizerDef& optimizer, DType dtype) {
  std::vector<HostTensor> all;
  for (const char* purpose : {"weights", "gradient"})
    all.push_back(random_tensor(flat(dtype, kElements), purpose));
  for (const CompanionState& slot : optimizer.own_slots()) {
    all.push_back(random_tensor(flat(dtype, kElements), std::string(slot.name)));
    for (int64_t i = 0; i < kElements; ++i) all.back().set(i, std::abs(all.back().at(i)));
  }
  return all;
}

std::vector<HostTensor> updated(const OptimizerDef& optimizer, std::vector<HostTensor> states,
                                int shard) {
  for (const double value : {1e-3, 7.0, 9.0})  // learning rate, step, squared norm
    states.push_back(scalar_tensor(DType::Fp64, value));
  if (shard >= 0) states.push_back(scalar_tensor(DType::Int32, shard));
  return run_op(optimizer.op, std::move(states),
                {{"weight_decay", 0.1}, {"decayed", kDecayed}, {"seed", int64_t{17}}});
}

// Also with stochastic rounding.
TEST(Optimizers, UpdateShardsAsTheyUpdateTheWholeToTheBit) {
  for (const OptimizerDef& optimizer : optimizers())
    for (const DType dtype : {DType::Fp32, DType::Bf16})
      for (const int shards : {2, 4, 8}) {
        SCOPED_TRACE(fmt::format("{} of {} in {} shards", name(optimizer.op), name(dtype), shards));
        const std::vector<HostTensor> all = states(optimizer, dtype),
                                      whole = updated(optimizer, all, -1);
        ASSERT_EQ(whole.size(), 1 + optimizer.own_slots().size());
        for (int shard = 0; shard < shards; ++shard) {
          std::vector<HostTensor> parts;
          for (const HostTensor& state : all) parts.push_back(part_of(state, shard, shards));
          const std::vector<HostTensor> own = updated(optimizer, std::move(parts), shard);
          ASSERT_EQ(own.size(), whole.size());
          for (size_t i = 0; i < whole.size(); ++i)
            EXPECT_TRUE(own[i].same_bits(part_of(whole[i], shard, shards)))
                << "result " << i << " of shard " << shard;
        }
      }
}

TEST(Optimizers, LeaveWeightsThatNeverHadAGradientButForTheirDecay) {
  for (const OptimizerDef& optimizer : optimizers())
    for (const DType dtype : {DType::Fp32, DType::Bf16}) {
      std::vector<HostTensor> all = states(optimizer, dtype);
      for (size_t state = 1; state < all.size(); ++state)
        for (int64_t i = 0; i < kElements; ++i) all[state].set(i, 0);
      const HostTensor weights = all.front(), now = updated(optimizer, all, -1).front();
      for (int64_t i = kDecayed; i < kElements; ++i)
        ASSERT_EQ(now.at(i), weights.at(i)) << name(optimizer.op) << " of " << name(dtype);
    }
}

TEST(Optimizers, ChangeNothingWhereTheNormIsNotFinite) {
  for (const OptimizerDef& optimizer : optimizers()) {
    std::vector<HostTensor> operands = states(optimizer, DType::Fp32);
    const std::vector<HostTensor> before = operands;
    for (const double value : {1e-3, 7.0, std::nan("")})
      operands.push_back(scalar_tensor(DType::Fp64, value));
    const std::vector<HostTensor> after = run_op(optimizer.op, std::move(operands), {});
    EXPECT_TRUE(after[0].same_bits(before[0])) << name(optimizer.op);
    for (size_t i = 1; i < after.size(); ++i)
      EXPECT_TRUE(after[i].same_bits(before[i + 1])) << name(optimizer.op) << " slot " << i - 1;
  }
}

// A checkpoint of one optimizer is never taken for one of another.
TEST(Optimizers, HaveSlotsWithNamesThatNoOtherStateHas) {
  std::set<std::string_view> names{kMaster.name, kAverage.name, "parameter"};
  for (const OptimizerDef& optimizer : optimizers())
    for (const CompanionState& slot : optimizer.slots) {
      EXPECT_TRUE(names.insert(slot.name).second) << slot.name;
      EXPECT_EQ(find_slot(slot.name), &slot);
      EXPECT_TRUE(is_companion(fmt::format("layer.3.wq.{}", slot.name)));
    }
  EXPECT_FALSE(is_companion("layer.3.wq"));
}

TEST(Optimizers, HaveDefaultsOfTheirOwn) {
  for (const OptimizerDef& optimizer : optimizers()) {
    const OptimizerSettings defaults = default_settings(optimizer);
    for (const OptimizerSetting& setting : optimizer.settings)
      EXPECT_EQ(defaults.at(std::string(setting.name)), setting.fallback) << setting.name;
  }
}

// A step whose experts had too little room, or whose gradient is not finite, changes nothing.
TEST(Optimizers, ChangeNothingWhereTheUpdateIsHeld) {
  const auto held = [](double norm_squares, double need) {
    return run_op(OpKind::hold_update,
                  {scalar_tensor(DType::Fp64, norm_squares), scalar_tensor(DType::Fp64, need)})[0];
  };
  EXPECT_EQ(held(9, 1).at(0), 9);
  EXPECT_EQ(held(9, 1.0625).at(0), INFINITY);
  EXPECT_EQ(held(9, NAN).at(0), INFINITY);
  for (const OptimizerDef& optimizer : optimizers()) {
    const std::vector<HostTensor> all = states(optimizer, DType::Fp32);
    std::vector<HostTensor> operands = all;
    for (const double value : {1e-3, 7.0}) operands.push_back(scalar_tensor(DType::Fp64, value));
    operands.push_back(held(9, 2));
    const auto after = run_op(optimizer.op, std::move(operands), {{"weight_decay", 0.1}});
    EXPECT_TRUE(after[0].same_bits(all[0])) << name(optimizer.op);
    for (size_t slot = 0; slot < optimizer.own_slots().size(); ++slot)
      EXPECT_TRUE(after[1 + slot].same_bits(all[2 + slot])) << name(optimizer.op);
  }
  const HostTensor average = random_tensor(flat(DType::Fp32, 100), "average"),
                   weights = random_tensor(flat(DType::Fp32, 100), "weights");
  EXPECT_TRUE(run_op(OpKind::moving_average, {average, weights, held(9, 2)})[0].same_bits(average));
  EXPECT_FALSE(
      run_op(OpKind::moving_average, {average, weights, held(9, 1)})[0].same_bits(average));
}

}  // namespace
}  // namespace tessera
