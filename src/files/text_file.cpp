// SPDX-License-Identifier: Apache-2.0
#include "files/text_file.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.h"
#include "files/json.h"
#include "files/unpacked_file.h"

namespace tessera {
namespace {

using namespace std::string_view_literals;

struct Format {
  std::string_view magic;         // the first bytes
  std::string_view name, remedy;  // {0} is the file
};

constexpr std::string_view kNoText = "give files of text: *.txt, *.md or *.jsonl";
constexpr std::string_view kParquetRemedy =
    "write its texts as .jsonl first: python3 -c \"import pandas; "
    "pandas.read_parquet('{0}').to_json('texts.jsonl', orient='records', lines=True)\"";
constexpr std::array<Format, 17> kFormats{{
    {"\x1f\x8b"sv, "gzip, packed twice", "unpack it first: gunzip -k {0}"},
    {"\x28\xb5\x2f\xfd"sv, "zstd, packed twice", "unpack it first: zstd -d {0}"},
    {"\xfd"
     "7zXZ"sv,
     "xz", "unpack it first: xz -dk {0}"},
    {"BZh91AY&SY"sv, "bzip2", "unpack it first: bunzip2 -k {0}"},
    {"PK\x03\x04"sv, "a zip archive", "unpack it first: unzip {0}"},
    {"PAR1\x15"sv, "parquet", kParquetRemedy},
    {"ARROW1\0\0"sv, "Arrow", "write its texts as .jsonl first, a line {{\"text\": \"...\"}} each"},
    {"\x80\x02"sv, "a pickle", kNoText},
    {"\x80\x03"sv, "a pickle", kNoText},
    {"\x80\x04"sv, "a pickle", kNoText},
    {"\x80\x05"sv, "a pickle", kNoText},
    {"%PDF-"sv, "PDF", "write it as text first: pdftotext {0}"},
    {"\x89PNG"sv, "an image", kNoText},
    {"\xff\xd8\xff"sv, "an image", kNoText},
    {"\x7f"
     "ELF"sv,
     "a program", kNoText},
    {"\xff\xfe"sv, "UTF-16", "write it as UTF-8 first: iconv -f UTF-16 -t UTF-8 {0}"},
    {"\xfe\xff"sv, "UTF-16", "write it as UTF-8 first: iconv -f UTF-16 -t UTF-8 {0}"},
}};

// Eight bytes of a length, then the JSON of a header.
bool is_safetensors(std::string_view text) {
  return text.size() > 9 && text.substr(4, 4) == "\0\0\0\0"sv && text[8] == '{';
}

bool is_tar(std::string_view text) { return text.size() > 512 && text.substr(257, 5) == "ustar"; }

[[noreturn]] void refuse_as(const std::filesystem::path& path, std::string_view name,
                            std::string_view remedy) {
  throw user_error("{} is not text: it looks like {}", path.string(), name)
      .help(fmt::format(fmt::runtime(remedy), path.string()));
}

}  // namespace

void require_text(std::span<const std::byte> bytes, const std::filesystem::path& path) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              std::min(bytes.size(), kTextLook));
  for (const Format& format : kFormats)
    if (text.starts_with(format.magic)) refuse_as(path, format.name, format.remedy);
  if (path.extension() == ".parquet") refuse_as(path, "parquet", kParquetRemedy);
  if (is_safetensors(text)) refuse_as(path, "safetensors", kNoText);
  if (is_tar(text)) refuse_as(path, "a tar archive", "unpack it first: tar xf {0}");
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos)
    throw user_error("{} is not text: byte {} is zero", path.string(), zero)
        .help(fmt::format("{}; token shards end in .bin", kNoText));
}

namespace {

constexpr int kLineDepth = 32;

std::string document_of(std::string_view line, const JsonLines& lines, int64_t at) {
  Json json;
  std::string wrong = parse_json(line, kLineDepth, json);
  if (wrong.empty() && !json.is_object()) wrong = "is not an object";
  const Json* text = json.find(lines.field);
  if (wrong.empty() && !(text && text->text()))
    wrong = fmt::format("has no text under \"{}\"", lines.field);
  if (!wrong.empty() && (json.find("messages") || json.find("conversations")))
    throw user_error("the line at byte {} of {} {}: it is a conversation", at, lines.path.string(),
                     wrong)
        .help("conversations are read by train and evaluate with data.source=chat");
  if (!wrong.empty())
    throw user_error("the line at byte {} of {} {}", at, lines.path.string(), wrong)
        .help(fmt::format("each line of a .jsonl file is an object such as {{\"{}\": \"one "
                          "document\"}}; data.field or --field names another field",
                          lines.field));
  return *text->text();
}

}  // namespace

bool is_jsonl(const std::filesystem::path& path) {
  const std::filesystem::path name = name_when_unpacked(path), ending = name.extension();
  // C4 and others name packed lines so; as it is, a .json file is one text.
  const bool packed_lines = ending == ".json" && name != path.filename();
  return ending == ".jsonl" || ending == ".ndjson" || packed_lines;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

void read_jsonl(std::string_view text, const JsonLines& lines, int64_t at,
                const std::function<void(std::string document)>& document) {
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (!is_blank(line)) document(document_of(line, lines, at + (line.data() - text.data())));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
}

}  // namespace tessera
