// SPDX-License-Identifier: Apache-2.0
// The question `neighbours`: what a run would cost if a prime factor of its ranks moved from one
// axis of the mesh to another.
#include <algorithm>
#include <atomic>

#include "mesh/axes.h"
#include "mesh/axis_sizes.h"
#include "studio/asked_run.h"
#include "studio/kinds.h"
#include "studio/question_fields.h"
#include "studio/simulated_step.h"
#include "system/threads.h"

namespace tessera {
namespace {

constexpr int kNeighbourThreads = 2;

int smallest_prime(int number) {
  for (int prime = 2; prime * prime <= number; ++prime)
    if (number % prime == 0) return prime;
  return number;
}

std::vector<Axis>::iterator find_axis_in(std::vector<Axis>& mesh, std::string_view name) {
  return std::ranges::find(mesh, name, &Axis::name);
}

// Where the mesh lacks the axis, it goes before those that come later in the table.
Axis& axis_in(std::vector<Axis>& mesh, const AxisRow& row) {
  const auto found = find_axis_in(mesh, row.name);
  if (found != mesh.end()) return *found;
  const auto later = std::ranges::find_if(
      mesh, [&](const Axis& axis) { return find_axis(axis.name)->axis > row.axis; });
  return *mesh.insert(later, {std::string(row.name), 1});
}

struct Move {
  const AxisRow* axis;
  bool up;         // to the axis, from the other one
  int factor = 1;  // 1: there is none to move
  std::string mesh = {};
};

// The same ranks with a factor moved between the axes.
Move make_move(std::vector<Axis> mesh, const AxisRow& axis, const AxisRow& other, bool up) {
  Move move{.axis = &axis, .up = up};
  const AxisRow &giver = up ? other : axis, &taker = up ? axis : other;
  move.factor = smallest_prime(axis_in(mesh, giver).size);
  if (move.factor == 1) return move;
  axis_in(mesh, giver).size /= move.factor;
  axis_in(mesh, taker).size *= move.factor;
  std::erase_if(mesh, [](const Axis& each) { return each.size == 1; });
  move.mesh = mesh.empty() ? "dp=1" : to_string(Mesh(mesh));
  return move;
}

// A refusal for another reason says also that tp would leave the node.
void add_node(Json& error, const AskedRun& run, const Move& move) {
  const Level& node = run.cluster.levels.front();
  const int tp = sizes_of(parse_mesh(move.mesh))[AxisKind::Tp];
  if (run.cluster.device.cores > 0 || tp <= node.ranks) return;
  const Json* help = error.find("help");
  error["help"] = fmt::format("{}tp={} would also leave the {} of {} ranks",
                              help && !help->text()->empty() ? *help->text() + ". " : "", tp,
                              node.name, node.ranks);
}

Json price_of(const AskedRun& run, const Move& move) {
  Json json{{"factor", move.factor}, {"mesh", move.mesh}};
  try {
    const AskedRun moved = run.with_mesh_text(move.mesh);
    const SimulatedStep step =
        simulate_step(moved.config, moved.cluster, spec_to_simulate(moved.cluster, moved.config),
                      {.check = false});
    json["step_seconds"] = step.simulation.step_seconds;
    json["mfu"] = step.simulation.mfu;
    json["peak_bytes"] = step.simulation.peak_bytes;
    json["fits"] = step.fits();
  } catch (const UserError& error) {
    json["error"] = *error_json(error).find("error");
    add_node(json["error"], run, move);
  }
  return json;
}

// fsdp, else dp, where the mesh has one of them.
const AxisRow& other_axis(const Question& question, const AskedRun& run) {
  if (const auto named = find_text(question.fields, "from")) {
    if (const AxisRow* row = find_axis(*named); row && row->name == *named) return *row;
    throw user_error("there is no mesh axis {}", *named)
        .at("from")
        .help("use one of the axes of a mesh, such as fsdp");
  }
  std::vector<Axis> mesh = run.config.mesh;
  for (const std::string_view name : {"fsdp", "dp"})
    if (find_axis_in(mesh, name) != mesh.end()) return *find_axis(name);
  return *find_axis("fsdp");
}

}  // namespace

Answer answer_neighbours(const Question& question) {
  require_known_fields(question.fields, {"run", "from"});
  const AskedRun run = asked_run(question);
  const AxisRow& other = other_axis(question, run);
  std::vector<Move> moves;
  for (const AxisRow& row : kAxes)
    if (row.axis != other.axis && !row.apart)
      for (const bool up : {true, false})
        moves.push_back(make_move(run.config.mesh, row, other, up));
  std::vector<Json> prices(moves.size());
  std::atomic<bool> unheard = false;  // nobody waits for the prices any more
  run_parts(moves.size(), kNeighbourThreads, [&](size_t i, size_t thread) {
    if (thread == 0 && question.tell && !question.tell({})) unheard = true;
    if (!unheard && moves[i].factor > 1) prices[i] = price_of(run, moves[i]);
  });
  Json axes = Json::array();
  for (size_t i = 0; i < moves.size(); i += 2)
    axes.push_back({{"axis", moves[i].axis->name},
                    {"up", std::move(prices[i])},
                    {"down", std::move(prices[i + 1])}});
  return {{{"from", other.name}, {"axes", axes}}};
}

}  // namespace tessera
