// SPDX-License-Identifier: Apache-2.0
// Tensors of checkpoints, Hugging Face folders and safetensors files as NumPy arrays: read-only
// views of the mapped file where it holds the tensor in one piece, else copies.
#include <map>
#include <memory>
#include <mutex>

#include "arrays.h"
#include "bindings.h"
#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/shard_file.h"
#include "files/safetensors.h"
#include "huggingface/huggingface_folder.h"
#include "inference/stored_model.h"

namespace tessera {
namespace {

namespace py = pybind11;

// NumPy has no bf16. A field with that name keeps its bits, and refuses to be computed with.
py::dtype numpy_dtype(DType dtype) {
  switch (dtype) {
    case DType::Fp64:
      return py::dtype("<f8");
    case DType::Fp32:
      return py::dtype("<f4");
    case DType::Int32:
      return py::dtype("<i4");
    case DType::E4m3:
    case DType::E5m2:
    case DType::Bf16:
      break;
  }
  const bool wide = dtype == DType::Bf16;
  py::list fields;
  fields.append(py::make_tuple(wide ? "bfloat16" : std::string(name(dtype)), wide ? "<u2" : "u1"));
  return py::dtype::from_args(fields);
}

// `owner` keeps the bytes.
py::array read_only_array(const py::dtype& dtype, const Shape& shape,
                          std::span<const std::byte> bytes, const py::object& owner) {
  py::array array(dtype, shape, bytes.data(), owner);
  array.attr("setflags")(py::arg("write") = false);
  return array;
}

py::array array_of(DType dtype, const Shape& shape, std::vector<std::byte> bytes) {
  auto held = std::make_unique<std::vector<std::byte>>(std::move(bytes));
  const std::span<const std::byte> view = *held;
  return {numpy_dtype(dtype), shape, view.data(), keep_alive(std::move(held))};
}

class OpenCheckpoint : public std::enable_shared_from_this<OpenCheckpoint> {
 public:
  OpenCheckpoint(const std::string& path, bool verify) {
    const bool one = !std::filesystem::is_directory(path) ||
                     std::filesystem::exists(std::filesystem::path(path) / kManifestName);
    source_ = !verify && one ? std::make_unique<Checkpoint>(path) : open_stored_model(path);
    checkpoint_ = dynamic_cast<const Checkpoint*>(source_.get());
    if (!checkpoint_) return;
    const std::vector<StoredFile>& files = checkpoint_->manifest().files;
    readers_.resize(files.size());
    for (size_t file = 0; file < files.size(); ++file)
      for (const StoredPiece& piece : files[file].pieces)
        places_[piece.name].emplace_back(file, &piece);
  }

  const StateSource& source() const { return *source_; }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : source_->tensors()) names.push_back(name);
    return names;
  }

  const StateSource::Tensor& tensor(const std::string& name) const {
    const auto found = source_->tensors().find(name);
    if (found == source_->tensors().end()) throw py::key_error(name);
    return found->second;
  }

  // What files hold of a tensor, mapped. A Hugging Face folder's tensors are put together from its
  // own.
  struct MappedPiece {
    const TensorPiece& piece;
    std::span<const std::byte> bytes;
  };
  std::vector<MappedPiece> pieces(const std::string& name) {
    tensor(name);
    std::vector<MappedPiece> found;
    if (!checkpoint_) return found;
    for (const auto& [file, piece] : places_.at(name))
      found.push_back({piece->piece, reader(file).get(name).bytes});
    return found;
  }

  bool is_mapped(const std::string& name) {
    const auto found = pieces(name);
    return found.size() == 1 && found[0].piece.elements() == tensor(name).elements();
  }

  py::array array(const std::string& name) {
    const StateSource::Tensor& info = tensor(name);
    if (is_mapped(name))
      return read_only_array(numpy_dtype(info.dtype), info.shape, pieces(name)[0].bytes,
                             py::cast(shared_from_this()));
    std::vector<std::byte> bytes;
    {
      const py::gil_scoped_release release;
      const std::scoped_lock lock(reading_);
      bytes = source_->read_whole(name);
    }
    return array_of(info.dtype, info.shape, std::move(bytes));
  }

  // (first, count, begin, end, array): elements begin to end of a box, in row-major order.
  py::list shards(const std::string& name) {
    const StateSource::Tensor& info = tensor(name);
    py::list all;
    for (const MappedPiece& each : pieces(name))
      all.append(py::make_tuple(py::tuple(py::cast(each.piece.first)),
                                py::tuple(py::cast(each.piece.count)), each.piece.begin,
                                each.piece.end,
                                read_only_array(numpy_dtype(info.dtype), stored_shape(each.piece),
                                                each.bytes, py::cast(shared_from_this()))));
    return all;
  }

 private:
  const SafetensorsReader& reader(size_t file) {
    if (!readers_[file]) {
      const bool folder = std::filesystem::is_directory(source_->path());
      readers_[file] = std::make_unique<SafetensorsReader>(
          folder ? open_shard(source_->path(), checkpoint_->manifest().files[file])
                 : SafetensorsReader(source_->path()));
    }
    return *readers_[file];
  }

  std::mutex reading_;  // a source may prepare the tensor that is read, one at a time
  std::unique_ptr<StateSource> source_;
  const Checkpoint* checkpoint_ = nullptr;  // none: a Hugging Face folder
  std::map<std::string, std::vector<std::pair<size_t, const StoredPiece*>>> places_;
  std::vector<std::unique_ptr<SafetensorsReader>> readers_;  // by file, opened when needed
};

py::dict facts_dict(const StateSource& source) {
  const CheckpointFacts& facts = source.facts();
  py::dict dict;
  dict["path"] = source.path().string();
  dict["step"] = facts.position.step;
  dict["next_sample"] = facts.position.next_sample;
  dict["tokens"] = facts.position.tokens;
  dict["seed"] = facts.seed;
  dict["mesh"] = facts.mesh;
  dict["run"] = facts.run;
  dict["config"] = facts.config_toml;
  return dict;
}

// Every tensor of one file, as it is stored.
py::dict mapped_safetensors(const std::string& path) {
  auto reader =
      std::make_unique<SafetensorsReader>(path, SafetensorsReaderOptions{.takes_half = true});
  const SafetensorsReader& file = *reader;
  const py::capsule owner = keep_alive(std::move(reader));
  py::dict arrays;
  for (const SafetensorsTensor& tensor : file.tensors())
    arrays[py::str(tensor.name)] =
        read_only_array(tensor.half ? py::dtype("<f2") : numpy_dtype(tensor.dtype), tensor.shape,
                        tensor.bytes, owner);
  return arrays;
}

}  // namespace

void bind_stored(py::module_& core) {
  using Release = py::call_guard<py::gil_scoped_release>;
  py::class_<OpenCheckpoint, std::shared_ptr<OpenCheckpoint>>(core, "Checkpoint")
      .def(py::init<const std::string&, bool>(), py::arg("path"), py::arg("verify"), Release())
      .def("names", &OpenCheckpoint::names)
      .def("facts", [](const OpenCheckpoint& open) { return facts_dict(open.source()); })
      .def(
          "dtype",
          [](const OpenCheckpoint& open, const std::string& tensor) {
            return std::string(name(open.tensor(tensor).dtype));
          },
          py::arg("name"))
      .def(
          "shape",
          [](const OpenCheckpoint& open, const std::string& tensor) {
            return py::tuple(py::cast(open.tensor(tensor).shape));
          },
          py::arg("name"))
      .def("is_mapped", &OpenCheckpoint::is_mapped, py::arg("name"))
      .def("array", &OpenCheckpoint::array, py::arg("name"))
      .def("shards", &OpenCheckpoint::shards, py::arg("name"));
  core.def("load_safetensors", &mapped_safetensors, py::arg("path"));
}

}  // namespace tessera
