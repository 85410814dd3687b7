// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <vector>

#include "train/digest.h"
#include "train/safetensors_writer.h"

namespace tessera {
namespace {

constexpr const char* kFormat = "tessera-checkpoint-1";
constexpr std::string_view kPrefix = "step_", kSuffix = ".safetensors";

std::vector<int64_t> shape_of(const TensorType& type) {
  std::vector<int64_t> shape;
  for (const Dim& dim : type.dims) shape.push_back(dim.size);
  return shape;
}

std::vector<std::filesystem::path> checkpoints_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "checkpoints", error)) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with(kPrefix) && file.ends_with(kSuffix)) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());  // steps are zero-padded
  return found;
}

const std::string& metadata(const SafetensorsReader& reader, const std::string& key) {
  const auto found = reader.metadata().find(key);
  if (found == reader.metadata().end())
    throw user_error("{} is not a checkpoint of tessera: its metadata has no {}",
                     reader.path().string(), key);
  return found->second;
}

int64_t metadata_number(const SafetensorsReader& reader, const std::string& key) {
  const std::string& text = metadata(reader, key);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    throw user_error("{}: {} is {}, not a whole number", reader.path().string(), key, text);
  return value;
}

}  // namespace

std::filesystem::path checkpoint_path(const std::filesystem::path& folder, int64_t step) {
  return folder / "checkpoints" / fmt::format("{}{:08}{}", kPrefix, step, kSuffix);
}

std::optional<std::filesystem::path> newest_checkpoint(const std::filesystem::path& folder) {
  const auto found = checkpoints_in(folder);
  if (found.empty()) return std::nullopt;
  return found.back();
}

void prune_checkpoints(const std::filesystem::path& folder, int64_t keep) {
  auto found = checkpoints_in(folder);
  while (static_cast<int64_t>(found.size()) > keep) {
    std::filesystem::remove(found.front());
    found.erase(found.begin());
  }
}

void save_checkpoint(const std::filesystem::path& path, const Executor& executor,
                     const CheckpointPosition& position, const std::string& config_toml) {
  std::vector<SafetensorsEntry> entries;
  std::vector<std::byte> bytes;
  const auto read = [&](const StateBuffer& state) {
    bytes.resize(static_cast<size_t>(state.type.bytes()));
    executor.read_state(state, bytes);
    return std::span<const std::byte>(bytes);
  };
  Digest digest;
  for (const StateBuffer& state : executor.program().states) {
    entries.push_back(
        {.name = state.name, .dtype = state.type.dtype, .shape = shape_of(state.type)});
    digest.add(read(state));
  }
  std::filesystem::create_directories(path.parent_path());
  SafetensorsWriter writer(path, std::move(entries),
                           {{"format", kFormat},
                            {"step", fmt::format("{}", position.step)},
                            {"next_sample", fmt::format("{}", position.next_sample)},
                            {"tokens", fmt::format("{}", position.tokens)},
                            {"config", config_toml},
                            {"digest", digest.text()}});
  for (const StateBuffer& state : executor.program().states) writer.write(state.name, read(state));
  writer.commit();
}

void help_save_checkpoint(const Executor& executor) {
  std::vector<std::byte> bytes;
  for (int pass = 0; pass < 2; ++pass)  // for the digest, and to write
    for (const StateBuffer& state : executor.program().states) {
      bytes.resize(static_cast<size_t>(state.type.bytes()));
      executor.read_state(state, bytes);
    }
}

Checkpoint::Checkpoint(const std::filesystem::path& path) : reader_(path) {
  if (metadata(reader_, "format") != kFormat)
    throw user_error("{}: format {} is not known", path.string(), metadata(reader_, "format"))
        .help("this tessera reads " + std::string(kFormat));
  position_ = {.step = metadata_number(reader_, "step"),
               .next_sample = metadata_number(reader_, "next_sample"),
               .tokens = metadata_number(reader_, "tokens")};
  config_toml_ = metadata(reader_, "config");
  Digest digest;
  for (const SafetensorsTensor& tensor : reader_.tensors()) digest.add(tensor.bytes);
  if (digest.text() != metadata(reader_, "digest"))
    throw user_error("{} is corrupt: its bytes give digest {}, it was written with {}",
                     path.string(), digest.text(), metadata(reader_, "digest"))
        .help("remove it and resume from an older checkpoint");
}

void Checkpoint::load(Executor& executor, const StateBuffer& state, const std::string& name) const {
  const SafetensorsTensor* tensor = reader_.find(name);
  if (!tensor)
    throw user_error("{} has no {}", reader_.path().string(), name)
        .help("was it written by another model or optimizer?");
  if (tensor->shape != shape_of(state.type))
    throw user_error("{}: {} has shape [{}], the model has [{}]", reader_.path().string(), name,
                     fmt::join(tensor->shape, ", "), fmt::join(shape_of(state.type), ", "))
        .help("resume with the model settings that the checkpoint was written with");
  if (tensor->dtype == state.type.dtype) {
    executor.write_state(state, tensor->bytes);
    return;
  }
  // Another precision: a parameter read for generation.
  std::vector<std::byte> converted(static_cast<size_t>(state.type.bytes()));
  dispatch_float(tensor->dtype, [&]<typename From>() {
    dispatch_float(state.type.dtype, [&]<typename To>() {
      for (int64_t i = 0; i < state.type.num_elements(); ++i) {
        From from;
        std::memcpy(&from, tensor->bytes.data() + static_cast<size_t>(i) * sizeof(From),
                    sizeof from);
        const To to = store<To>(static_cast<Accumulator<To>>(tessera::load(from)));
        std::memcpy(converted.data() + static_cast<size_t>(i) * sizeof(To), &to, sizeof to);
      }
    });
  });
  executor.write_state(state, converted);
}

void Checkpoint::load_states(Executor& executor) const {
  for (const StateBuffer& state : executor.program().states) load(executor, state, state.name);
  if (reader_.tensors().size() != executor.program().states.size())
    throw user_error("{} holds {} states, this run has {}", reader_.path().string(),
                     reader_.tensors().size(), executor.program().states.size())
        .help(
            "resume with the model, precision and train.ema_decay that the checkpoint was written "
            "with");
}

void Checkpoint::load_parameters(Executor& executor, bool averaged) const {
  for (const StateBuffer& state : executor.program().states)
    load(executor, state,
         averaged ? fmt::format("{}.{}", state.name, tessera::name(StateRole::Average))
                  : state.name);
}

}  // namespace tessera
