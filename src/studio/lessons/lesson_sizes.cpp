// SPDX-License-Identifier: Apache-2.0
#include "studio/lessons/lesson_sizes.h"

#include <algorithm>
#include <array>

#include "models/model_size.h"

namespace tessera {
namespace {

constexpr auto kLessonSymbols = std::to_array<LessonSymbol>({
    {"P", "bytes of all parameters", &LessonSizes::P},
    {"Pe", "bytes of the experts' parameters", &LessonSizes::Pe},
    {"Pl", "bytes of one layer's parameters", &LessonSizes::Pl},
    {"N", "bytes of the norms' gains", &LessonSizes::N},
    {"A", "bytes of a microbatch's residual stream, for one rank along dp and fsdp",
     &LessonSizes::A},
    {"K", "bytes of the keys of a layer, and as many of its values", &LessonSizes::K},
    {"Q", "bytes of the queries of a layer, and as many of attention's result", &LessonSizes::Q},
    {"t", "tokens of a microbatch, for one rank along dp and fsdp", &LessonSizes::t},
    {"C", "bytes of the choices of a microbatch", &LessonSizes::C},
    {"M", "bytes of the mlp's inner values of a layer", &LessonSizes::M},
    {"H", "bytes of one number for each token and query head", &LessonSizes::H},
    {"k", "experts of a token", &LessonSizes::k},
    {"L", "layers", &LessonSizes::L},
    {"m", "microbatches", &LessonSizes::m},
    {"p", "stages: ranks along pp", &LessonSizes::p},
    {"v", "chunks of each rank", &LessonSizes::v},
    {"d", "ranks along dp", &LessonSizes::d},
    {"f", "ranks along fsdp", &LessonSizes::f},
    {"e", "ranks along ep", &LessonSizes::e},
    {"c", "ranks along cp", &LessonSizes::c},
    {"n", "ranks along tp", &LessonSizes::n},
});

double axis_size(const Mesh& mesh, std::string_view axis) {
  double size = 1;  // tp may be split in two: tp.kv, tp.group
  for (const Axis& each : mesh.axes())
    if (each.name.substr(0, each.name.find('.')) == axis) size *= each.size;
  return size;
}

}  // namespace

std::span<const LessonSymbol> lesson_symbols() { return kLessonSymbols; }

LessonSizes sizes_of(const RunSpec& spec) {
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  const ModelConfig& model = spec.model;
  const double word = number(size_bytes(spec.precision.compute));
  const Mesh& mesh = spec.plan.mesh;
  LessonSizes sizes;
  sizes.p = axis_size(mesh, "pp");
  sizes.d = axis_size(mesh, "dp");
  sizes.f = axis_size(mesh, "fsdp");
  sizes.e = axis_size(mesh, "ep");
  sizes.c = axis_size(mesh, "cp");
  sizes.n = axis_size(mesh, "tp");
  sizes.v = std::max(1, spec.plan.chunks);
  sizes.L = number(model.layers);
  sizes.m = spec.microbatches;
  sizes.P = word * number(parameter_count(model));
  ModelConfig shorter = model;
  --shorter.layers;
  sizes.Pl = sizes.P - word * number(parameter_count(shorter));
  sizes.Pe = word * number(model.layers * model.experts * 3 * model.width * model.expert_mlp_size);
  const double tokens = number(spec.microbatch.batch * spec.microbatch.seq);
  sizes.t = tokens / sizes.d / sizes.f;
  sizes.A = sizes.t * number(model.width) * word;
  sizes.K = sizes.t * number(model.kv_heads * model.head_size) * word;
  sizes.Q = sizes.t * number(model.heads * model.head_size) * word;
  sizes.N = number((2 * model.layers + 1) * model.width) * word;
  sizes.M = sizes.t * number(model.mlp_size) * word;
  sizes.H = sizes.t * number(model.heads) * 4;
  sizes.k = number(model.top_k);
  sizes.C = sizes.t * number(model.top_k) * 4;
  return sizes;
}

}  // namespace tessera
