// SPDX-License-Identifier: Apache-2.0
// tessera islands: what islands that are jobs of their own need: a hub, and keys.
#include <filesystem>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "core/error.h"
#include "islands/hub/curve_keys.h"
#include "islands/hub/message.h"
#include "islands/hub/serve_hub.h"
#include "islands/hub/zmq_socket.h"
#include "system/say.h"
#include "system/stop_signal.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  tessera islands keys --islands 3 --out keys       a pair for the hub and for each island\n"
    "  tessera islands hub --listen tcp://10.0.0.1:5555 --keys keys --out out/hub\n"
    "  tessera train --mesh island=3,dp=2 --set islands.hub=tcp://10.0.0.1:5555 \\\n"
    "    --set islands.index=0 --set islands.keys=keys --out out/island-0\n"
    "Every subcommand has --help; how islands work: docs/islands.md.";

constexpr const char* kHubFooter =
    "Needs no model: sizes and settings come from the first island, and islands with others are\n"
    "refused. --out keeps the outer weights: the hub may be killed and started again with the "
    "same\n"
    "--out, while the islands go on alone. Without --keys it listens to this machine alone.\n"
    "Examples:\n"
    "  tessera islands hub --out out/hub\n"
    "  tessera islands hub --listen 'tcp://*:5555' --keys keys --out out/hub --patience 120";

constexpr const char* kKeysFooter =
    "The hub needs hub.key and every island-N.public; island N needs its island-N.key and\n"
    "hub.public, and no other .key file. Whoever has an island's .key can change the weights.\n"
    "Example:\n"
    "  tessera islands keys --islands 3 --out keys";

struct KeysCommand {
  int islands = 2;
  std::string out;
};

void make_keys(const KeysCommand& command) {
  write_curve_keys(command.out, command.islands, make_curve_pair);
  fmt::print("wrote keys of the hub and {} island{} to {}\n", command.islands,
             command.islands == 1 ? "" : "s", command.out);
}

void run_hub(const ServeHubOptions& options) {
  const StopSignal stop;
  serve_hub(
      options, [](const std::string& sentence) { say(stderr, "hub: {}\n", sentence); },
      [&] { return stop.requested(); });
}

void add_keys_command(Command islands) {
  auto command = std::make_shared<KeysCommand>();
  const Command keys = islands.add_subcommand("keys", "make keys for a hub and its islands");
  keys.footer(kKeysFooter);
  keys.add_option("--islands", command->islands, "islands, numbered from 0")
      .range(1, kMostIslands)
      .type_name("N")
      .show_default();
  keys.add_option("--out", command->out, "folder to write them to").type_name("FOLDER").required();
  keys.on_run([command] { make_keys(*command); });
}

void add_hub_command(Command islands) {
  auto options = std::make_shared<ServeHubOptions>();
  auto out = std::make_shared<std::string>();
  const Command hub = islands.add_subcommand("hub", "bring the changes of all islands together");
  hub.footer(kHubFooter);
  hub.add_option("--listen", options->listen, "where to listen: tcp://ADDRESS:PORT")
      .type_name("ADDRESS")
      .show_default();
  hub.add_option("--keys", options->keys, "folder of `tessera islands keys`").type_name("FOLDER");
  hub.add_option("--out", *out, "folder for the outer weights, events.jsonl and rounds.jsonl")
      .type_name("FOLDER")
      .required();
  hub.add_option("--patience", options->hub.patience_seconds,
                 "seconds that an exchange waits for the other islands after its first change")
      .range(0.1, 1e6)
      .type_name("SECONDS")
      .show_default();
  hub.add_option("--silence", options->hub.silence_seconds,
                 "seconds after which an island that is not heard counts as gone")
      .range(1.0, 1e6)
      .type_name("SECONDS")
      .show_default();
  hub.add_flag("--until-all-left", options->until_all_left,
               "end once islands were there and all have left");
  hub.on_run([options, out] {
    options->out = *out;
    run_hub(*options);
  });
}

}  // namespace

void add_islands_command(Command app) {
  const Command islands =
      app.add_subcommand("islands", "a hub and keys for islands that are jobs of their own");
  islands.require_subcommand();
  islands.footer(kFooter);
  add_hub_command(islands);
  add_keys_command(islands);
}

}  // namespace tessera
