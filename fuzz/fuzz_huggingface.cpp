// SPDX-License-Identifier: Apache-2.0
// Any bytes as a config.json of Hugging Face's and, after a zero byte, the index of its weights. A
// model that is accepted is written and read back the same; a tensor that is found can be read.
#include "fuzz_input.h"
#include "huggingface/model_json.h"
#include "huggingface/tensor_map.h"
#include "huggingface/weight_files.h"

namespace tessera {
namespace {

// The file that the seeds' indices name: tensors a, of two float16, and b, of one float32.
void write_weights(const InputFolder& folder) {
  std::string header = R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},)"
                       R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})";
  std::string bytes(8, '\0');
  bytes[0] = static_cast<char>(header.size());
  folder.write("w.safetensors", bytes + header + "weights!");
}

void read_model(std::string_view text) {
  std::optional<ModelConfig> exportable;
  may_refuse([&] {
    const ModelConfig model = parse_model_json(text, "input");
    for (const Patch& patch : tensor_map(model).patches)
      must(patch.rows > 0 && patch.columns > 0, "a patch has elements");
    check_exportable(model);
    exportable = model;
  });
  if (exportable)
    must(parse_model_json(model_json(*exportable, DType::Fp32), "printed") == *exportable,
         "a model reads back");
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  static const InputFolder folder;
  static const bool ready = (write_weights(folder), true);
  must(ready, "there are weights");
  const std::string_view input = text_of(data, size);
  const size_t end = std::min(input.find('\0'), input.size());
  read_model(input.substr(0, end));
  if (end == input.size()) return 0;
  folder.write(kIndexFile, input.substr(end + 1));
  may_refuse([&] {
    const WeightFiles files(folder.path());
    for (const auto& [name, tensor] : files.tensors())
      must(tensor->bytes.size() == 4 && files.find(name) == tensor, "a tensor is found and read");
  });
  return 0;
}
