// SPDX-License-Identifier: Apache-2.0
#include "program/pieces.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

struct Piece {
  int64_t offset, element, count;
  bool operator==(const Piece&) const = default;
};

Program program_over(std::vector<Axis> axes) {
  Program program;
  program.mesh = Mesh(std::move(axes));
  return program;
}

std::vector<Piece> pieces(const Program& program, int rank, const TensorType& whole,
                          const Placement& placement, const FlatPlace& place) {
  std::vector<Piece> found;
  for_each_piece(program, rank, whole, placement, place,
                 [&](int64_t offset, int64_t element, int64_t count) {
                   found.push_back({offset, element, count});
                 });
  return found;
}

std::vector<Piece> pieces(const Program& program, int rank, const HostBuffer& input) {
  std::vector<Piece> found;
  for_each_piece(program, rank, input, [&](int64_t offset, int64_t element, int64_t count) {
    found.push_back({offset, element, count});
  });
  return found;
}

void count_elements(const std::vector<Piece>& found, std::vector<int>& holders) {
  for (const Piece& piece : found)
    for (int64_t i = 0; i < piece.count; ++i) ++holders.at(static_cast<size_t>(piece.element + i));
}

TEST(PiecesOfAState, AWholeTensorIsOnePieceAtItsPlaceInTheFlatBuffer) {
  const Program program = program_over({{"dp", 2}});
  const TensorType whole{DType::Fp32, {{"d", 4}, {"mlp", 6}}};
  const FlatPlace place{.lifetime = Lifetime::Persistent, .offset = 256, .begin = 32};
  EXPECT_EQ(pieces(program, 1, whole, {}, place), (std::vector<Piece>{{256 + 32 * 4, 0, 24}}));
}

TEST(PiecesOfAState, AShardHoldsItsPartOfTheFlatBufferAlone) {
  Program program = program_over({{"fsdp", 2}});
  const TensorType whole{DType::Fp32, {{"d", 24}}};
  // Elements 20 to 44 of a flat buffer in two parts of 32: 12 on rank 0, 12 on rank 1.
  const FlatPlace place{.lifetime = Lifetime::Persistent,
                        .offset = 128,
                        .begin = 20,
                        .shard_axes = {0},
                        .shard_elements = 32};
  EXPECT_EQ(pieces(program, 0, whole, {}, place), (std::vector<Piece>{{128 + 20 * 4, 0, 12}}));
  EXPECT_EQ(pieces(program, 1, whole, {}, place), (std::vector<Piece>{{128, 12, 12}}));
}

TEST(PiecesOfAState, EveryElementIsHeldOncePerCopyWhateverTheSharding) {
  Program program = program_over({{"dp", 2}, {"fsdp", 3}, {"tp", 2}});
  const TensorType whole{DType::Fp64, {{"vocab", 7}, {"d", 5}}};
  for (const AxisIds& axes : {AxisIds{1}, AxisIds{0, 1}})
    for (const bool split : {false, true})
      for (const int64_t begin : {0, 8, 61}) {
        const Placement placement{replicate(), replicate(), split ? shard("vocab") : replicate()};
        const FlatPlace place{.lifetime = Lifetime::Persistent,
                              .offset = 64,
                              .begin = begin,
                              .shard_axes = axes,
                              .shard_elements = 32};
        std::vector<int> holders(35, 0);
        for (int rank = 0; rank < program.mesh.num_ranks(); ++rank) {
          const std::vector<Piece> found = pieces(program, rank, whole, placement, place);
          for (const Piece& piece : found) {
            EXPECT_GE(piece.offset, 64);
            EXPECT_LE(piece.offset + piece.count * 8, 64 + 32 * 8);
          }
          count_elements(found, holders);
        }
        const int copies = program.mesh.num_ranks() / program.mesh.size(axes) / (split ? 2 : 1);
        EXPECT_EQ(holders, std::vector<int>(35, copies)) << "begin " << begin;
      }
}

HostBuffer words(int64_t batch, int64_t seq, Placement placement) {
  return {.name = "tokens",
          .type = {DType::Int32, {}},
          .whole = {DType::Int32, {{"batch", batch}, {"seq", seq}}},
          .placement = std::move(placement)};
}

TEST(PiecesOfABatch, DataRanksReadDifferentRows) {
  const Program program = program_over({{"dp", 2}});
  const HostBuffer input = words(4, 8, {shard("batch")});
  EXPECT_EQ(pieces(program, 0, input), (std::vector<Piece>{{0, 0, 16}}));
  EXPECT_EQ(pieces(program, 1, input), (std::vector<Piece>{{0, 16, 16}}));
}

TEST(PiecesOfABatch, ARankOfARingHasAnEarlyAndALateChunk) {
  Program program = program_over({{"cp", 2}});
  program.zigzag = 2;
  const HostBuffer input = words(2, 8, {shard("seq")});
  EXPECT_EQ(pieces(program, 0, input),
            (std::vector<Piece>{{0, 0, 2}, {8, 6, 2}, {16, 8, 2}, {24, 14, 2}}));
  EXPECT_EQ(pieces(program, 1, input),
            (std::vector<Piece>{{0, 2, 2}, {8, 4, 2}, {16, 10, 2}, {24, 12, 2}}));
}

TEST(PiecesOfABatch, ARingCutsTheSequenceWhateverLiesInsideIt) {
  Program program = program_over({{"cp", 2}});
  program.zigzag = 2;
  HostBuffer input = words(1, 4, {shard("seq")});
  input.whole.dims.push_back({"d", 3});
  EXPECT_EQ(pieces(program, 0, input), (std::vector<Piece>{{0, 0, 3}, {12, 9, 3}}));
  EXPECT_EQ(pieces(program, 1, input), (std::vector<Piece>{{0, 3, 3}, {12, 6, 3}}));
}

TEST(PiecesOfABatch, WithoutARingTheSequenceKeepsItsOrder) {
  const Program program = program_over({{"cp", 2}});
  EXPECT_EQ(pieces(program, 1, words(1, 8, {shard("seq")})), (std::vector<Piece>{{0, 4, 4}}));
}

TEST(PiecesOfABatch, AWholeCopyIsPermutedLikeItsShards) {
  Program program = program_over({{"cp", 2}, {"tp", 1}});
  program.zigzag = 2;
  EXPECT_EQ(pieces(program, 1, words(1, 8, {replicate(), replicate()})),
            (std::vector<Piece>{{0, 0, 2}, {8, 6, 2}, {16, 2, 2}, {24, 4, 2}}));
}

TEST(PiecesOfABatch, OverAllRanksEveryWordIsReadOnce) {
  for (const int ring : {2, 3, 4})
    for (const bool inner_dim : {false, true}) {
      Program program = program_over({{"dp", 2}, {"cp", ring}, {"tp", 3}});
      program.zigzag = ring;
      HostBuffer input = words(4, 6 * ring, {shard("batch"), shard("seq"), shard("seq")});
      if (inner_dim) input.whole.dims.push_back({"d", 3});
      const auto elements = static_cast<size_t>(input.whole.num_elements());
      std::vector<int> holders(elements, 0);
      for (int rank = 0; rank < program.mesh.num_ranks(); ++rank)
        count_elements(pieces(program, rank, input), holders);
      EXPECT_EQ(holders, std::vector<int>(elements, 1)) << "ring of " << ring;
    }
}

}  // namespace
}  // namespace tessera
