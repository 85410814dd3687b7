// SPDX-License-Identifier: Apache-2.0
// A plan: the mesh, the dims that each axis may split, and how states rest. Every node splits, for
// each axis, the first dim of the axis's list that it has.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/narrow_floats.h"
#include "mesh/mesh.h"
#include "mesh/offload.h"
#include "mesh/placement.h"
#include "mesh/plan_config.h"

namespace tessera {

// What the backward recomputes instead of keeping it. Cheap: norms and activations, that is what no
// matmul, attention or collective makes. Attention: its results and what leads to them from the
// projections. KeepAttention: all of a block but attention's results, which cost the square of the
// sequence. Blocks: all but the residual stream between every `every` blocks. Values: the `values`
// cheapest per byte. Fit: just enough of those, or all blocks, to fit a rank's memory.
enum class RecomputeKind : uint8_t { None, Cheap, Attention, KeepAttention, Blocks, Values, Fit };
struct Recompute {
  RecomputeKind kind = RecomputeKind::None;
  int every = 1;            // blocks; 0: the square root of a stage's
  int values = 0;           // of all block classes together
  bool below_link = false;  // of values: those that cost less than their copies would, unhidden
};

// How the layers' matmuls are done in 8 bits.
struct Fp8Plan {
  Fp8 gradients = Fp8::E5m2;  // values and weights are e4m3
  bool blocks = false;        // scaled by tiles and blocks of 128, not by tensor
  bool at_use = false;        // weights are quantised where they are read, not once for a step
  // Sums keep about 14 bits on the way, on a GPU: in the forward, and in the backward too.
  bool fast_forward = true, fast_backward = false;
};

// What a user writes in [mesh] and [plan].
struct PlanRequest {
  std::vector<Axis> mesh;        // of the axes in mesh/axes.h, in the user's order
  std::optional<int> zero = {};  // nothing: 3 where the mesh has fsdp, else 0
  // Of dp, fsdp, ep and cp, over which states at rest are sharded; empty: fsdp, or else dp, and ep.
  std::vector<std::string> shard_axes = {};
  std::vector<std::string> experts = {"ep"};  // axes that split experts: of ep, cp and tp
  DispatchKind dispatch = DispatchKind::Gather;
  bool sequence_parallel = false;
  TpOverlap tp_overlap = TpOverlap::Off;
  ContextKind context = ContextKind::Ring;
  std::optional<DType> reduce_dtype = {};
  // Own lists of dims, by axis, instead of the usual ones.
  std::vector<std::pair<std::string, std::vector<std::string>>> dims = {};
  std::string schedule = "1f1b";
  std::string actions = {};  // CSV file of a custom schedule
  int chunks = 0;            // stages of one rank; 0: as few as the schedule takes
  Recompute recompute = {};
  std::vector<int> blocks_per_stage = {};  // empty: cut by cost
  Offload offload = {};
};

struct Plan {
  Mesh mesh;
  std::vector<std::vector<std::string>> dims;  // by axis
  // One op's own list for one axis; it splits inside what the other axes leave.
  struct OwnDims {
    std::string op;
    int axis;
    std::vector<std::string> dims;
  };
  std::vector<OwnDims> own_dims;
  int zero = 0;
  AxisIds shard_axes = {};  // over which states at rest are sharded; empty: none
  int zigzag = 1;  // ranks of a ring: the sequence is cut into twice as many chunks, and rank r
                   // has chunks r and 2 n - 1 - r
  std::optional<DType> reduce_dtype;
  TpOverlap tp_overlap = TpOverlap::Off;
  int pipeline_axis = -1;  // that the blocks are cut over; -1: none
  std::string schedule = "1f1b";
  std::string actions = {};  // this and what follows as in the request
  int chunks = 0;
  Recompute recompute = {};
  std::vector<int> blocks_per_stage = {};
  Offload offload = {};
  // Rows of a rank's pool of experts, as a factor of the mean; infinity: as many as could come.
  double expert_room = std::numeric_limits<double>::infinity();
  std::optional<Fp8Plan> fp8 = {};  // matmuls of layers read 8-bit floats
  PlanConfig keys = {};             // as they were given, for passes that take one as it is

  int pipeline_ranks() const { return pipeline_axis < 0 ? 1 : mesh.size(pipeline_axis); }
  bool single() const { return mesh.num_ranks() == 1; }
  // The dims that `axis` may split in `op`, in order of preference; `own` tells if they are the
  // op's own.
  const std::vector<std::string>& dims_of(int axis, std::string_view op, bool& own) const;
};

// Sizes that the plan must fit; 0: the model has no such dim.
struct PlanSizes {
  int64_t kv_heads = 0;
  int64_t heads = 0;    // query heads
  int64_t experts = 0;  // of a layer
  int64_t top_k = 0;    // of these, that a token chooses
};

// Checks the request and fills in the usual lists. Where there are fewer key/value heads than
// tensor-parallel ranks the axis is split in two: kv_heads takes one part, group the other.
Plan make_plan(const PlanRequest& request, const PlanSizes& sizes);

// What states are sharded over unless a request says otherwise: fsdp, else dp, and ep; empty where
// none has several ranks.
AxisIds usual_shard_axes(const Mesh& mesh);
// What was asked for, or else 3 where fsdp has several ranks and 0 where it has not.
int zero_level(const std::optional<int>& asked, const Mesh& mesh);

// "fsdp,cp" or "ep+tp" as names of axes.
std::vector<std::string> parse_axis_list(std::string_view text);
// "dp=2,tp=2" as axes.
std::vector<Axis> parse_mesh(std::string_view text);

}  // namespace tessera
