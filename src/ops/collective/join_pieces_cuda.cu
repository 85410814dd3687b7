// SPDX-License-Identifier: Apache-2.0
// A word per thread: 16 bytes where rows allow it, else an element. The rank's index lies on the
// GPU.
#include "exec/cuda/kernel_launch.h"
#include "exec/tensor_parts.h"
#include "ops/collective/join_pieces.h"

namespace tessera {
namespace {

template <typename Word>
struct PiecePointers {
  const Word* of[kMostPieces];
};

template <typename Word>
__global__ void join_pieces_kernel(PiecePointers<Word> pieces, int count, const int32_t* index,
                                   Parts parts, Word* whole) {
  const int64_t words = parts.outer * parts.inner;
  for (int64_t i = first_index(); i < words * count; i += index_stride()) {
    const int64_t hop = i / words, at = i % words;
    whole[at / parts.inner * parts.outer_stride +
          place_of_piece(*index, hop, count) * parts.part_stride + at % parts.inner] =
        pieces.of[hop][at];
  }
}

template <typename Word>
__global__ void take_piece_kernel(const Word* whole, const int32_t* index, int64_t hop,
                                  int64_t ranks, Parts parts, Word* piece) {
  const int64_t begin = place_of_piece(*index, hop, ranks) * parts.part_stride;
  for (int64_t i = first_index(); i < parts.outer * parts.inner; i += index_stride())
    piece[i] = whole[i / parts.inner * parts.outer_stride + begin + i % parts.inner];
}

// The same stretches, counted in words of `bytes` that hold several elements of `element` bytes.
Parts in_words(Parts parts, int64_t element, int64_t bytes) {
  for (int64_t* size : {&parts.outer_stride, &parts.part_stride, &parts.inner})
    *size = *size * element / bytes;
  return parts;
}

// Calls run(word, parts) with the widest word that divides a row.
template <typename Run>
void in_widest_words(const TensorType& whole, std::string_view dim, int64_t pieces,
                     const Run& run) {
  const Parts parts = parts_along(whole, static_cast<size_t>(whole.index_of(dim)), pieces);
  const int64_t element = size_bytes(whole.dtype);
  if (parts.inner * element % 16 == 0) return run(uint4{}, in_words(parts, element, 16));
  switch (element) {
    case 1:
      return run(uint8_t{}, parts);
    case 2:
      return run(uint16_t{}, parts);
    case 4:
      return run(uint32_t{}, parts);
    default:
      return run(uint64_t{}, parts);
  }
}

}  // namespace

void join_pieces_cuda(const CudaCall& call) {
  const auto count = static_cast<int>(call.operands.size()) - 1;
  const int32_t* index = call.operand(0).as<int32_t>();
  in_widest_words(
      *call.result(0).type, call.attributes.word("dim"), count,
      [&]<typename Word>(Word, const Parts& parts) {
        PiecePointers<Word> pieces{};
        for (int hop = 0; hop < count; ++hop)
          pieces.of[hop] =
              reinterpret_cast<const Word*>(call.operand(static_cast<size_t>(hop) + 1).data);
        launch(call, grid_for(count * parts.outer * parts.inner), join_pieces_kernel<Word>, pieces,
               count, index, parts, reinterpret_cast<Word*>(call.result(0).data));
      });
}

void take_piece_cuda(const CudaCall& call) {
  const int64_t ranks = call.attributes.integer("ranks"), hop = call.attributes.integer("hop");
  const int32_t* index = call.operand(1).as<int32_t>();
  in_widest_words(*call.operand(0).type, call.attributes.word("dim"), ranks,
                  [&]<typename Word>(Word, const Parts& parts) {
                    launch(call, grid_for(parts.outer * parts.inner), take_piece_kernel<Word>,
                           reinterpret_cast<const Word*>(call.operand(0).data), index, hop, ranks,
                           parts, reinterpret_cast<Word*>(call.result(0).data));
                  });
}

}  // namespace tessera
