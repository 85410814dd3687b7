// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/testing/gpu_samples.h"

#include "ir/op_list.h"
#include "ops/fp8/fp8_scaling.h"
#include "ops/loss/output_loss_samples.h"
#include "ops/moe/pool_samples.h"

namespace tessera {
namespace {

SampleOperand tensor(Dims dims) { return {.type = {DType::Fp64, std::move(dims)}}; }
SampleOperand statistics(int64_t rows) {
  return {.type = {DType::Fp64, {{"seq", rows}}},
          .accumulator = true,
          .fill = [](int64_t, double u) { return 0.8 + 0.4 * u; }};
}
SampleOperand index(int64_t count, std::function<double(int64_t, double)> fill) {
  return {.type = {DType::Int32, {{"seq", count}}}, .fill = std::move(fill)};
}

// Up to a row per eighth of a warp, per warp, per block, and rows of more than a block's threads;
// then more rows than blocks.
constexpr std::pair<int64_t, int64_t> kRows[] = {{70, 64},   {9, 400},    {9, 768},
                                                 {3, 1032},  {3, 2056},   {3, 4104},
                                                 {3, 10240}, {5000, 264}, {700, 1032}};

void add_norms(std::vector<ConformanceCase>& all) {
  for (const auto& [rows, cols] : kRows) {
    const SampleOperand x = tensor({{"seq", rows}, {"d", cols}}), gain = tensor({{"d", cols}});
    const SampleOperand each = statistics(rows);
    const std::string name = fmt::format("{}_rows_of_{}", rows, cols);
    all.push_back({OpKind::layer_norm, {.name = name, .operands = {x, gain, gain}}});
    all.push_back({OpKind::rms_norm, {.name = name, .operands = {x, gain}}});
    all.push_back({OpKind::layer_norm_grad, {.name = name, .operands = {x, gain, each, each, x}}});
    all.push_back({OpKind::rms_norm_grad, {.name = name, .operands = {x, gain, each, x}}});
    const std::string more = name + "_and_more";
    all.push_back(
        {OpKind::layer_norm_grad, {.name = more, .operands = {x, gain, each, each, x, x}}});
    all.push_back({OpKind::rms_norm_grad, {.name = more, .operands = {x, gain, each, x, x}}});
    const Attributes largest{{"largest", int64_t{1}}};
    all.push_back({OpKind::rms_norm,
                   {.name = name + "_largest", .operands = {x, gain}, .attributes = largest}});
    all.push_back(
        {OpKind::rms_norm_grad,
         {.name = more + "_largest", .operands = {x, gain, each, x, x}, .attributes = largest}});
    all.push_back({OpKind::bias_add, {.name = name, .operands = {x, gain}}});
    all.push_back(
        {OpKind::reduce_to, {.name = name, .operands = {x}, .attributes = {{"dtype", "fp64"}}}});
  }
}

void add_embeddings(std::vector<ConformanceCase>& all) {
  const auto few = [](int64_t, double u) { return 50 * u * u * u; };
  const auto one = [](int64_t, double) { return 3.0; };
  const auto some_outside = [](int64_t, double u) { return 100 * u; };
  const Attributes attributes{{"rows", int64_t{50}}, {"rows_dim", "vocab"}, {"dtype", "fp64"}};
  const SampleOperand shard{.type = scalar(DType::Int32),
                            .fill = [](int64_t, double) { return 1.0; }};
  const SampleOperand dy = tensor({{"seq", 1003}, {"d", 264}});
  const SampleOperand table = tensor({{"vocab", 50}, {"d", 264}});
  const auto add = [&](const char* name, auto fill) {
    all.push_back({OpKind::embedding_grad,
                   {.name = name, .operands = {index(1003, fill), dy}, .attributes = attributes}});
  };
  add("runs_over_chunks", few);
  add("one_run", one);
  all.push_back({OpKind::embedding_grad,
                 {.name = "the_second_of_two_shards",
                  .operands = {index(1003, some_outside), dy, shard},
                  .attributes = attributes}});
  all.push_back({OpKind::embedding, {.name = "many", .operands = {table, index(1003, few)}}});
}

void add_elementwise(std::vector<ConformanceCase>& all) {
  const Dim seq{"seq", 9}, mlp{"mlp", 2056};
  const SampleOperand h = tensor({seq, {"gate_up", 2}, mlp}), y = tensor({seq, mlp});
  const SampleOperand large = tensor({{"n", 20003}});
  all.push_back({OpKind::swiglu, {.name = "long_rows", .operands = {h}}});
  all.push_back({OpKind::swiglu_grad, {.name = "long_rows", .operands = {h, y}}});
  all.push_back({OpKind::swiglu_grad,
                 {.name = "long_rows_with_the_value",
                  .operands = {h, y},
                  .attributes = {{"value", int64_t{1}}}}});
  all.push_back({OpKind::add, {.name = "a_last_part", .operands = {large, large}}});
  all.push_back({OpKind::accumulate,
                 {.name = "a_last_part", .operands = {large}, .attributes = {{"dtype", "fp64"}}}});
  all.push_back(
      {OpKind::gelu,
       {.name = "a_last_part", .operands = {large}, .attributes = {{"approximation", "tanh"}}}});
  const auto far = [](int64_t, double u) { return 100000 * u; };
  all.push_back({OpKind::rope,
                 {.name = "far_positions",
                  .operands = {tensor({{"seq", 19}, {"kv_heads", 3}, {"e", 128}}), index(19, far)},
                  .tolerance_fp32 = 2e-5}});
}

// Sizes that are cut in two where an addend is along: of columns and of the sum, then of rows.
void add_products(std::vector<ConformanceCase>& all) {
  const Dim rows{"rows", 3}, mlp{"mlp", 1030}, d{"d", 1027};
  all.push_back({OpKind::matmul,
                 {.name = "an_addend_of_ragged_columns",
                  .operands = {tensor({rows, d}), tensor({d, mlp}), tensor({rows, mlp})}}});
  const Dim many{"many", 1031}, few{"few", 16}, wide{"wide", 24};
  all.push_back({OpKind::matmul,
                 {.name = "an_addend_of_ragged_rows",
                  .operands = {tensor({few, many}), tensor({few, wide}), tensor({many, wide})}}});
}

// A row of logits in one block, in parts of a cluster's blocks, and in more than their shared
// memory keeps; the last part has a ragged end.
void add_losses(std::vector<ConformanceCase>& all) {
  for (const int64_t vocab : {20001, 128251, 250003})
    all.push_back({OpKind::output_loss_grad,
                   {.name = fmt::format("vocabulary_of_{}", vocab),
                    .operands = output_loss_operands(1, 5, 8, vocab, 4)}});
}

// Several tiles of 128 x 128 with ragged edges, in every layout; then products with every kind of
// scales, as large as cuBLASLt's own tiles.
void add_fp8(std::vector<ConformanceCase>& all) {
  const SampleOperand x = tensor({{"seq", 400}, {"d", 272}});
  const SampleOperand largest{.type = scalar(DType::Fp32),
                              .fill = [](int64_t, double) { return 3; }};
  for (const char* scaling : {"tensor", "tiles", "blocks"})
    for (const char* layout : {"as_is", "turned", "both"})
      for (const char* format : {"e4m3", "e5m2"}) {
        std::vector<SampleOperand> operands{x};
        if (scaling == std::string("tensor")) operands.push_back(largest);
        all.push_back(
            {OpKind::quantize,
             {.name = fmt::format("{}_{}_{}", scaling, layout, format),
              .operands = std::move(operands),
              .attributes = {{"scaling", scaling}, {"layout", layout}, {"format", format}}}});
      }
  const auto bytes = [](Dims dims, DType format = DType::E4m3) {
    return SampleOperand{.type = {format, std::move(dims)},
                         .fill = [](int64_t, double u) { return 400 * (2 * u - 1); }};
  };
  const auto scales = [](Fp8Scaling scaling, int64_t rows) {
    return SampleOperand{.type = fp8_scale_type(scaling, rows, 640),
                         .own_dtype = true,
                         .fill = [](int64_t i, double) { return 1.0 / (64 << i % 4); }};
  };
  const Dim rows{"seq", 272}, columns{"mlp", 400}, d{"d", 640};
  for (const auto& [name, a, b] : {std::tuple{"tensors", Fp8Scaling::Tensor, Fp8Scaling::Tensor},
                                   std::tuple{"tiles", Fp8Scaling::Tiles, Fp8Scaling::Tiles},
                                   std::tuple{"blocks", Fp8Scaling::Tiles, Fp8Scaling::Blocks}})
    for (const DType format : {DType::E4m3, DType::E5m2}) {
      std::vector<SampleOperand> operands{bytes({rows, d}, format), bytes({columns, d}),
                                          scales(a, 272), scales(b, 400)};
      const std::string text = fmt::format("{}_{}", name, tessera::name(format));
      all.push_back({OpKind::matmul_fp8, {.name = text, .operands = operands}});
      operands.push_back({.type = {DType::Fp64, {rows, columns}}, .accumulator = true});
      all.push_back({OpKind::matmul_fp8,
                     {.name = text + "_and_an_addend",
                      .operands = std::move(operands),
                      .attributes = {{"dtype", "fp64"}}}});
    }
}

// Sizes for tensor cores: several tiles and stages, with ragged edges, and an expert without rows.
void add_experts(std::vector<ConformanceCase>& all) {
  const Dim expert{"expert", 5}, slot{"slot", 150}, d{"d", 200}, mlp{"expert_mlp", 328};
  const SampleOperand x = tensor({expert, slot, d}), y = tensor({expert, slot, mlp});
  const SampleOperand ends = ends_of_full_pool(expert.size, slot.size);
  all.push_back(
      {OpKind::expert_matmul, {.name = "tiles", .operands = {x, tensor({expert, d, mlp}), ends}}});
  all.push_back(
      {OpKind::expert_matmul,
       {.name = "tiles_of_turned_weights", .operands = {x, tensor({expert, mlp, d}), ends}}});
  all.push_back({OpKind::expert_matmul_dw, {.name = "tiles", .operands = {x, y, ends}}});
  all.push_back(
      {OpKind::expert_matmul_dw,
       {.name = "tiles_in_fp32", .operands = {x, y, ends}, .attributes = {{"dtype", "fp64"}}}});
}

// Heads that lanes share, over keys that several blocks of a cluster share, one of which has none.
void add_caches(std::vector<ConformanceCase>& all) {
  const Dim batch{"batch", 2}, seq{"seq", 1}, cached{"cached", 1100}, heads{"kv_heads", 3};
  for (const int64_t e : {32, 64, 128, 256}) {
    const Dim size{"e", e};
    all.push_back(
        {OpKind::cached_attention,
         {.name = fmt::format("heads_of_{}", e),
          .operands = {tensor({batch, seq, heads, {"group", 2}, size}),
                       tensor({batch, cached, heads, size}),
                       tensor({batch, cached, heads, size}),
                       {.type = {DType::Int32, {batch, seq}},
                        .fill = [](int64_t i, double) { return i == 0 ? 1099 : 130; }}}}});
  }
}

// Several tiles, with ragged edges of rows, columns and terms, and an expert without rows; stages
// of terms that belong to several experts.
void add_fp8_experts(std::vector<ConformanceCase>& all) {
  const Dim expert{"expert", 5}, slot{"slot", 176}, d{"d", 400}, mlp{"expert_mlp", 336};
  const int64_t rows = expert.size * slot.size;
  const SampleOperand ends = ends_of_full_pool(expert.size, slot.size);
  const auto bytes = [](Dims dims, DType format = DType::E4m3) {
    return SampleOperand{.type = {format, std::move(dims)},
                         .fill = [](int64_t, double u) { return 400 * (2 * u - 1); }};
  };
  const auto scales = [](TensorType type) {
    return SampleOperand{.type = std::move(type), .own_dtype = true, .fill = [](int64_t i, double) {
                           return 1.0 / (64 << i % 4);
                         }};
  };
  for (const bool apart : {false, true}) {
    const Fp8Scaling own = apart ? Fp8Scaling::Tiles : Fp8Scaling::Tensor;
    const Fp8Scaling of_weights = apart ? Fp8Scaling::Blocks : Fp8Scaling::Tensor;
    for (const DType format : {DType::E4m3, DType::E5m2}) {
      const std::string text =
          fmt::format("{}_{}", apart ? "tiles" : "tensors", tessera::name(format));
      all.push_back(
          {OpKind::expert_matmul_fp8,
           {.name = text,
            .operands = {bytes({expert, slot, d}, format), bytes({expert, mlp, d}),
                         scales(fp8_scale_type(own, rows, d.size)),
                         scales(fp8_scale_type(of_weights, mlp.size, d.size, {expert})), ends}}});
      for (const char* dtype : {"bf16", "fp64"})
        all.push_back({OpKind::expert_matmul_dw_fp8,
                       {.name = text + "_" + dtype,
                        .operands = {bytes({d, expert, slot}), bytes({mlp, expert, slot}, format),
                                     scales(fp8_scale_type(own, d.size, rows)),
                                     scales(fp8_scale_type(own, mlp.size, rows)), ends},
                        .attributes = {{"dtype", dtype}}}});
      all.push_back({OpKind::expert_matmul_dw_fp8,
                     {.name = text + "_first",
                      .operands = {bytes({d, expert, slot}, format), bytes({mlp, expert, slot}),
                                   scales(fp8_scale_type(own, d.size, rows)),
                                   scales(fp8_scale_type(own, mlp.size, rows)), ends}}});
    }
    for (const char* layout : {"as_is", "turned", "both"}) {
      OpSample sample{.name = fmt::format("{}_{}", apart ? "tiles" : "tensor", layout),
                      .operands = {tensor({expert, slot, d}), ends},
                      .attributes = {{"scaling", apart ? "tiles" : "tensor"}, {"layout", layout}}};
      if (!apart)
        sample.operands.push_back(
            {.type = scalar(DType::Fp32), .fill = [](int64_t, double) { return 3; }});
      all.push_back({OpKind::quantize_pool, std::move(sample)});
    }
  }
}

// More experts than a warp has lanes, and more choices than a block counts.
void add_routing(std::vector<ConformanceCase>& all) {
  const Dim seq{"seq", 700}, choice{"choice", 70}, top_k{"top_k", 8};
  const SampleOperand logits{.type = {DType::Fp64, {seq, choice}}, .accumulator = true};
  const SampleOperand chosen{.type = {DType::Int32, {seq, top_k}},
                             .fill = [](int64_t, double u) { return 70 * u * u; }};
  all.push_back({OpKind::route,
                 {.name = "many_experts",
                  .operands = {logits},
                  .attributes = {{"normalise", int64_t{1}}, {"top_k", int64_t{8}}}}});
  all.push_back({OpKind::order_routes,
                 {.name = "several_blocks",
                  .operands = {chosen},
                  .attributes = {{"experts", int64_t{70}}, {"slots", int64_t{80}}}}});
  all.push_back(
      {OpKind::count_routes,
       {.name = "several_blocks", .operands = {chosen}, .attributes = {{"experts", int64_t{70}}}}});
}

}  // namespace

std::vector<ConformanceCase> gpu_samples() {
  std::vector<ConformanceCase> all;
  add_products(all);
  add_fp8(all);
  add_norms(all);
  add_embeddings(all);
  add_elementwise(all);
  add_losses(all);
  add_experts(all);
  add_fp8_experts(all);
  add_caches(all);
  add_routing(all);
  return all;
}

}  // namespace tessera
