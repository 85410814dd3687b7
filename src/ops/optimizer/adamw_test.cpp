// SPDX-License-Identifier: Apache-2.0
// An update in shards is the update of the whole, to the bit, also where it rounds by chance.
#include <gtest/gtest.h>

#include "ops/testing/run_op.h"

namespace tessera {
namespace {

constexpr int64_t kElements = 4096, kDecayed = 2500;

TensorType flat(DType dtype, int64_t elements) { return {dtype, {{"flat", elements}}}; }

HostTensor part_of(const HostTensor& whole, int64_t shard, int64_t shards) {
  HostTensor part(flat(whole.type().dtype, whole.size() / shards));
  for (int64_t i = 0; i < part.size(); ++i) part.set(i, whole.at(shard * part.size() + i));
  return part;
}

// Weights, gradient and both moments; the second is a mean of squares.
std::vector<HostTensor> states(DType dtype) {
  std::vector<HostTensor> all;
  for (const char* purpose : {"weights", "gradient", "moment1", "moment2"})
    all.push_back(random_tensor(flat(dtype, kElements), purpose));
  for (int64_t i = 0; i < kElements; ++i) all[3].set(i, all[3].at(i) * all[3].at(i));
  return all;
}

std::vector<HostTensor> updated(std::vector<HostTensor> states, int shard) {
  for (const double value : {1e-3, 7.0, 9.0})  // learning rate, step, squared norm
    states.push_back(scalar_tensor(DType::Fp64, value));
  if (shard >= 0) states.push_back(scalar_tensor(DType::Int32, shard));
  return run_op(OpKind::adamw, std::move(states),
                {{"weight_decay", 0.1}, {"decayed", kDecayed}, {"seed", int64_t{17}}});
}

TEST(AdamW, OfShardsIsThatOfTheWhole) {
  for (const DType dtype : {DType::Fp32, DType::Bf16})
    for (const int shards : {2, 4, 8}) {
      SCOPED_TRACE(fmt::format("{} in {} shards", name(dtype), shards));
      const std::vector<HostTensor> all = states(dtype), whole = updated(states(dtype), -1);
      for (int shard = 0; shard < shards; ++shard) {
        std::vector<HostTensor> parts;
        for (const HostTensor& state : all) parts.push_back(part_of(state, shard, shards));
        const std::vector<HostTensor> own = updated(std::move(parts), shard);
        ASSERT_GE(own.size(), 3u);
        for (size_t i = 0; i < 3; ++i)
          EXPECT_TRUE(own[i].same_bits(part_of(whole[i], shard, shards)))
              << "result " << i << " of shard " << shard;
      }
    }
}

}  // namespace
}  // namespace tessera
