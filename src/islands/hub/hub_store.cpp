// SPDX-License-Identifier: Apache-2.0
#include "islands/hub/hub_store.h"

#include <set>

#include "core/error.h"
#include "files/atomic_file.h"
#include "files/digest.h"
#include "files/folder.h"
#include "files/json_struct.h"
#include "files/regular_file.h"
#include "files/small_file.h"

namespace tessera {
namespace {

constexpr const char* kManifest = "state.json";
constexpr std::string_view kStateFormat = "tessera-hub-1 ";
constexpr size_t kDigestCharacters = 16;

// state.json, after its digest.
struct StoredState {
  std::string life = {};
  int64_t round = 0, fragment = 0;  // the next exchange
  std::vector<int64_t> members = {};
  std::vector<StoredFragment> fragments = {};
};

}  // namespace

template <typename Visit>
void visit_fields(StoredBlob& blob, const Visit& visit) {
  visit("name", blob.name);
  visit("digest", blob.digest);
  visit("bytes", blob.bytes);
}

template <typename Visit>
void visit_fields(StoredFragment& fragment, const Visit& visit) {
  visit("parameters", fragment.parameters);
  visit("momentum", fragment.momentum);
  visit("combined", fragment.combined);
  visit("round", fragment.round);
  visit("islands", fragment.islands);
}

namespace {

template <typename Visit>
void visit_fields(StoredState& state, const Visit& visit) {
  visit("life", state.life);
  visit("round", state.round);
  visit("fragment", state.fragment);
  visit("members", state.members);
  visit("fragments", state.fragments);
}

UserError damaged_state(const std::filesystem::path& file, std::string_view what) {
  return user_error("the hub's state {} {}", file.string(), what)
      .help("begin with another --out: the islands then end, and go on from their own checkpoints");
}

// Takes the text apart, with its digest checked.
Json json_of_manifest(const std::filesystem::path& file, const std::string& text) {
  const size_t head = kStateFormat.size() + kDigestCharacters + 1;
  if (!text.starts_with(kStateFormat) || text.size() < head)
    throw damaged_state(file, "is none of this version");
  const std::string_view body = std::string_view(text).substr(head);
  if (text.substr(kStateFormat.size(), kDigestCharacters) !=
      digest_of(std::as_bytes(std::span(body))))
    throw damaged_state(file, "is damaged: its digest differs");
  Json json;
  if (!parse_json(body, 5, json).empty()) throw damaged_state(file, "is no JSON");
  return json;
}

}  // namespace

HubStore::HubStore(std::filesystem::path folder, std::function<void()> before_save)
    : folder_(std::move(folder)), before_save_(std::move(before_save)) {
  make_folder(folder_);
}

StoredBlob HubStore::write_blob(const std::string& name,
                                const std::vector<std::byte>& bytes) const {
  if (bytes.empty()) return {};
  AtomicFile file(folder_ / name, static_cast<int64_t>(bytes.size()));
  file.write(bytes);
  file.commit();
  return {.name = name, .digest = digest_of(bytes), .bytes = static_cast<int64_t>(bytes.size())};
}

std::vector<std::byte> HubStore::read_blob(const StoredBlob& blob) const {
  if (blob.name.empty()) return {};
  const std::filesystem::path path = folder_ / blob.name;
  if (std::filesystem::path(blob.name).filename() != blob.name || blob.name.starts_with('.'))
    throw damaged_state(path, "is outside its folder");
  const FileReader reader(path);
  if (reader.bytes() != blob.bytes) throw damaged_state(path, "has another size than was written");
  std::vector<std::byte> bytes(static_cast<size_t>(blob.bytes));
  reader.read(0, bytes);
  if (digest_of(bytes) != blob.digest) throw damaged_state(path, "is damaged: its digest differs");
  return bytes;
}

std::optional<std::pair<HubState, OuterSnapshot>> HubStore::load() {
  const std::filesystem::path path = folder_ / kManifest;
  const std::optional<std::string> text = find_small_file(path);
  if (!text) return std::nullopt;
  const Json json = json_of_manifest(path, *text);
  StoredState stored;
  if (!read_json(json, stored)) throw damaged_state(path, "has a field of the wrong kind");
  HubState state{.life = stored.life};
  OuterSnapshot outer{
      .next = {.round = stored.round, .fragment = static_cast<int>(stored.fragment)}};
  if (const Json* settings = json.find("settings"))
    for (const JsonMember& member : settings->members())
      if (const std::string* value = member.value.text())
        state.settings.emplace(member.name, *value);
  for (const int64_t member : stored.members) state.members.push_back(static_cast<int>(member));
  for (const StoredFragment& fragment : stored.fragments) {
    const auto f = static_cast<int>(state.rounds.size());
    state.rounds.push_back(fragment.round);
    outer.parameters.push_back(read_blob(fragment.parameters));
    if (!fragment.momentum.name.empty()) outer.momentum.push_back(read_blob(fragment.momentum));
    CombinedChange combined{.exchange = {.round = fragment.round, .fragment = f},
                            .bytes = read_blob(fragment.combined)};
    for (const int64_t island : fragment.islands)
      combined.islands.push_back(static_cast<int>(island));
    state.combined.push_back(std::move(combined));
  }
  fragments_ = std::move(stored.fragments);
  return std::pair(std::move(state), std::move(outer));
}

void HubStore::write_fragment(const HubState& state, const OuterSnapshot& outer, int fragment) {
  const auto f = static_cast<size_t>(fragment);
  const std::string name = fmt::format("fragment-{}-round-{}", fragment, state.rounds[f]);
  StoredFragment& entry = fragments_[f];
  entry.round = state.rounds[f];
  entry.parameters = write_blob(name + ".parameters", outer.parameters[f]);
  entry.momentum =
      outer.momentum.empty() ? StoredBlob{} : write_blob(name + ".momentum", outer.momentum[f]);
  entry.combined = write_blob(name + ".combined", state.combined[f].bytes);
  entry.islands.assign(state.combined[f].islands.begin(), state.combined[f].islands.end());
}

void HubStore::write_manifest(const HubState& state, const OuterSnapshot& outer) const {
  StoredState stored{.life = state.life,
                     .round = outer.next.round,
                     .fragment = outer.next.fragment,
                     .members = {state.members.begin(), state.members.end()},
                     .fragments = fragments_};
  Json json = to_json(std::move(stored));
  json["settings"] = Json(state.settings);
  const std::string text = json.dump(1);
  write_file_atomically(
      folder_ / kManifest,
      fmt::format("{}{}\n{}", kStateFormat, digest_of(std::as_bytes(std::span(text))), text));
}

// What no longer counts; another hub's or a user's files stay.
void HubStore::remove_others() const {
  std::set<std::string> kept;
  for (const StoredFragment& fragment : fragments_)
    for (const StoredBlob* blob : {&fragment.parameters, &fragment.momentum, &fragment.combined})
      kept.insert(blob->name);
  for (const std::filesystem::path& file : list_folder(folder_)) {
    const std::string name = file.filename().string();
    std::error_code ignored;
    if (name.starts_with("fragment-") && !kept.contains(name))
      std::filesystem::remove(file, ignored);
  }
}

void HubStore::save(const HubState& state, const OuterSnapshot& outer,
                    const std::vector<int>& fragments) {
  if (before_save_) before_save_();
  fragments_.resize(outer.parameters.size());
  for (const int fragment : fragments) write_fragment(state, outer, fragment);
  if (fragments.empty())
    for (size_t f = 0; f < fragments_.size(); ++f)
      write_fragment(state, outer, static_cast<int>(f));
  write_manifest(state, outer);
  remove_others();
}

}  // namespace tessera
