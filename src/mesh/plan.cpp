// SPDX-License-Identifier: Apache-2.0
#include "mesh/plan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include "core/error.h"
#include "core/nearest_name.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 4> kAxes{"dp", "fsdp", "cp", "tp"};

void require_known_axis(const Axis& axis) {
  if (std::find(kAxes.begin(), kAxes.end(), axis.name) == kAxes.end())
    throw user_error("mesh axis {} is not known", axis.name).help("axes are dp, fsdp, cp and tp");
}

int size_of(const PlanRequest& request, std::string_view axis) {
  for (const Axis& known : request.mesh)
    if (known.name == axis) return known.size;
  return 1;
}

void require_zero_fits(const PlanRequest& request) {
  if (request.zero < 0 || request.zero > 3)
    throw user_error("plan.zero is {}, want 0, 1, 2 or 3", request.zero);
  if (request.zero == 0 && size_of(request, "fsdp") > 1)
    throw user_error("mesh fsdp = {} shards states, but plan.zero = 0 keeps them whole",
                     size_of(request, "fsdp"))
        .help("use plan.zero = 1, 2 or 3, or put the ranks on dp");
}

// Where tp does not divide the key/value heads: the largest common divisor on kv_heads, the rest on
// group.
std::vector<Axis> split_tensor_axis(const PlanRequest& request, int64_t kv_heads) {
  std::vector<Axis> axes;
  for (const Axis& axis : request.mesh) {
    const auto shared =
        static_cast<int>(std::gcd<int64_t>(axis.size, std::max<int64_t>(kv_heads, 1)));
    if (axis.name != "tp" || kv_heads == 0 || shared == axis.size) {
      axes.push_back(axis);
      continue;
    }
    // In this order: a sequence that both split is gathered over tp.kv alone for keys and values.
    axes.push_back({"tp.group", axis.size / shared});
    axes.push_back({"tp.kv", shared});
  }
  return axes;
}

std::vector<std::string> usual_dims(const std::string& axis, bool sequence_parallel) {
  if (axis == "dp" || axis == "fsdp") return {"batch"};
  if (axis == "cp") return {"seq"};
  std::vector<std::string> dims;
  if (axis == "tp") dims = {"kv_heads", "group", "mlp", "vocab"};
  if (axis == "tp.kv") dims = {"kv_heads", "mlp", "vocab"};
  if (axis == "tp.group") dims = {"group", "mlp", "vocab"};
  if (sequence_parallel) dims.emplace_back("seq");
  return dims;
}

}  // namespace

const std::vector<std::string>& Plan::dims_of(int axis, std::string_view op, bool& own) const {
  own = false;
  for (const OwnDims& entry : own_dims)
    if (entry.axis == axis && entry.op == op) {
      own = true;
      return entry.dims;
    }
  return dims[static_cast<size_t>(axis)];
}

Plan make_plan(const PlanRequest& request, const PlanSizes& sizes) {
  for (const Axis& axis : request.mesh) require_known_axis(axis);
  require_zero_fits(request);
  Plan plan{.mesh = Mesh(split_tensor_axis(request, sizes.kv_heads)),
            .dims = {},
            .own_dims = {},
            .zero = request.zero,
            .shard_axis = -1,
            .zigzag = 1,
            .reduce_dtype = request.reduce_dtype};
  for (const Axis& axis : plan.mesh.axes()) {
    plan.dims.push_back(usual_dims(axis.name, request.sequence_parallel));
    for (const auto& [name, dims] : request.dims)
      if (name == axis.name) plan.dims.back() = dims;
  }
  for (const auto& [name, dims] : request.dims)
    if (plan.mesh.find(name) < 0)
      throw user_error("plan.dims names axis {}, which the mesh does not have", name);
  const int cp = plan.mesh.find("cp");
  if (cp >= 0 && plan.mesh.size(cp) > 1) {
    if (request.context == ContextKind::Ulysses)
      for (const char* op : {"attention", "attention_grad"})
        plan.own_dims.push_back({.op = op, .axis = cp, .dims = {"kv_heads"}});
    else
      plan.zigzag = plan.mesh.size(cp);
  }
  if (request.zero > 0) {
    const int fsdp = plan.mesh.find("fsdp"), dp = plan.mesh.find("dp");
    plan.shard_axis = fsdp >= 0 && plan.mesh.size(fsdp) > 1 ? fsdp : dp;
    if (plan.shard_axis >= 0 && plan.mesh.size(plan.shard_axis) == 1) plan.shard_axis = -1;
  }
  return plan;
}

std::vector<Axis> parse_mesh(std::string_view text) {
  std::vector<Axis> axes;
  const auto fail = [&] {
    throw user_error("mesh {} is not a list of axis=size", text).help("write it as dp=2,tp=2");
  };
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(','), rest.size());
    const std::string_view entry = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos) fail();
    Axis axis{std::string(entry.substr(0, equals)), 0};
    const std::string_view number = entry.substr(equals + 1);
    const auto [last, error] =
        std::from_chars(number.data(), number.data() + number.size(), axis.size);
    if (error != std::errc() || last != number.data() + number.size()) fail();
    axes.push_back(std::move(axis));
  }
  return axes;
}

}  // namespace tessera
