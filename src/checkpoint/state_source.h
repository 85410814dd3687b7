// SPDX-License-Identifier: Apache-2.0
// States by name and global index, wherever they are stored: each rank reads its own pieces, so the
// mesh that saved and the mesh that loads may differ.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/manifest.h"
#include "exec/executor.h"

namespace tessera {

class StateSource {
 public:
  virtual ~StateSource() = default;

  const std::filesystem::path& path() const { return path_; }
  virtual const CheckpointFacts& facts() const = 0;

  struct Tensor {
    DType dtype = DType::Fp32;
    Shape shape = {};
    int64_t elements() const { return elements_of(shape); }
  };
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  std::vector<std::byte> read_whole(const std::string& name) const;
  std::vector<std::byte> read_part(const std::string& name, Stretch part) const;

  // The tensor to take a parameter's weights from: its moving average if requested, else the master
  // weights if there are any.
  std::string origin_of(const std::string& parameter, bool averaged) const;
  // Loads parameters, and with them master weights and averages, in the program's dtypes; other
  // states stay unchanged. With `chosen`, only parameters of which it says yes.
  using Chosen = std::function<bool(const StateSpec& parameter, const std::string& name)>;
  void load_weights(Executor& executor, bool averaged, const Chosen& chosen = {}) const;

  // By which a run knows the weights again that it leaves out of its checkpoints.
  virtual std::string digest() const = 0;

 protected:
  explicit StateSource(std::filesystem::path path) : path_(std::move(path)) {}
  StateSource(StateSource&&) = default;
  StateSource& operator=(StateSource&&) = default;

  // `bytes` holds `count` elements, which begin `skip` elements after the begin of wanted[i].
  using Overlap =
      std::function<void(size_t i, int64_t skip, int64_t count, std::span<const std::byte> bytes)>;
  virtual void for_each_overlap(const std::string& name, const std::vector<Stretch>& wanted,
                                const Overlap& f) const = 0;
  // The same where the tensor is in memory as a whole.
  static void pass_parts(std::span<const std::byte> whole, DType dtype,
                         const std::vector<Stretch>& wanted, const Overlap& f);
  // The same of another source, for those that are made of several.
  static void pass_overlaps(const StateSource& source, const std::string& name,
                            const std::vector<Stretch>& wanted, const Overlap& f) {
    source.for_each_overlap(name, wanted, f);
  }

  // A UserError if it is already known with another dtype or shape.
  void add_tensor(const std::string& name, Tensor tensor);
  // The tensor of a state; a UserError if it is missing or has another shape.
  const Tensor& tensor_for(const StateBuffer& state, const std::string& name) const;
  void load(RankStates& rank, const StateBuffer& state, const std::string& name) const;

 private:
  bool is_unaveraged(const std::string& parameter) const;

  std::filesystem::path path_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace tessera
