// SPDX-License-Identifier: Apache-2.0
#include "ops/testing/evaluate_graph.h"

#include "compiler/translate_node.h"
#include "exec/cpu/cpu_executor.h"
#include "ir/emit.h"

namespace tessera {

HostTensors evaluate_graph(const Graph& graph, HostTensors inputs, int threads, const Mesh& mesh,
                           RankWorld* world) {
  HostTensors values = std::move(inputs);
  for (const GraphInput& input : graph.inputs()) {
    const Value& value = graph.value(input.value);
    const auto given = values.find(value.name);
    TESSERA_CHECK(given != values.end(), "input %{} is not given", value.name);
    TESSERA_CHECK(given->second.type() == value.type, "input %{} is {}, not {}", value.name,
                  to_string(given->second.type()), to_string(value.type));
  }
  std::vector<Group> groups;
  add_groups(graph, mesh, groups);
  const RankGroups communicators(mesh, groups, world);
  InstructionRunner runner(communicators, memory_mover());
  ThreadPool pool(threads);
  for (const Node& node : graph.nodes()) {
    std::vector<TensorRef> operands, results;
    for (const ValueId id : node.operands)
      operands.push_back(values.at(graph.value(id).name).ref());
    for (const ValueId id : node.results) {
      const Value& value = graph.value(id);
      results.push_back(
          values.insert_or_assign(value.name, HostTensor(value.type)).first->second.ref());
    }
    const OpDef& def = op_def(node.op);
    const auto operand_types = types_of(graph, node.operands);
    const auto result_types = types_of(graph, node.results);
    const OpCall call{.op = node.op,
                      .attributes = node.attributes,
                      .operands = operand_types,
                      .results = result_types};
    GuardedBuffer workspace(
        def.workspace_bytes ? def.workspace_bytes(call, DeviceProfile{.threads = threads}) : 0);
    run_instruction(translate_node(node, operand_types, groups), kNone,
                    {.operands = operands, .results = results, .workspace = workspace.bytes()},
                    runner, pool);
    TESSERA_CHECK(workspace.guards_intact(), "{} wrote outside its workspace", def.name);
    for (const ValueId id : node.results)
      TESSERA_CHECK(values.at(graph.value(id).name).guards_intact(), "{} wrote outside %{}",
                    def.name, graph.value(id).name);
  }
  return values;
}

}  // namespace tessera
