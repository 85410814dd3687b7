// SPDX-License-Identifier: Apache-2.0
// The router's dim is `choice`, the experts' own is `expert`: plans split the experts, and every
// rank scores all of them.
#include "models/mixture.h"

namespace tessera {
namespace {

Attributes routing_of(const ModelConfig& config) {
  return {{"score", std::string(name(config.router_score))},
          {"normalise", int64_t{config.normalised_gates}},
          {"scale", config.routed_scale},
          {"groups", config.expert_groups},
          {"kept", config.kept_groups},
          {"top_k", config.top_k}};
}

void add_losses(BlockBuilder& b, const ModelConfig& config, Tensor logits, const Routes& routes) {
  const bool sequence = config.balance_scope == BalanceScope::Sequence;
  if (config.balance_loss > 0)
    b.returns_step("balance_loss",
                   balance_loss(logits, routes.chosen,
                                {{"experts", config.experts}, {"by", sequence ? "batch" : "all"}},
                                {{"score", config.router_score == RouterScore::Sigmoid ? "sigmoid"
                                                                                       : "softmax"},
                                 {"coefficient", config.balance_loss}}));
  if (config.router_z_loss > 0)
    b.returns_step("z_loss", router_z_loss(logits, config.router_z_loss));
}

}  // namespace

Tensor mixture(BlockBuilder& b, const ModelRequest& request, const TransformerDims& dims,
               Tensor x) {
  const ModelConfig& config = request.config;
  const Dim choice{"choice", config.experts}, expert{"expert", config.experts},
      mlp{"expert_mlp", config.expert_mlp_size}, shared{"shared_mlp", config.shared_mlp_size};
  const Init small = weight_init(config), residual = residual_init(config);
  const Tensor logits = matmul_accumulated(x, b.parameter("router", {dims.d, choice}, small));
  const Tensor bias = config.balance_rate > 0
                          ? b.balanced_bias("router_bias", {choice}, config.balance_rate)
                          : Tensor{};
  const Routes routes = route(logits, routing_of(config), bias);
  if (request.head == HeadKind::Loss) add_losses(b, config, logits, routes);
  const auto [rows, gate_rows] = dispatch(x, routes);
  // What every token goes through stands where rows of tokens are under way: its first half between
  // dispatch and the rows' first reader, its second between combine and the sum.
  Tensor every;
  if (shared.size > 0)
    every =
        swiglu(matmul(x, b.matrix("shared_gate_up", "rsc", {dims.d, dims.gate_up, shared}, small)));
  const Tensor gate_up =
                   b.matrix("expert_gate_up", "srsc", {expert, dims.d, dims.gate_up, mlp}, small),
               down = b.matrix("expert_down", "src", {expert, mlp, dims.d}, residual);
  const Tensor h = expert_swiglu(expert_matmul(rows, gate_up, routes), gate_rows, routes);
  const Tensor out = combine(expert_matmul(h, down, routes), routes);
  if (shared.size == 0) return out;
  return add(out, matmul(every, b.matrix("shared_down", "rc", {shared, dims.d}, residual)));
}

}  // namespace tessera
