// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer_file.h"

#include "core/error.h"
#include "files/json.h"
#include "files/mapped_file.h"
#include "tokenizer/vocabulary_json.h"

namespace tessera {
namespace {

constexpr int64_t kMaxFileBytes = 256 << 20;
constexpr int kMaxDepth = 16;
constexpr size_t kMaxSteps = 16;

// The objects of a part: those of a Sequence, the part itself, or none.
std::vector<const Json*> steps_of(const Json& file, const char* part, const char* list) {
  const Json* whole = find_field(file, part);
  if (!whole) return {};
  if (text_field(*whole, "type") != "Sequence") return {whole};
  std::vector<const Json*> steps;
  for (const Json& step : list_field(*whole, list)) steps.push_back(&step);
  if (steps.size() > kMaxSteps)
    throw user_error("{} has {} steps, but at most {} are supported", part, steps.size(), kMaxSteps)
        .help("use a tokenizer with fewer steps");
  return steps;
}

[[noreturn]] void refuse(const char* part, const std::string& type, const char* known) {
  throw user_error("{} is of type {}, which is not supported", part, type)
      .help(fmt::format("supported types: {}", known));
}

SplitStep read_split(const Json& json) {
  SplitStep step;
  const Json& pattern = object_field(json, "pattern");
  step.literal = pattern.find("String") != nullptr;
  step.pattern = text_field(pattern, step.literal ? "String" : "Regex");
  if (step.pattern.empty())
    throw UserError("a Split has an empty pattern").help("give it a pattern, or leave it out");
  const std::string behavior = text_field(json, "behavior");
  const bool inverted = flag_field(json, "invert", false);
  if (behavior == "Removed")
    (inverted ? step.keeps_rest : step.keeps_matches) = false;
  else if (behavior != "Isolated")
    refuse("the behavior of a Split", behavior, "Isolated, Removed");
  return step;
}

void read_pre_tokenizer(const Json& file, TokenizerSpec& spec) {
  bool byte_level = false;
  for (const Json* json : steps_of(file, "pre_tokenizer", "pretokenizers")) {
    const std::string type = text_field(*json, "type");
    if (type == "Split") {
      if (byte_level)
        throw UserError("a Split comes after ByteLevel, where text is bytes")
            .help("put ByteLevel last");
      spec.steps.push_back(read_split(*json));
    } else if (type == "ByteLevel") {
      byte_level = true;
      spec.steps.push_back({.pattern = flag_field(*json, "use_regex", true) ? kGpt2Rule : "",
                            .prefix_space = flag_field(*json, "add_prefix_space", true)});
    } else {
      refuse("pre_tokenizer", type, "ByteLevel, Split, Sequence");
    }
  }
  if (!byte_level)
    throw UserError("pre_tokenizer has no ByteLevel")
        .help("only byte-level BPE is supported, as GPT-2, Llama 3 and Qwen use it");
}

void read_normalizer(const Json& file, TokenizerSpec& spec) {
  for (const Json* json : steps_of(file, "normalizer", "normalizers")) {
    const std::string type = text_field(*json, "type");
    if (type != "NFC") refuse("normalizer", type, "NFC");
    spec.composes = true;
  }
}

void read_template(const Json& json, TokenizerSpec& spec) {
  bool after = false;
  for (const Json& item : list_field(json, "single")) {
    if (item.find("Sequence")) {
      after = true;
      continue;
    }
    const std::string name = text_field(object_field(item, "SpecialToken"), "id");
    const Json& token = object_field(object_field(json, "special_tokens"), name);
    for (const Json& id : list_field(token, "ids"))
      (after ? spec.after : spec.before).push_back(token_id(id, name));
  }
}

void read_post_processor(const Json& file, TokenizerSpec& spec) {
  for (const Json* json : steps_of(file, "post_processor", "processors")) {
    const std::string type = text_field(*json, "type");
    if (type == "TemplateProcessing")
      read_template(*json, spec);
    else if (type != "ByteLevel")  // ByteLevel only moves offsets
      refuse("post_processor", type, "ByteLevel, TemplateProcessing, Sequence");
  }
}

void read_decoder(const Json& file) {
  for (const Json* json : steps_of(file, "decoder", "decoders"))
    if (text_field(*json, "type") != "ByteLevel")
      refuse("decoder", text_field(*json, "type"), "ByteLevel");
}

TokenizerSpec read_all(const Json& file) {
  TokenizerSpec spec;
  read_vocabulary(file, spec);
  read_added_tokens(file, spec);
  read_normalizer(file, spec);
  read_pre_tokenizer(file, spec);
  read_post_processor(file, spec);
  read_decoder(file);
  return spec;
}

}  // namespace

Tokenizer parse_tokenizer(std::string_view text, const std::string& origin) {
  Json file;
  if (static_cast<int64_t>(text.size()) > kMaxFileBytes)
    throw user_error("{} has {} bytes, but at most {} are supported", origin, text.size(),
                     kMaxFileBytes)
        .help("give a tokenizer.json");
  const std::string wrong = parse_json(text, kMaxDepth, file);
  if (!wrong.empty() || !file.is_object())
    throw user_error("{} {}", origin, wrong.empty() ? "is not a JSON object" : wrong)
        .help("give a tokenizer.json, as the tokenizers library writes it");
  try {
    return Tokenizer(read_all(file));
  } catch (const UserError& error) {
    throw UserError(error.message()).at(origin).help(error.advice());
  }
}

std::filesystem::path tokenizer_file_of(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) ? path / "tokenizer.json" : path;
}

Tokenizer read_tokenizer(const std::filesystem::path& path) {
  const MappedFile file(tokenizer_file_of(path));
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  return parse_tokenizer(text, file.path().string());
}

}  // namespace tessera
