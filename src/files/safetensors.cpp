// SPDX-License-Identifier: Apache-2.0
#include "files/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "files/json.h"
#include "files/regular_file.h"

namespace tessera {
namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the reference implementation
constexpr int kHeaderDepth = 3;                    // file, tensor, shape

// Every complaint about a file goes through here, so that all of them name the file and what to do.
class Complaint {
 public:
  explicit Complaint(const std::filesystem::path& path) : path_(path.string()) {}

  template <typename... Args>
  [[noreturn]] void operator()(fmt::format_string<Args...> format, Args&&... args) const {
    throw user_error("{} is not a complete safetensors file: {}", path_,
                     fmt::format(format, std::forward<Args>(args)...))
        .help(
            "the file is truncated, corrupt or of another kind: use another checkpoint or copy it "
            "again");
  }

 private:
  std::string path_;
};

// With its length before it.
std::string read_header(const FileReader& file, const Complaint& complain) {
  uint64_t length = 0;
  const auto bytes = static_cast<uint64_t>(file.bytes());
  if (bytes < sizeof(length)) complain("it has {} bytes, a header needs 8", bytes);
  file.read(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > kMaxHeaderBytes) complain("its header claims {} bytes", length);
  if (length > bytes - sizeof(length))
    complain("its header claims {} bytes, {} follow", length, bytes - sizeof(length));
  std::string header(sizeof(length) + length, '\0');
  file.read(0, std::as_writable_bytes(std::span(header)));
  return header;
}

Json parse_header(std::string_view text, const Complaint& complain) {
  Json json;
  const std::string wrong = parse_json(text, kHeaderDepth, json);
  if (!wrong.empty()) complain("its header {}", wrong);
  if (!json.is_object()) complain("its header is not a JSON object");
  return json;
}

std::map<std::string, std::string> read_metadata(const Json& json, const Complaint& complain) {
  std::map<std::string, std::string> metadata;
  if (!json.is_object()) complain("its __metadata__ is not an object");
  for (const auto& [key, value] : json.members()) {
    if (!value.text()) complain("its __metadata__ {} is not text", key);
    metadata[key] = *value.text();
  }
  return metadata;
}

// A list of whole numbers >= 0 that fit an int64.
std::vector<int64_t> read_sizes(const Json& tensor, const char* key, const std::string& name,
                                const Complaint& complain) {
  const Json* found = tensor.find(key);
  if (!found || !found->is_array()) complain("tensor {} has no list {}", name, key);
  std::vector<int64_t> sizes;
  for (const Json& item : found->items()) {
    sizes.push_back(item.integer().value_or(-1));
    if (sizes.back() < 0) complain("{} of tensor {} holds {}", key, name, item.dump());
  }
  return sizes;
}

int64_t claimed_bytes(const SafetensorsTensor& tensor, const Complaint& complain) {
  int64_t bytes = tensor.half ? 2 : size_bytes(tensor.dtype);
  for (const int64_t size : tensor.shape)
    if (__builtin_mul_overflow(bytes, size, &bytes))
      complain("the shape of tensor {} overflows", tensor.name);
  return bytes;
}

SafetensorsTensor read_tensor(const std::string& name, const Json& json,
                              std::span<const std::byte> data,
                              const SafetensorsReaderOptions& options, const Complaint& complain) {
  if (!json.is_object()) complain("tensor {} is not an object", name);
  const Json* dtype = json.find("dtype");
  if (!dtype || !dtype->text()) complain("tensor {} has no dtype", name);
  const bool half = options.takes_half && *dtype->text() == "F16";
  const auto known = half ? DType::Fp32 : dtype_from_safetensors(*dtype->text());
  if (!known)
    complain("tensor {} has dtype {}, known are F64, F32, BF16 and I32", name, *dtype->text());

  SafetensorsTensor tensor;
  tensor.name = name;
  tensor.dtype = *known;
  tensor.half = half;
  tensor.shape = read_sizes(json, "shape", name, complain);
  const std::vector<int64_t> offsets = read_sizes(json, "data_offsets", name, complain);
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    complain("data_offsets of tensor {} are not a begin and an end", name);
  if (static_cast<uint64_t>(offsets[1]) > data.size())
    complain("tensor {} ends at byte {}, the data at {}", name, offsets[1], data.size());
  const int64_t bytes = offsets[1] - offsets[0], claimed = claimed_bytes(tensor, complain);
  if (bytes != claimed)
    complain("tensor {} has {} bytes, its shape needs {}", name, bytes, claimed);
  tensor.bytes = data.subspan(static_cast<size_t>(offsets[0]), static_cast<size_t>(bytes));
  return tensor;
}

// The tensors must cover the data, each byte once.
void check_cover(const std::vector<SafetensorsTensor>& tensors, std::span<const std::byte> data,
                 const Complaint& complain) {
  const std::byte* end = data.data();
  for (const SafetensorsTensor& tensor : tensors) {
    if (tensor.bytes.data() != end)
      complain("tensor {} begins at byte {}, the one before it ends at {}", tensor.name,
               tensor.bytes.data() - data.data(), end - data.data());
    end += tensor.bytes.size();
  }
  const auto covered = static_cast<size_t>(end - data.data());
  if (covered != data.size())
    complain("its tensors have {} bytes, {} follow the header", covered, data.size());
}

}  // namespace

SafetensorsReader::SafetensorsReader(const std::filesystem::path& path,
                                     const SafetensorsReaderOptions& options)
    : file_(path) {
  const Complaint complain(path);
  header_ = read_header(FileReader(path), complain);
  if (header_.size() > file_.bytes().size()) complain("it changes while it is read");
  const auto data = file_.bytes().subspan(header_.size());
  const Json json = parse_header(std::string_view(header_).substr(sizeof(uint64_t)), complain);
  for (const auto& [name, value] : json.members()) {
    if (name == "__metadata__")
      metadata_ = read_metadata(value, complain);
    else
      tensors_.push_back(read_tensor(name, value, data, options, complain));
  }
  // An empty tensor shares its begin with the next one, so sizes break the tie.
  std::stable_sort(tensors_.begin(), tensors_.end(), [](const auto& a, const auto& b) {
    return std::pair(a.bytes.data(), a.bytes.size()) < std::pair(b.bytes.data(), b.bytes.size());
  });
  check_cover(tensors_, data, complain);
  for (size_t i = 0; i < tensors_.size(); ++i) index_[tensors_[i].name] = i;
}

const SafetensorsTensor* SafetensorsReader::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

const SafetensorsTensor& SafetensorsReader::get(std::string_view name) const {
  if (const SafetensorsTensor* tensor = find(name)) return *tensor;
  throw user_error("{} has no tensor {} among its {}", path().string(), name, tensors_.size())
      .help("it was saved for another model: use the same [model] settings");
}

namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

int64_t total_bytes(const std::vector<SafetensorsEntry>& entries) {
  int64_t total = 0;
  for (const SafetensorsEntry& entry : entries) total += size_bytes(entry);
  return total;
}

// Length and JSON together, a multiple of 8 bytes long.
std::string make_header(const std::vector<SafetensorsEntry>& entries,
                        const std::map<std::string, std::string>& metadata) {
  Json json = Json::object();
  if (!metadata.empty()) json["__metadata__"] = metadata;
  int64_t offset = 0;
  for (const SafetensorsEntry& entry : entries) {
    TESSERA_CHECK(!json.find(entry.name), "tensor {} is announced twice", entry.name);
    const int64_t end = offset + size_bytes(entry);
    json[entry.name] = {{"dtype", safetensors_name(entry.dtype)},
                        {"shape", entry.shape},
                        {"data_offsets", Json::array({offset, end})}};
    offset = end;
  }
  std::string text = json.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  std::string header(sizeof(length), '\0');
  std::memcpy(header.data(), &length, sizeof(length));
  return header + text;
}

}  // namespace

int64_t size_bytes(const SafetensorsEntry& entry) {
  int64_t bytes = size_bytes(entry.dtype);
  for (const int64_t size : entry.shape) bytes *= size;
  return bytes;
}

SafetensorsWriter::SafetensorsWriter(std::filesystem::path path,
                                     std::vector<SafetensorsEntry> entries,
                                     const std::map<std::string, std::string>& metadata,
                                     FileWatch watch)
    : entries_(std::move(entries)),
      header_(make_header(entries_, metadata)),
      file_(std::move(path), file_bytes(), std::move(watch)) {
  file_.write(header_);
}

int64_t SafetensorsWriter::file_bytes() const {
  return static_cast<int64_t>(header_.size()) + total_bytes(entries_);
}

void SafetensorsWriter::write(const std::string& name, std::span<const std::byte> bytes) {
  TESSERA_CHECK(next_ < entries_.size(), "{} was not announced", name);
  const SafetensorsEntry& entry = entries_[next_++];
  TESSERA_CHECK(entry.name == name, "{} comes before {}", entry.name, name);
  TESSERA_CHECK(static_cast<int64_t>(bytes.size()) == size_bytes(entry), "{} has {} bytes, not {}",
                name, size_bytes(entry), bytes.size());
  file_.write(bytes);
}

void SafetensorsWriter::commit() {
  TESSERA_CHECK(next_ == entries_.size(), "{} of {} tensors written", next_, entries_.size());
  file_.commit();
}

}  // namespace tessera
