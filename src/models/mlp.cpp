// SPDX-License-Identifier: Apache-2.0
// The deep mlp: x <- activation(x w), layer after layer, and a squared loss. Weights alternate
// between [d, mlp] and [mlp, d], so that a column-wise split of one is followed by a row-wise split
// of the next. The last layer has no activation.
#include <cmath>
#include <set>

#include "models/activation.h"
#include "models/build_model.h"
#include "ops/calls.h"

namespace tessera {
namespace {

class MlpBuilder {
 public:
  explicit MlpBuilder(const ModelRequest& request)
      : config_(request.config), request_(request), module_("mlp", request.compute) {}

  Module build() {
    for (int64_t i = 0; i < config_.layers; ++i) {
      const std::string name = class_of_layer(i);
      if (classes_.insert(name).second) add_layer_class(name, i);
      module_.block(fmt::format("layer.{}", i), name);
    }
    if (request_.head == HeadKind::Loss) add_head();
    return module_.build();
  }

 private:
  bool first(int64_t layer) const { return layer == 0; }
  bool last(int64_t layer) const { return layer + 1 == config_.layers; }

  // The first layer reads the batch instead of a stream, the last has no activation.
  std::string class_of_layer(int64_t layer) const {
    return fmt::format("{}{}layer_{}", first(layer) ? "first_" : "", last(layer) ? "last_" : "",
                       layer % 2 == 0 ? "in" : "out");
  }

  Dim dim(int64_t layer) const {
    return layer % 2 == 0 ? Dim{"d", config_.width} : Dim{"mlp", config_.mlp_size};
  }
  Dims rows(int64_t layer) const { return {{"batch", request_.shape.batch}, dim(layer)}; }

  void add_layer_class(const std::string& name, int64_t layer) {
    BlockBuilder& b = module_.block_class(name);
    const Dim in = dim(layer), out = dim(layer + 1);
    Tensor x = first(layer) ? b.batch_float("x", rows(layer)) : b.stream("x", rows(layer));
    // Keeps the size of activations through relu (He et al. 2015).
    const double deviation = std::sqrt((last(layer) ? 1.0 : 2.0) / static_cast<double>(in.size));
    Tensor y = matmul(x, b.matrix("w", "rc", {in, out}, normal(deviation)));
    if (config_.bias) y = bias_add(y, b.parameter("bias", {out}, zeros()));
    b.returns(last(layer) ? y : activate(y, config_.activation));
  }

  void add_head() {
    BlockBuilder& b = module_.block_class("head");
    const Dims dims = rows(config_.layers);
    Tensor target = b.batch_float("target", dims);
    b.returns_loss(squared_loss(b.stream("prediction", dims), target));
    module_.block("head", "head");
  }

  const ModelConfig& config_;
  const ModelRequest& request_;
  ModuleBuilder module_;
  std::set<std::string> classes_;
};

}  // namespace

Module build_mlp(const ModelRequest& request) { return MlpBuilder(request).build(); }

}  // namespace tessera
