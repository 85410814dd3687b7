// SPDX-License-Identifier: Apache-2.0
#include "data/tokenize_corpus.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "core/error.h"
#include "data/token_shard.h"
#include "data/token_text.h"
#include "files/atomic_file.h"
#include "files/digest.h"
#include "files/folder.h"
#include "files/json.h"
#include "files/mapped_file.h"
#include "system/threads.h"
#include "tokenizer/corpus.h"
#include "tokenizer/encoder.h"
#include "tokenizer/tokenizer_file.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// Parts [begin, end) of the corpus make one shard.
struct ShardPlan {
  size_t begin = 0, end = 0;
  int64_t bytes = 0;
};

std::vector<ShardPlan> plan_shards(const Corpus& corpus, int64_t shard_bytes) {
  std::vector<ShardPlan> plans;
  for (size_t i = 0; i < corpus.parts().size(); ++i) {
    const CorpusPart& part = corpus.parts()[i];
    if (plans.empty() || plans.back().bytes >= shard_bytes) plans.push_back({i, i, 0});
    plans.back().end = i + 1;
    plans.back().bytes += part.end - part.begin;
  }
  return plans;
}

int32_t end_of(const Tokenizer& tokenizer, const std::string& name) {
  const auto id = name.empty() ? tokenizer.document_end() : tokenizer.find_added(name);
  if (id) return *id;
  std::string known;
  for (const AddedToken& token : tokenizer.spec().added)
    if (known.size() < 200) known += (known.empty() ? "" : ", ") + token.text;
  if (name.empty())
    throw UserError("the tokenizer has no known token that ends documents")
        .help(fmt::format("name one with --end: {}", known.empty() ? "(it has none)" : known));
  throw user_error("the tokenizer has no added token {}", name)
      .help(fmt::format("use one of: {}", known));
}

// Everything that the shards depend on, as text.
std::string origin_json(const TokenizeOptions& options, const Corpus& corpus, int32_t end,
                        const MappedFile& tokenizer) {
  Json json{{"tokenizer", digest_of(tokenizer.bytes())},
            {"document_end", end},
            {"around", options.around},
            {"shard_bytes", options.shard_bytes}};
  for (const fs::path& file : corpus.files()) {
    std::error_code ignored;
    json["files"].push_back(
        {{"path", file.string()},
         {"bytes", fs::file_size(file, ignored)},
         {"changed", fs::last_write_time(file, ignored).time_since_epoch().count()}});
  }
  return sorted(json).dump(1) + "\n";
}

// Creates the folder, with its origin and the tokenizer, or checks that it has the same origin.
void prepare_folder(const fs::path& folder, const std::string& origin,
                    const MappedFile& tokenizer) {
  const fs::path file = folder / "tokens.json";
  std::error_code error;
  if (fs::exists(file, error)) {
    const MappedFile old(file);
    const std::string_view text(reinterpret_cast<const char*>(old.bytes().data()),
                                old.bytes().size());
    if (text != origin)
      throw user_error("{} holds tokens of other texts, another tokenizer or other settings",
                       folder.string())
          .help("use another folder, or remove this one");
    return;
  }
  make_folder(folder);
  keep_tokenizer(tokenizer.path(), folder);
  write_file_atomically(file, origin);
}

// Tokens of a shard that exists and is complete; 0: there is none.
int64_t tokens_there(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return 0;
  try {
    return TokenShard(path).num_tokens();
  } catch (const UserError&) {
    return 0;  // damaged: written again
  }
}

}  // namespace

TokenizeResult tokenize_corpus(const TokenizeOptions& options) {
  const Tokenizer tokenizer = read_tokenizer(options.tokenizer);
  const MappedFile file(tokenizer_file_of(options.tokenizer));
  const TokenizerSpec& spec = tokenizer.spec();
  const bool spaced = std::any_of(spec.steps.begin(), spec.steps.end(),
                                  [](const SplitStep& step) { return step.prefix_space; });
  const Corpus corpus(options.paths, {.cuts_documents = !spaced && !options.around});
  const int32_t end = end_of(tokenizer, options.document_end);
  prepare_folder(options.out, origin_json(options, corpus, end, file), file);
  const std::vector<ShardPlan> plans = plan_shards(corpus, options.shard_bytes);
  TokenizeResult result{.bytes = corpus.bytes(),
                        .shards = static_cast<int64_t>(plans.size()),
                        .vocabulary = tokenizer.vocabulary_size(),
                        .document_end = end};
  std::vector<std::unique_ptr<Encoder>> encoders;
  for (int i = 0; i < threads_or_cores(options.threads); ++i)
    encoders.push_back(std::make_unique<Encoder>(tokenizer));
  std::mutex mutex;
  int64_t done = 0;
  const auto advance = [&](int64_t bytes) {
    const std::lock_guard lock(mutex);
    options.progress(done += bytes, corpus.bytes());
  };
  run_parts(plans.size(), options.threads, [&](size_t index, size_t thread) {
    const fs::path path = options.out / fmt::format("tokens_{:06}.bin", index);
    int64_t tokens = tokens_there(path);
    const bool kept = tokens > 0;
    if (kept) {
      advance(plans[index].bytes);
    } else {
      std::vector<int32_t> ids;
      for (size_t i = plans[index].begin; i < plans[index].end; ++i) {
        const CorpusPart& part = corpus.parts()[i];
        corpus.read(part, [&](std::string_view text, bool ends) {
          if (text.empty()) return;
          if (options.around) ids.insert(ids.end(), spec.before.begin(), spec.before.end());
          encoders[thread]->encode(text, ids);
          if (options.around) ids.insert(ids.end(), spec.after.begin(), spec.after.end());
          if (ends) ids.push_back(end);
        });
        advance(part.end - part.begin);
      }
      tokens = static_cast<int64_t>(ids.size());
      if (tokens > 0) write_token_shard(path, ids, tokenizer.vocabulary_size());
    }
    const std::lock_guard lock(mutex);
    result.tokens += tokens;
    result.kept_shards += kept ? 1 : 0;
  });
  return result;
}

}  // namespace tessera
