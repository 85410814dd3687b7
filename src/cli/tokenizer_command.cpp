// SPDX-License-Identifier: Apache-2.0
// tessera tokenizer: shows a tokenizer.json; converts text to tokens and back.
#include <charconv>
#include <iostream>
#include <iterator>
#include <memory>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "core/error.h"
#include "files/json.h"
#include "files/mapped_file.h"
#include "tokenizer/encoder.h"
#include "tokenizer/tokenizer_file.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  tessera tokenizer train books --vocab 32000 --out tokenizer.json\n"
    "  tessera tokenizer show gpt2/tokenizer.json\n"
    "  echo -n 'Hello world' | tessera tokenizer encode gpt2/tokenizer.json\n"
    "  tessera tokenizer encode llama3 notes.txt --around | tessera tokenizer decode llama3";

struct TokenizerCommand {
  std::string tokenizer, file = "-";
  bool around = false, json = false;
};

std::string read_input(const std::string& file) {
  if (file == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  const MappedFile mapped(file);
  return {reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size()};
}

void show(const TokenizerCommand& command) {
  const Tokenizer tokenizer = read_tokenizer(command.tokenizer);
  const TokenizerSpec& spec = tokenizer.spec();
  std::vector<std::string> rules;
  Json added = Json::array();
  for (const SplitStep& step : spec.steps)
    if (!step.pattern.empty()) rules.push_back(step.pattern);
  for (const AddedToken& token : spec.added)
    added.push_back({{"id", token.id}, {"text", token.text}});
  const std::optional<int32_t> end = tokenizer.document_end();
  if (command.json) {
    const Json json{{"vocabulary", tokenizer.vocabulary_size()},
                    {"merges", spec.merges.size()},
                    {"ignore_merges", spec.ignore_merges},
                    {"nfc", spec.composes},
                    {"rules", rules},
                    {"document_end", end},
                    {"results", added}};
    print_json(json);
    return;
  }
  fmt::print("vocabulary    {}\n", tokenizer.vocabulary_size());
  fmt::print("merges        {}{}\n", spec.merges.size(),
             spec.ignore_merges ? ", skipped for a word that is itself a token" : "");
  fmt::print("normal form   {}\n", spec.composes ? "NFC" : "as given");
  for (const std::string& rule : rules) fmt::print("split by      {}\n", rule);
  fmt::print("document end  {}\n",
             end ? fmt::format("{} {}", *end, tokenizer.bytes_of(*end)) : "none");
  for (const AddedToken& token : spec.added)
    fmt::print("{:<13} {} {}\n", token.special ? "special" : "added", token.id, token.text);
}

void encode(const TokenizerCommand& command) {
  const Tokenizer tokenizer = read_tokenizer(command.tokenizer);
  const std::string text = read_input(command.file);
  std::vector<int32_t> ids;
  if (command.around) ids = tokenizer.spec().before;
  Encoder(tokenizer).encode(text, ids);
  if (command.around)
    ids.insert(ids.end(), tokenizer.spec().after.begin(), tokenizer.spec().after.end());
  if (command.json)
    print_json({{"tokens", ids}});
  else
    fmt::print("{}\n", fmt::join(ids, " "));
}

void decode(const TokenizerCommand& command) {
  const Tokenizer tokenizer = read_tokenizer(command.tokenizer);
  const std::string text = read_input(command.file);
  const char* const end = text.data() + text.size();
  std::vector<int32_t> ids;
  for (const char* at = text.data();;) {
    while (at < end && std::isspace(static_cast<unsigned char>(*at))) ++at;
    if (at == end) break;
    int32_t id = -1;
    const auto [rest, error] = std::from_chars(at, end, id);
    if (error != std::errc{} || id < 0 || id >= tokenizer.vocabulary_size())
      throw user_error("number {} is not a token from 0 to {}", ids.size() + 1,
                       tokenizer.vocabulary_size() - 1)
          .at(command.file == "-" ? "standard input" : command.file)
          .help("give token numbers separated by spaces, as tokenizer encode prints them");
    ids.push_back(id);
    at = rest;
  }
  const std::string bytes = tokenizer.decode(ids);
  if (command.json)  // part of a character becomes U+FFFD
    print_json({{"text", bytes}});
  else
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
}

Command add(Command parent, const char* name, const char* what,
            void (*run)(const TokenizerCommand&),
            const std::shared_ptr<TokenizerCommand>& command) {
  const Command app = parent.add_subcommand(name, what);
  app.footer(kFooter);
  app.add_option("tokenizer", command->tokenizer, "a tokenizer.json, or a folder with one")
      .required();
  app.on_run([command, run] { run(*command); });
  return app;
}

}  // namespace

void add_tokenizer_command(Command app) {
  auto command = std::make_shared<TokenizerCommand>();
  const Command tokenizer =
      app.add_subcommand("tokenizer", "convert text to tokens and back, or train a tokenizer");
  tokenizer.footer(kFooter);
  tokenizer.require_subcommand();
  add_tokenizer_train(tokenizer);
  const Command shown = add(tokenizer, "show", "show the parts of a tokenizer", show, command);
  add_json_flag(shown, command->json);
  const Command encoded = add(tokenizer, "encode", "text to token numbers", encode, command);
  encoded.add_option("file", command->file, "text; -: standard input");
  encoded.add_flag("--around", command->around,
                   "also print the special tokens that the tokenizer puts around a text");
  add_json_flag(encoded, command->json);
  const Command decoded = add(tokenizer, "decode", "token numbers to text", decode, command);
  decoded.add_option("file", command->file, "token numbers; -: standard input");
  add_json_flag(decoded, command->json);
}

}  // namespace tessera
