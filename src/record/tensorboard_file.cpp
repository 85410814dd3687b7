// SPDX-License-Identifier: Apache-2.0
// Field numbers are those of tensorflow/core/util/event.proto and framework/summary.proto.
#include "record/tensorboard_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string_view>

#include "files/digest.h"

namespace tessera {
namespace {

constexpr int kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;  // protobuf's wire types

// Little-endian.
template <typename T>
void append_fixed(std::string& bytes, T number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void append_varint(std::string& bytes, uint64_t number) {
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  bytes += static_cast<char>(number);
}

void append_key(std::string& bytes, int field, int wire_type) {
  append_varint(bytes, static_cast<uint64_t>(field * 8 + wire_type));
}

void append_bytes(std::string& bytes, int field, std::string_view content) {
  append_key(bytes, field, kBytes);
  append_varint(bytes, content.size());
  bytes += content;
}

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// An Event: wall_time = 1, step = 2, and `content` as the field that says what it is.
std::string event(int64_t step, int field, std::string_view content) {
  std::string bytes;
  append_key(bytes, 1, kFixed64);
  append_fixed(bytes, unix_seconds());
  append_key(bytes, 2, kVarint);
  append_varint(bytes, static_cast<uint64_t>(step));
  append_bytes(bytes, field, content);
  return bytes;
}

std::string version_event() { return event(0, 3, "brain.Event:2"); }

// SessionLog: status = 1, of which 1 is START.
std::string start_event(int64_t step) {
  std::string log;
  append_key(log, 1, kVarint);
  append_varint(log, 1);
  return event(step, 7, log);
}

// Summary: value = 1, with tag = 1 and simple_value = 2.
std::string summary_event(int64_t step, std::span<const Scalar> scalars) {
  std::string summary;
  for (const Scalar& scalar : scalars) {
    std::string value;
    append_bytes(value, 1, scalar.tag);
    append_key(value, 2, kFixed32);
    append_fixed(value, static_cast<float>(scalar.value));
    append_bytes(summary, 1, value);
  }
  return event(step, 5, summary);
}

// TFRecord stores checksums rotated and shifted, so that data which holds checksums stays apart.
uint32_t masked_crc(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

std::string record_of(std::string_view event) {
  std::string record;
  append_fixed(record, static_cast<uint64_t>(event.size()));
  append_fixed(record, masked_crc(record));
  record += event;
  append_fixed(record, masked_crc(event));
  return record;
}

// TensorBoard looks for "tfevents" in a name and reads the files of a folder in the names' order.
std::filesystem::path new_file(const std::filesystem::path& folder) {
  std::error_code ignored;  // what is not made cannot be opened, which is then said
  std::filesystem::create_directories(folder, ignored);
  return folder / fmt::format("events.out.tfevents.{:.6f}.{}", unix_seconds(), ::getpid());
}

}  // namespace

TensorboardFile::TensorboardFile(const std::filesystem::path& folder,
                                 std::optional<int64_t> resumed_step, Warn warn)
    : file_(new_file(folder),
            {.kept_bytes = resumed_step ? std::optional(0) : std::nullopt, .warn = warn}) {
  file_.write(record_of(version_event()));
  if (resumed_step) file_.write(record_of(start_event(*resumed_step + 1)));
}

void TensorboardFile::write(int64_t step, std::span<const Scalar> scalars) {
  file_.write(record_of(summary_event(step, scalars)));
}

}  // namespace tessera
