// SPDX-License-Identifier: Apache-2.0
// The keys of [data].
#include "config/config_fields.h"

namespace tessera {
namespace {

// How text and conversations become tokens.
std::vector<ConfigField> encoding_fields(DataConfig& d) {
  return {
      {"data.chat_template",
       &d.chat_template,
       {},
       "of conversations: a file with a Jinja template, plain or marked; empty: the one next to "
       "the "
       "tokenizer, else plain"},
      {"data.chat_roles",
       &d.chat_roles,
       {},
       "of conversations: roles whose turns are learned, with commas"},
      {"data.tokenizer",
       &d.tokenizer,
       {},
       "tokenizer.json: makes tokens of text ahead of the step, and decodes samples; empty: text "
       "as bytes, and the one next to the shards, if any"},
      {"data.end",
       &d.end,
       {},
       "the added token that ends documents where tokens are made; empty: the tokenizer's own"},
      {"data.cache",
       &d.cache,
       {},
       "folder that keeps tokens made from text, for later runs as well"},
      {"data.ahead", &d.ahead, kPositive, "tokens that are made ahead of the step"},
      {"data.threads", &d.threads, Bounds{1, 1024},
       "threads that make tokens, ahead of the step or of conversations before it"},
  };
}

}  // namespace

std::vector<ConfigField> data_fields(DataConfig& d) {
  std::vector<ConfigField> fields{
      {"data.source", byte_of(d.source), choices(kDataSources),
       "built-in stories, text as bytes or tokens, conversations, token shards, a weighted "
       "mixture, "
       "synthetic x and y; auto: chosen by data.path, data.mixture and model, never conversations"},
      {"data.path",
       &d.path,
       {},
       "text files by file, folder or glob (.txt, .jsonl, packed by gzip or zstd), or token shards "
       "by "
       "glob, in llm.c's or Megatron's format"},
      {"data.held_out", &d.held_out, kBelowOne, "share of the data kept for the held-out loss"},
      {"data.held_out_path",
       &d.held_out_path,
       {},
       "data that held-out samples come from, of the kind of data.path; then data.held_out is not "
       "used"},
      {"data.shuffle", byte_of(d.shuffle), choices(kDataShuffles),
       "windows: all samples together; documents: the documents of text, then samples in blocks of "
       "four million tokens; blocks: only the latter; none: as stored; auto: documents where "
       "tokens "
       "are made from 100 documents or more, else windows"},
      {"data.split", byte_of(d.split), choices(kDataSplits),
       "hold out the last tokens, or documents by their digests; auto: documents where "
       "data.shuffle is, else tokens"},
      {"data.deduplicate",
       &d.deduplicate,
       {},
       "of documents with the same text, only the first is read"},
      {"data.seed", &d.seed, kNotNegative,
       "seed of the order of samples, of built-in stories and of synthetic data"},
      {"data.story_bytes", &d.story_bytes, Bounds{1, 1e15}, "bytes of story text"},
      {"data.document_mask", &d.document_mask, {}, "tokens see only their own document"},
      {"data.packing", byte_of(d.packing), choices(kPackings),
       "in_order: consecutive documents, cut at the end of a sample; best_fit: whole documents "
       "that fill a sample best, with data.document_mask"},
      {"data.document_end", &d.document_end, Bounds{-1, 2147483647},
       "the token that ends a document in shards without an index; -1: none"},
      {"data.field", &d.field, {}, "the field of a line of a .jsonl file that holds the document"},
  };
  for (const ConfigField& field : encoding_fields(d)) fields.push_back(field);
  return fields;
}

}  // namespace tessera
