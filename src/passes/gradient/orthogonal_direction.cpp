// SPDX-License-Identifier: Apache-2.0
#include "passes/gradient/orthogonal_direction.h"

#include <algorithm>

#include "ir/emit.h"
#include "ir/op_list.h"
#include "ir/rank_index.h"
#include "ops/optimizer/newton_schulz.h"
#include "passes/gradient/bundle_flats.h"

namespace tessera {
namespace {

// Nodes that make one bundle's direction; it travels in the dtype of the weights.
class BundleDirection {
 public:
  BundleDirection(BlockClass& block_class, const Plan& plan, const BundlePlan& bundle)
      : graph_(block_class.graph), plan_(plan), bundle_(bundle) {}

  ValueId momentum_step(const OptimizerOptions& options, double momentum,
                        const DirectionInputs& in) {
    std::vector<ValueId> operands{in.gradient, in.momentum, in.step, in.norm_squares};
    if (is_sharded()) operands.push_back(index(bundle_.bundle.rest));
    const std::vector<ValueId> results =
        emit(graph_, OpKind::nesterov, std::move(operands),
             {.attributes = {{"momentum", momentum},
                             {"clip_norm", options.clip_norm},
                             {"dtype", std::string(name(bundle_.dtype))},
                             {"seed", options.rounding_seed}},
              .phase = Phase::Update,
              .name = fmt::format("{}.direction", bundle_.bundle.name)});
    return_flat(graph_, in.momentum, results[1]);
    return results[0];
  }

  ValueId orthogonalized(ValueId direction, double matched_rms) {
    const AxisIds owners = owner_axes();
    ValueId whole = gathered(gathered(direction, bundle_.bundle.rest), bundle_.cut);
    std::vector<ValueId> operands{whole};
    if (plan_.mesh.size(owners) > 1) operands.push_back(index(owners));
    const ValueId own = emit_one(OpKind::orthogonalize, std::move(operands),
                                 {{"matrices", matrices()},
                                  {"ranks", int64_t{plan_.mesh.size(owners)}},
                                  {"matched_rms", matched_rms}},
                                 "orthogonal");
    return shared(scattered(scattered(own, bundle_.cut), bundle_.bundle.rest));
  }

  ValueId kept(ValueId direction) {
    if (bundle_.dtype == bundle_.kept) return direction;
    return emit_one(OpKind::accumulate, {direction}, {{"dtype", std::string(name(bundle_.kept))}},
                    "wide");
  }

 private:
  bool is_sharded() const { return bundle_.bundle.shards > 1; }
  ValueId index(const AxisIds& axes) { return rank_index(graph_, plan_.mesh.word(axes)); }

  ValueId emit_one(OpKind op, std::vector<ValueId> operands, Attributes attributes,
                   std::string_view what) {
    return emit_for_bundle(graph_, bundle_.bundle, op, std::move(operands), std::move(attributes),
                           Phase::Update, what);
  }

  // Where copies of the gradient are, which are summed.
  AxisIds copy_axes() const {
    AxisIds axes = bundle_.pending;
    std::erase_if(axes, [&](int axis) {
      return std::ranges::find(bundle_.bundle.rest, axis) != bundle_.bundle.rest.end();
    });
    return axes;
  }

  // Ranks along these have the same matrices, whole or in pieces.
  AxisIds owner_axes() const {
    AxisIds axes = copy_axes();
    axes.insert(axes.end(), bundle_.cut.begin(), bundle_.cut.end());
    if (is_sharded())
      axes.insert(axes.end(), bundle_.bundle.rest.begin(), bundle_.bundle.rest.end());
    std::ranges::sort(axes);
    return axes;
  }

  Attributes over(const AxisIds& axes) const {
    return {{"axes", plan_.mesh.word(axes)}, {"ranks", int64_t{plan_.mesh.size(axes)}}};
  }

  ValueId moved(OpKind op, ValueId value, const AxisIds& axes, std::string_view what) {
    if (plan_.mesh.size(axes) == 1) return value;
    Attributes attributes = over(axes);
    attributes.set("dim", "flat");
    return emit_one(op, {value}, std::move(attributes), what);
  }
  ValueId gathered(ValueId value, const AxisIds& axes) {
    return moved(OpKind::all_gather, value, axes, "pieces");
  }
  ValueId scattered(ValueId value, const AxisIds& axes) {
    return moved(OpKind::reduce_scatter, value, axes, "piece");
  }
  ValueId shared(ValueId value) {
    const AxisIds axes = copy_axes();
    if (plan_.mesh.size(axes) == 1) return value;
    return emit_one(OpKind::all_reduce, {value}, over(axes), "shared");
  }

  // Of a dim in the gathered buffer: a factor for each axis that cuts it, then what a rank has.
  void add_factors(const Value& parameter, const Dim& dim, int64_t stride,
                   StridedFactors& factors) const {
    for (const int axis : shard_axes(parameter.placement, dim.name)) {
      const auto at = std::ranges::find(bundle_.cut, axis);
      if (at == bundle_.cut.end()) continue;  // of a stack: others have other matrices
      const AxisIds inner(at + 1, bundle_.cut.end());
      factors.add({plan_.mesh.size(axis), bundle_.bundle.elements * plan_.mesh.size(inner)});
    }
    factors.add({dim.size, stride});
  }

  MatrixView view_of(size_t i) const {
    const GraphInput& input = *graph_.find_input(InputKind::State, bundle_.bundle.parameters[i]);
    const Value& parameter = graph_.value(input.value);
    MatrixView view{.begin = bundle_.bundle.begins[i]};
    int64_t stride = parameter.type.num_elements();
    for (size_t d = 0; d < parameter.type.dims.size(); ++d) {
      const Dim& dim = parameter.type.dims[d];
      stride /= dim.size;
      const char letter = input.state->matrix[d];
      add_factors(parameter, dim, stride,
                  letter == 's'   ? view.stack
                  : letter == 'r' ? view.rows
                                  : view.cols);
    }
    return view;
  }

  // The most work first, so that dealing them out is fair.
  std::string matrices() const {
    std::vector<MatrixView> views;
    for (size_t i = 0; i < bundle_.bundle.parameters.size(); ++i) views.push_back(view_of(i));
    std::ranges::stable_sort(views, std::ranges::greater(),
                             [](const MatrixView& view) { return NewtonSchulz(view).flops(); });
    std::string text;
    for (const MatrixView& view : views) text += (text.empty() ? "" : "+") + to_text(view);
    return text;
  }

  Graph& graph_;
  const Plan& plan_;
  const BundlePlan& bundle_;
};

}  // namespace

ValueId orthogonal_direction(BlockClass& block_class, const Plan& plan, const BundlePlan& bundle,
                             const OptimizerOptions& options, const OptimizerSettings& settings,
                             const DirectionInputs& inputs) {
  BundleDirection direction(block_class, plan, bundle);
  const ValueId step = direction.momentum_step(options, settings.find("momentum")->second, inputs);
  return direction.kept(direction.orthogonalized(step, settings.find("matched_rms")->second));
}

}  // namespace tessera
