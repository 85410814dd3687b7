// SPDX-License-Identifier: Apache-2.0
// Attention and its gradients on Hopper: random shapes and masks against fp64, and the same bits on
// every run.
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <random>

#include "exec/cuda/tensor_map.h"
#include "exec/cuda/testing/run_on_gpu.h"
#include "exec/device.h"
#include "ir/op_list.h"
#include "ops/attention/attention_operands_samples.h"

namespace tessera {
namespace {

class HopperAttention : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_missing(DeviceKind::Cuda); !why.empty()) GTEST_SKIP() << why;
    if (!is_hopper()) GTEST_SKIP() << "this GPU is not of compute capability 9.0";
  }
};

using Values = std::vector<double>;
std::function<double(int64_t)> function_of(Values values) {
  return [values = std::move(values)](int64_t t) { return values[static_cast<size_t>(t)]; };
}

class RandomCase {
 public:
  explicit RandomCase(unsigned seed) : random_(seed) {}

  AttentionCase make() {
    AttentionCase c{.name = "plain causal",
                    .batch = one_of(1, 2),
                    .seq = one_of(0, 1) == 0 ? one_of(1, 130) : one_of(131, 400),
                    .kv_heads = 1,
                    .group = one_of(1, 2),
                    .e = 64 * one_of(1, 3)};
    if (c.e == 192) c.value_e = 128;
    switch (one_of(0, 4)) {
      case 0:
        break;
      case 1: {
        c.name = "documents in order, whose positions begin at 0 again";
        Values positions, documents;
        fill_documents(c.seq, positions, documents);
        c.position = function_of(positions);
        c.document = function_of(documents);
        break;
      }
      case 2:
        c.name = "positions in any order";
        c.position = function_of(shuffled(c.seq));
        break;
      case 3:
        c.name = "another rank's keys, earlier, later or between";
        c.key_position =
            function_of(shifted(c.seq, static_cast<double>(one_of(-2 * c.seq, c.seq))));
        c.key_document = [](int64_t) { return 0.0; };
        break;
      case 4: {
        c.name = "another rank's keys of other documents, so that whole tiles see nothing";
        Values positions, documents, key_positions, key_documents;
        fill_documents(c.seq, positions, documents);
        fill_documents(c.seq, key_positions, key_documents);
        c.position = function_of(shifted(c.seq, 100));
        c.document = function_of(documents);
        c.key_position = function_of(shifted(c.seq, 0));
        c.key_document = function_of(key_documents);
        break;
      }
    }
    return c;
  }

 private:
  int64_t one_of(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  static Values shifted(int64_t count, double by) {
    Values values(static_cast<size_t>(count));
    std::iota(values.begin(), values.end(), by);
    return values;
  }
  Values shuffled(int64_t count) {
    Values values = shifted(count, 0);
    std::ranges::shuffle(values, random_);
    return values;
  }
  void fill_documents(int64_t count, Values& positions, Values& documents) {
    double document = static_cast<double>(one_of(0, 3));
    int64_t position = 0, length = one_of(1, count);
    for (int64_t t = 0; t < count; ++t, ++position) {
      if (position == length) position = 0, length = one_of(1, count), ++document;
      positions.push_back(static_cast<double>(position));
      documents.push_back(document);
    }
  }
  std::mt19937 random_;
};

void expect_matches_fp64(OpKind op, const AttentionCase& c, unsigned seed) {
  const OpSample sample = op == OpKind::attention ? attention_sample(c) : attention_grad_sample(c);
  const SampleCall rounded = sample_call(op, sample, DType::Bf16);
  const auto results = run_on_gpu(rounded, {}, AttentionPath::Hopper);
  const auto exact = run_on_gpu(exact_call(op, sample, rounded));
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].first_unwritten(), -1) << "seed " << seed << ", result " << i;
    EXPECT_LE(relative_error(results[i], exact[i]), sample.tolerance_bf16)
        << "seed " << seed << ", result " << i << ", batch " << c.batch << ", seq " << c.seq
        << ", heads " << c.kv_heads << " x " << c.group << " of " << c.e << ": " << c.name;
  }
}

constexpr unsigned kCases = 1000;

TEST_F(HopperAttention, GradientsOfRandomShapesAndMasksMatchFp64) {
  for (unsigned seed = 0; seed < kCases && !HasFailure(); ++seed)
    expect_matches_fp64(OpKind::attention_grad, RandomCase(seed).make(), seed);
}

TEST_F(HopperAttention, RandomShapesAndMasksMatchFp64) {
  for (unsigned seed = 0; seed < kCases && !HasFailure(); ++seed) {
    AttentionCase c = RandomCase(seed).make();
    c.group = std::array{1, 2, 3, 4, 6, 8}.at(seed / 3 % 6);
    expect_matches_fp64(OpKind::attention, c, seed);
  }
}

void expect_same_bits(OpKind op, const AttentionCase& c) {
  const OpSample sample = op == OpKind::attention ? attention_sample(c) : attention_grad_sample(c);
  const SampleCall call = sample_call(op, sample, DType::Bf16);
  const auto first = run_on_gpu(call, {}, AttentionPath::Hopper);
  for (int run = 1; run < 100 && !testing::Test::HasFailure(); ++run) {
    const auto again = run_on_gpu(call, {}, AttentionPath::Hopper);
    for (size_t i = 0; i < first.size(); ++i)
      EXPECT_TRUE(again[i].same_bits(first[i])) << c.e << ", run " << run << ", result " << i;
  }
}

TEST_F(HopperAttention, AHundredRunsGiveTheSameBits) {
  for (const int64_t e : {64, 128, 192}) {
    AttentionCase c{.name = "long", .batch = 1, .seq = 1100, .kv_heads = 2, .group = 2, .e = e};
    if (e == 192) c.value_e = 128;
    expect_same_bits(OpKind::attention_grad, c);
    expect_same_bits(OpKind::attention, c);
  }
}

}  // namespace
}  // namespace tessera
