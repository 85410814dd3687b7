// SPDX-License-Identifier: Apache-2.0
// Checks what conformance cannot: that a forward kernel computes the right function. The numbers
// are PyTorch's, in fp64 (rope: the formula of Hugging Face's Llama 3).
#include <gtest/gtest.h>

#include <cmath>

#include "ir/op_list.h"
#include "ir/optimizer.h"
#include "ops/rope/sincos_cpu.h"
#include "ops/testing/sample_call.h"

namespace tessera {
namespace {

using Numbers = std::vector<double>;

SampleOperand given(DType dtype, Dims dims, Numbers numbers) {
  return {.type = {dtype, std::move(dims)},
          .fill = [numbers](int64_t i, double) { return numbers[static_cast<size_t>(i)]; }};
}

std::vector<HostTensor> run(OpKind op, std::vector<SampleOperand> operands,
                            Attributes attributes = {}) {
  const OpSample sample{
      .name = "known", .operands = std::move(operands), .attributes = std::move(attributes)};
  return run_kernel(sample_call(op, sample, DType::Fp64));
}

void expect_numbers(const HostTensor& actual, const Numbers& expected) {
  ASSERT_EQ(actual.size(), std::ssize(expected));
  for (int64_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual.at(i), expected[static_cast<size_t>(i)], 1e-13) << "element " << i;
}

const Numbers kX{-3, -1, -0.25, 0, 0.5, 2};
const Numbers kGain{1, 2, 3, 4, 5, 6};

TEST(KnownValues, Gelu) {
  const auto x = given(DType::Fp64, {{"d", 6}}, kX);
  expect_numbers(run(OpKind::gelu, {x})[0],
                 {-0.00404969409489031, -0.15865525393145702, -0.10032341857926907, 0.0,
                  0.34573123063700656, 1.9544997361036416});
  expect_numbers(run(OpKind::gelu, {x}, {{"approximation", "tanh"}})[0],
                 {-0.0036373920817729943, -0.1588080093917233, -0.100324649298315, 0.0,
                  0.34571400982514394, 1.954597694087775});
}

TEST(KnownValues, TheGradientOfSwigluYieldsItsValueToo) {
  const auto h = given(DType::Fp64, {{"gate_up", 2}, {"mlp", 3}}, kX);
  const auto dy = given(DType::Fp64, {{"mlp", 3}}, {3, -1, 0.5});
  const HostTensor value = run(OpKind::swiglu, {h})[0];
  const HostTensor gradient = run(OpKind::swiglu_grad, {h, dy})[0];
  for (const int64_t largest : {0, 1}) {
    const auto both =
        run(OpKind::swiglu_grad, {h, dy}, {{"largest", largest}, {"value", int64_t{1}}});
    ASSERT_EQ(both.size(), static_cast<size_t>(2 + largest));
    for (int64_t i = 0; i < gradient.size(); ++i) EXPECT_EQ(both[0].at(i), gradient.at(i));
    for (int64_t i = 0; i < value.size(); ++i) EXPECT_EQ(both[1].at(i), value.at(i));
  }
}

TEST(KnownValues, GradientOfGeluBehindAProduct) {
  const auto two = given(DType::Fp64, {{"batch", 1}, {"k", 1}}, {2});
  const auto ones = given(DType::Fp64, {{"k", 1}, {"d", 6}}, {1, 1, 1, 1, 1, 1});
  const auto pre = given(DType::Fp64, {{"batch", 1}, {"d", 6}}, kX);
  expect_numbers(run(OpKind::matmul_epilogue, {two, ones, pre}, {{"activation", "gelu_grad"}})[0],
                 {-0.02389129440836784, -0.1666309411753727, 0.609253290232728, 1.0,
                  1.7349902493123257, 2.170463602156394});
  expect_numbers(
      run(OpKind::matmul_epilogue, {two, ones, pre}, {{"activation", "gelu_tanh_grad"}})[0],
      {-0.023168333261939296, -0.16592816769156504, 0.6092918096978791, 1.0, 1.7347398070692848,
       2.1721985132472366});
}

TEST(KnownValues, Swiglu) {
  expect_numbers(run(OpKind::swiglu, {given(DType::Fp64, {{"gate_up", 2}, {"mlp", 3}}, kX)})[0],
                 {0.0, -0.13447071068499755, -0.21891174955710097});
}

TEST(KnownValues, Norms) {
  const Dims d{{"d", 6}};
  const auto x = given(DType::Fp64, d, kX), gain = given(DType::Fp64, d, kGain);
  const auto bias = given(DType::Fp64, d, {0, 0.1, 0.2, 0.3, 0.4, 0.5});
  expect_numbers(run(OpKind::layer_norm, {x, gain, bias}, {{"epsilon", 1e-5}})[0],
                 {-1.7856834500025822, -0.8340498046167354, 0.2824161592308883, 1.0692174861549584,
                  3.009845042311466, 9.565777515397725});
  expect_numbers(run(OpKind::rms_norm, {x, gain}, {{"epsilon", 1e-6}})[0],
                 {-1.942401653245178, -1.2949344354967853, -0.4856004133112945, 0.0,
                  1.6186680443709816, 7.769606612980712});
}

TEST(KnownValues, Rope) {
  const auto q = given(DType::Fp64, {{"seq", 1}, {"e", 8}}, {1, 2, 3, 4, 5, 6, 7, 8});
  expect_numbers(
      run(OpKind::rope, {q, given(DType::Int32, {{"seq", 1}}, {5})}, {{"theta", 500000.0}})[0],
      {5.078283558778919, 0.8432039048716244, 2.9504279381073655, 3.9978725402449373,
       0.4593866526529927, 6.268094381453524, 7.021038027388508, 8.001063376324142});
  expect_numbers(
      run(OpKind::rope, {q, given(DType::Int32, {{"seq", 1}}, {1234})},
          {{"theta", 500000.0}, {"scaling_factor", 8.0}, {"original_context", int64_t{8192}}})[0],
      {-3.808188897400071, -5.453677012677073, -1.830761341990581, 3.934238371588724,
       -3.390825463175424, -3.202718695327093, 7.392449723107546, 8.032544331375888});
  // YaRN keeps the first pair, is half-way at the second and stretches the others.
  expect_numbers(run(OpKind::rope, {q, given(DType::Int32, {{"seq", 1}}, {77})},
                     {{"scaling", "yarn"},
                      {"scaling_factor", 8.0},
                      {"high_freq_factor", 8.0},
                      {"original_context", int64_t{64}}})[0],
                 {-5.028575824634873, 4.825493454179911, 2.3134044260594493, 3.9228159090628902,
                  0.844644999924649, -4.088350880693442, 7.255905178645085, 8.038128845919497});
}

TEST(KnownValues, SineAndCosineOfLargeAngles) {
  for (double x = -1.6e6; x < 1.6e6; x += 12345.678) {
    EXPECT_NEAR(fast_sincos(x).sine, std::sin(x), 2e-15) << x;
    EXPECT_NEAR(fast_sincos(x).cosine, std::cos(x), 2e-15) << x;
  }
}

// Weights and slots after three steps with a learning rate of 0.01 and a decay of 0.1, after
// clip_grad_norm_(2).
std::vector<Numbers> after_three_steps(OpKind op, const std::vector<Numbers>& gradients,
                                       Attributes attributes = {}) {
  const Dims d{{"d", 3}};
  attributes.set("weight_decay", 0.1);
  attributes.set("clip_norm", 2.0);
  std::vector<Numbers> states{{1, -2, 0.5}};
  states.resize(1 + find_optimizer(op)->slots.size(), Numbers{0, 0, 0});
  for (size_t step = 1; step <= 3; ++step) {
    const Numbers& gradient = gradients[step - 1];
    double squares = 0;
    for (const double g : gradient) squares += g * g;
    std::vector<SampleOperand> operands{given(DType::Fp64, d, states[0]),
                                        given(DType::Fp64, d, gradient)};
    for (size_t i = 1; i < states.size(); ++i) operands.push_back(given(DType::Fp64, d, states[i]));
    for (const double value : {0.01, static_cast<double>(step), squares})
      operands.push_back(given(DType::Fp64, {}, {value}));
    const auto results = run(op, std::move(operands), attributes);
    for (size_t i = 0; i < states.size(); ++i)
      states[i] = {results[i].at(0), results[i].at(1), results[i].at(2)};
  }
  return states;
}

void expect_near(const std::vector<Numbers>& states, const std::vector<Numbers>& expected) {
  ASSERT_EQ(states.size(), expected.size());
  for (size_t i = 0; i < states.size(); ++i)
    for (size_t j = 0; j < 3; ++j) EXPECT_NEAR(states[i][j], expected[i][j], 1e-13) << i;
}

// torch.optim.AdamW.
TEST(KnownValues, AdamW) {
  expect_near(
      after_three_steps(OpKind::adamw, {{0.3, -4, 0.01}, {0.6, -8, 0.02}, {0.9, -12, 0.03}}),
      {{0.9670329909573455, -1.9640359881039984, 0.4685315495621698},
       {0.04053602003910132, -0.5404802671880176, 0.001351200667970044},
       {0.0031910917051898727, 0.5673051920337552, 3.54565745021097e-06}});
}

// torch.optim.SGD, with the decay before each step.
TEST(KnownValues, Sgd) {
  expect_near(after_three_steps(OpKind::sgd, {{0.3, -4, 0.01}, {0.6, 2, -0.9}, {-0.02, 8, 0.03}},
                                {{"momentum", 0.8}}),
              {{0.9839130606220033, -1.9970464103337875, 0.5125465629739718},
               {0.5129381953657381, 2.1309263777047036, -0.6226200473706837}});
}

// The paper's algorithm 2, in PyTorch.
TEST(KnownValues, Lion) {
  expect_near(after_three_steps(OpKind::lion, {{0.3, -4, 0.01}, {0.6, 2, -0.9}, {-0.02, 8, 0.03}}),
              {{0.967032989, -2.004015988, 0.5085114895},
               {0.006640843886378433, 0.017868811548414232, -0.007713356775053073}});
}

// Jordan's function in PyTorch, times 0.2 sqrt(3) and sqrt(3 / 2): of 2 x 3, and of the same
// turned.
TEST(KnownValues, Orthogonalize) {
  const auto x = given(DType::Fp64, {{"flat", 6}}, {1, -2, 0.5, 3, 0.25, -1});
  expect_numbers(run(OpKind::orthogonalize, {x}, {{"matrices", "0.r2-3.c3-1"}})[0],
                 {0.11560391908192523, -0.22286916995547373, 0.05446649225761185,
                  0.34576942371972885, 0.026034562573851748, -0.11414465214545931});
  const Numbers by_sides{0.4087215755728512, -0.787961506964663,  0.1925681301140096,
                         1.2224795211959245, 0.09204607870598032, -0.4035622878411693};
  expect_numbers(
      run(OpKind::orthogonalize, {x}, {{"matrices", "0.r2-3.c3-1"}, {"matched_rms", 0.0}})[0],
      by_sides);
  // Tall matrices are not scaled by that rule.
  Numbers turned = by_sides;
  for (double& value : turned) value /= std::sqrt(1.5);
  expect_numbers(
      run(OpKind::orthogonalize, {x}, {{"matrices", "0.r3-1.c2-3"}, {"matched_rms", 0.0}})[0],
      turned);
}

// Muon after the blog post in PyTorch: three steps with a learning rate of 0.01, a decay of 0.1 and
// clip_grad_norm_(1), of a weight of 2 inputs and 3 outputs.
TEST(KnownValues, Muon) {
  const Dims flat{{"flat", 6}};
  const std::vector<Numbers> gradients{
      {0.3, 0.01, 1, -4, 2, -0.5}, {0.6, -0.9, 0.2, 2, 0.4, 0.7}, {-0.02, 0.03, 0.5, 8, -1, 0.25}};
  Numbers weights{1, 0.5, -1, -2, 0.25, 3}, momentum(6, 0.0);
  const auto numbers = [](const HostTensor& tensor) {
    Numbers all;
    for (int64_t i = 0; i < tensor.size(); ++i) all.push_back(tensor.at(i));
    return all;
  };
  for (size_t step = 1; step <= 3; ++step) {
    double squares = 0;
    for (const double g : gradients[step - 1]) squares += g * g;
    const auto scalar_of = [](double value) { return given(DType::Fp64, {}, {value}); };
    const auto direction =
        run(OpKind::nesterov,
            {given(DType::Fp64, flat, gradients[step - 1]), given(DType::Fp64, flat, momentum),
             scalar_of(static_cast<double>(step)), scalar_of(squares)},
            {{"momentum", 0.9}, {"clip_norm", 1.0}});
    momentum = numbers(direction[1]);
    const auto orthogonal =
        run(OpKind::orthogonalize, {given(DType::Fp64, flat, numbers(direction[0]))},
            {{"matrices", "0.r2-3.c3-1"}, {"matched_rms", 0.0}});
    weights = numbers(
        run(OpKind::muon,
            {given(DType::Fp64, flat, weights), given(DType::Fp64, flat, numbers(orthogonal[0])),
             scalar_of(0.01), scalar_of(static_cast<double>(step)), scalar_of(squares)},
            {{"weight_decay", 0.1}})[0]);
  }
  const auto tensor = [&](const Numbers& values) {
    HostTensor made({DType::Fp64, flat});
    for (int64_t i = 0; i < made.size(); ++i) made.set(i, values[static_cast<size_t>(i)]);
    return made;
  };
  expect_numbers(tensor(weights), {0.9902619835686519, 0.5102992786594639, -1.014957701556246,
                                   -2.0047918922648966, 0.23634954850594644, 2.9858134447986884});
  expect_numbers(tensor(momentum), {0.27319981386835385, -0.3291422626574285, 0.3115677833430343,
                                    1.0320948237031247, 0.37566277022677674, 0.20351344309439223});
}

SampleOperand fp32(double value) { return given(DType::Fp32, {}, {value}); }

// 5.25 and 21 lie halfway between numbers of 4 and of 3 bits: 5.25 -> 5 (e4m3), 21 -> 20 (e4m3).
TEST(KnownValues, QuantizedAsItLiesAndTurned) {
  const auto x = given(DType::Fp64, {{"seq", 2}, {"d", 3}}, {1, -2, 5.25, 0, 21, -28});
  const auto results = run(OpKind::quantize, {x, fp32(28)});
  ASSERT_EQ(results.size(), 4u);
  expect_numbers(results[0], {16, -32, 80, 0, 320, -448});  // times 16: 28 becomes the largest, 448
  expect_numbers(results[1], {1.0 / 16});
  expect_numbers(results[2], {16, 0, -32, 320, 80, -448});
  expect_numbers(results[3], {1.0 / 16});
}

TEST(KnownValues, QuantizedInTilesAndBlocks) {
  Numbers rising(130 * 2);  // rows of 130: a tile of 128 and one of 2
  for (size_t i = 0; i < rising.size(); ++i) rising[i] = i % 130 < 128 ? 7 : i < 130 ? 0.875 : 14;
  const auto x = given(DType::Fp64, {{"seq", 2}, {"d", 130}}, rising);
  const auto tiles = run(OpKind::quantize, {x}, {{"scaling", "tiles"}});
  for (const int64_t i : {0, 129, 130, 259}) EXPECT_EQ(tiles[0].at(i), 448) << i;
  expect_numbers(tiles[1], {1.0 / 64, 1.0 / 64, 1.0 / 512, 1.0 / 32});  // by tile, then row
  EXPECT_EQ(tiles[3].at(0), 1.0 / 64);
  EXPECT_EQ(tiles[3].at(129), 1.0 / 32);  // a column of 0.875 and 14
  EXPECT_EQ(tiles[2].at(2 * 129), 28);
  const auto blocks = run(OpKind::quantize, {x}, {{"scaling", "blocks"}});
  expect_numbers(blocks[1], {1.0 / 64, 1.0 / 32, 0, 0});  // padded to four
  EXPECT_EQ(blocks[0].at(129), 28);
}

TEST(KnownValues, ProductOfBytes) {
  const auto x = given(DType::E4m3, {{"seq", 2}, {"d", 3}}, {1, 2, 3, 4, 5, 6});
  const auto w = given(DType::E5m2, {{"mlp", 2}, {"d", 3}}, {1, 0, -1, 2, 4, 8});
  const auto more = given(DType::Fp64, {{"seq", 2}, {"mlp", 2}}, {1, 2, 3, 4});
  const Attributes attributes{{"dtype", "fp64"}};
  expect_numbers(run(OpKind::matmul_fp8, {x, w, fp32(0.5), fp32(4)}, attributes)[0],
                 {-4, 68, -4, 152});
  expect_numbers(run(OpKind::matmul_fp8, {x, w, fp32(0.5), fp32(4), more}, attributes)[0],
                 {-3, 70, -1, 156});
}

}  // namespace
}  // namespace tessera
