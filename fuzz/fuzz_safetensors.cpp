// SPDX-License-Identifier: Apache-2.0
// Any bytes as a safetensors file. Every tensor that it hands out can be read.
#include "files/safetensors.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  static const InputFolder folder;
  const auto path = folder.write("input", text_of(data, size));
  may_refuse([&] {
    const SafetensorsReader reader(path);
    size_t bytes = reader.header().size();
    unsigned sum = 0;
    for (const SafetensorsTensor& tensor : reader.tensors()) {
      for (const std::byte byte : tensor.bytes) sum += static_cast<unsigned>(byte);
      bytes += tensor.bytes.size();
      must(reader.find(tensor.name) == &tensor, "a tensor is found by its name");
    }
    must(bytes == size, "header and tensors cover the file");
    must(sum <= 255 * bytes, "a sum of bytes");
  });
  return 0;
}
