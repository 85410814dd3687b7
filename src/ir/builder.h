// SPDX-License-Identifier: Apache-2.0
// How a model is written: maths on one device, block by block, over tensors with named dims. The
// functions that a model calls (matmul, rms_norm, ...) are in ops/calls.h.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/emit.h"
#include "ir/module.h"

namespace tessera {

class BlockBuilder;

// A value of the block under construction; lives as long as its ModuleBuilder.
struct Tensor {
  BlockBuilder* block = nullptr;
  ValueId id = kNone;
  const TensorType& type() const;
  const Dims& dims() const { return type().dims; }
};

class BlockBuilder {
 public:
  BlockBuilder(std::string name, DType compute) : name_(std::move(name)), compute_(compute) {}

  const std::string& name() const { return name_; }
  DType compute_dtype() const { return compute_; }

  // From the previous block.
  Tensor stream(std::string name, Dims dims, SourceLine at = SourceLine::here());
  Tensor batch(std::string name, Dims dims, DType dtype = DType::Int32,
               SourceLine at = SourceLine::here());
  Tensor batch_float(std::string name, Dims dims, SourceLine at = SourceLine::here()) {
    return batch(std::move(name), std::move(dims), compute_, at);
  }
  Tensor step(std::string name, SourceLine at = SourceLine::here());  // a step value: fp64[]
  // Weight decay applies to parameters with two or more dims unless told otherwise; norms and
  // biases are spared.
  Tensor parameter(std::string name, Dims dims, Init init, SourceLine at = SourceLine::here());
  Tensor parameter(std::string name, Dims dims, Init init, bool decay,
                   SourceLine at = SourceLine::here());

  // A parameter of matrices, a letter for each dim (StateSpec::matrix): ("wq", "rcc", {d, heads,
  // e}).
  Tensor matrix(std::string name, std::string shape, Dims dims, Init init,
                SourceLine at = SourceLine::here());

  // Of a router, in the dtype of its logits; begins as zeros.
  Tensor balanced_bias(std::string name, Dims dims, double rate,
                       SourceLine at = SourceLine::here());

  // Of keys or values, for a text that is being written; begins as zeros.
  Tensor cache(std::string name, Dims dims, SourceLine at = SourceLine::here());

  std::vector<Tensor> emit(OpKind op, std::vector<Tensor> operands, EmitOptions options = {},
                           SourceLine at = SourceLine::here());

  void returns(Tensor stream);                         // to the next block
  void returns_step(std::string name, Tensor value);   // adds up over microbatches
  void returns_state(std::string name, Tensor value);  // what the state becomes
  void returns_loss(Tensor loss) { returns_step("loss", loss); }

  const Graph& graph() const { return graph_; }
  Graph& graph() { return graph_; }

 private:
  Tensor input(GraphInput input, std::string name, TensorType type, SourceLine at);

  std::string name_;
  DType compute_;
  Graph graph_;
};

class ModuleBuilder {
 public:
  ModuleBuilder(std::string name, DType compute) : compute_(compute) {
    module_.name = std::move(name);
  }

  BlockBuilder& block_class(std::string name);
  // Adds a block of that class at the end of the chain. Ties bind its parameters to another
  // block's: {"table", "embedding.table"}.
  void block(std::string name, const std::string& class_name,
             std::vector<std::pair<std::string, std::string>> ties = {});

  Module build();  // verified; the builder is spent

 private:
  DType compute_;
  Module module_;
  std::vector<std::unique_ptr<BlockBuilder>> classes_;
};

}  // namespace tessera
