// SPDX-License-Identifier: Apache-2.0
#include "comm/collective_header.h"

#include <algorithm>
#include <array>

namespace tessera {
namespace {

constexpr std::array<std::string_view, kNumCollectiveKinds> kKinds{
    "broadcast",  "scatter", "gather", "reduce",  "all_gather", "reduce_scatter", "all_reduce",
    "all_to_all", "send",    "recv",   "barrier", "put_rows",   "take_rows"};

bool point_to_point(CollectiveKind kind) {
  return kind == CollectiveKind::Send || kind == CollectiveKind::Recv;
}

bool reads_input(const Collective& collective, int rank) {
  switch (collective.kind) {
    case CollectiveKind::Broadcast:
    case CollectiveKind::Scatter:
      return rank == collective.root;
    case CollectiveKind::Recv:
    case CollectiveKind::Barrier:
      return false;
    default:
      return true;
  }
}

bool writes_output(const Collective& collective, int rank) {
  switch (collective.kind) {
    case CollectiveKind::Gather:
    case CollectiveKind::Reduce:
      return rank == collective.root;
    case CollectiveKind::Send:
    case CollectiveKind::Barrier:
      return false;
    default:
      return true;
  }
}

}  // namespace

std::string_view name(CollectiveKind kind) { return kKinds.at(static_cast<size_t>(kind)); }

bool has_root(CollectiveKind kind) {
  return kind == CollectiveKind::Broadcast || kind == CollectiveKind::Scatter ||
         kind == CollectiveKind::Gather || kind == CollectiveKind::Reduce;
}

bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::Reduce || kind == CollectiveKind::ReduceScatter ||
         kind == CollectiveKind::AllReduce;
}

bool reads_many_parts(CollectiveKind kind) {
  return kind == CollectiveKind::Scatter || kind == CollectiveKind::ReduceScatter ||
         kind == CollectiveKind::AllToAll;
}

bool writes_many_parts(CollectiveKind kind) {
  return kind == CollectiveKind::Gather || kind == CollectiveKind::AllGather ||
         kind == CollectiveKind::AllToAll;
}

bool CollectiveHeader::same_as(const CollectiveHeader& other) const {
  const bool pair = point_to_point(kind) && point_to_point(other.kind) && kind != other.kind;
  return number == other.number && elements == other.elements && dtype == other.dtype &&
         reduction == other.reduction && (pair || (kind == other.kind && root == other.root));
}

CollectiveHeader header_of(const Collective& collective, int64_t number) {
  CollectiveHeader header{.number = number, .kind = collective.kind, .dtype = collective.dtype};
  if (collective.kind != CollectiveKind::Barrier)
    header.elements =
        std::max(collective.input_parts.elements(), collective.output_parts.elements());
  else
    header.dtype = DType::Fp32;
  if (has_root(collective.kind)) header.root = collective.root;
  if (reduces(collective.kind)) header.reduction = collective.reduction;
  collective.name.copy(header.text, CollectiveHeader::kNameBytes - 1);
  return header;
}

void check_collective(const Collective& collective, int rank, int size) {
  if (collective.kind == CollectiveKind::Barrier) return;
  const std::string_view kind = name(collective.kind);
  TESSERA_CHECK(collective.root >= 0 && collective.root < size, "{} {}: root {} of {} members",
                kind, collective.name, collective.root, size);
  const bool in = reads_input(collective, rank), out = writes_output(collective, rank);
  const int64_t read = collective.input_parts.elements();
  const int64_t written = collective.output_parts.elements();
  TESSERA_CHECK(!in || !out || read == written, "{} {}: {} elements per part in, {} out", kind,
                collective.name, read, written);
  TESSERA_CHECK(!moves_rows(collective.kind) ||
                    (collective.table.ends && collective.table.rows > 0 &&
                     collective.table.experts % size == 0 && read % collective.table.rows == 0),
                "{} {}: {} elements in {} rows of {} experts", kind, collective.name, read,
                collective.table.rows, collective.table.experts);
  TESSERA_CHECK(!in || read == 0 || collective.input, "{} {}: no input", kind, collective.name);
  TESSERA_CHECK(!out || written == 0 || collective.output, "{} {}: no output", kind,
                collective.name);
}

int64_t input_bytes(const CollectiveHeader& header, int size) {
  return header.elements * size_bytes(header.dtype) * (reads_many_parts(header.kind) ? size : 1);
}

std::string brief(const CollectiveHeader& header) {
  return fmt::format("{} #{}{}{}", name(header.kind), header.number, header.text[0] ? " " : "",
                     static_cast<const char*>(header.text));
}

std::string full(const CollectiveHeader& header) {
  std::string text = brief(header);
  if (header.kind == CollectiveKind::Barrier) return text;
  text += fmt::format(" ({} x {}", header.elements, name(header.dtype));
  if (reduces(header.kind)) text += fmt::format(", {}", name(header.reduction));
  if (has_root(header.kind)) text += fmt::format(", root {}", header.root);
  return text + ")";
}

std::string group_text(std::string_view name, std::span<const int> ranks) {
  constexpr size_t kShown = 16;
  std::string text = fmt::format("{}={{", name);
  for (size_t i = 0; i < std::min(ranks.size(), kShown); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ",", ranks[i]);
  if (ranks.size() > kShown) text += fmt::format(",... {} ranks", ranks.size());
  return text + "}";
}

}  // namespace tessera
