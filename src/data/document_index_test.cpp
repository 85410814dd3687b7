// SPDX-License-Identifier: Apache-2.0
#include "data/document_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "data/document_reader.h"
#include "data/index_file.h"
#include "files/testing/packed.h"
#include "files/text_file.h"

namespace tessera {
namespace {

std::vector<std::string> texts_of(const DocumentIndex& index,
                                  const std::vector<DocumentPlace>& documents) {
  DocumentReader reader(index, documents, 100);
  std::vector<std::string> texts(1);
  DocumentPiece piece;
  while (reader.next(piece)) {
    const IndexedFile& file = index.files[piece.file];
    if (file.lines)
      read_jsonl(piece.bytes, {file.path, "text"}, piece.at,
                 [&](const std::string& text) { texts.back() = text; });
    else
      texts.back() += piece.bytes;
    if (piece.ends) texts.emplace_back();
  }
  texts.pop_back();
  return texts;
}

class DocumentIndexTest : public testing::Test {
 protected:
  DocumentIndexTest() {
    std::string lines, novel;
    for (int i = 0; i < 300; ++i) {
      lines += fmt::format("{{\"text\": \"document {}\", \"id\": {}}}\n", i % 250, i);
      if (i % 7 == 0) lines += "\n";
      novel += "A line of the novel.\n";
    }
    for (int i = 0; i < 250; ++i) numbered_.push_back(fmt::format("document {}", i));
    novel_ = novel;
    folder_.write("text/b.jsonl", lines);
    folder_.write("text/a.txt", novel);
  }
  DocumentOptions options() const {
    DocumentOptions options;
    options.paths = {(folder_.path() / "text").string()};
    options.threads = 2;
    return options;
  }
  TemporaryFolder folder_;
  std::vector<std::string> numbered_;
  std::string novel_;
};

TEST_F(DocumentIndexTest, OfAFileThatBecomesShorterMeanwhileIsRefused) {
  DocumentOptions changing = options();
  changing.threads = 1;
  changing.progress = [&](int64_t, int64_t) {
    std::filesystem::resize_file(folder_.path() / "text/b.jsonl", 100);
  };
  EXPECT_NE(user_error_of([&] { index_documents(changing); }).find("bytes and now has 100"),
            std::string::npos);
}

TEST_F(DocumentIndexTest, HasTheDocumentsInTheOrderOfTheFiles) {
  const DocumentIndex index = index_documents(options());
  std::vector<std::string> all{novel_};
  for (int i = 0; i < 300; ++i) all.push_back(numbered_[static_cast<size_t>(i % 250)]);
  EXPECT_EQ(texts_of(index, index.train), all);
  EXPECT_TRUE(index.held_out.empty());
  EXPECT_EQ(index.duplicates, 0);
}

TEST_F(DocumentIndexTest, ReadsOnlyTheFirstOfDocumentsWithTheSameText) {
  DocumentOptions once = options();
  once.deduplicate = true;
  const DocumentIndex index = index_documents(once);
  std::vector<std::string> all = numbered_;
  all.insert(all.begin(), novel_);
  EXPECT_EQ(texts_of(index, index.train), all);
  EXPECT_EQ(index.duplicates, 50);
}

TEST_F(DocumentIndexTest, HoldsOutCopiesTogetherWhateverElseThereIs) {
  DocumentOptions split = options();
  split.held_out = 0.2;
  const DocumentIndex index = index_documents(split);
  const std::vector<std::string> train = texts_of(index, index.train),
                                 held_out = texts_of(index, index.held_out);
  EXPECT_EQ(train.size() + held_out.size(), 301u);
  EXPECT_NEAR(static_cast<double>(held_out.size()), 60, 25);
  const std::set<std::string> kept(train.begin(), train.end());
  for (const std::string& text : held_out) EXPECT_FALSE(kept.contains(text)) << text;
  // A document keeps its side when others are added, and changes it with the seed.
  folder_.write("text/0.jsonl", "{\"text\": \"new\"}\n");
  const DocumentIndex more = index_documents(split);
  for (const std::string& text : texts_of(more, more.held_out))
    EXPECT_TRUE(text == "new" ||
                std::find(held_out.begin(), held_out.end(), text) != held_out.end());
  split.seed = 2;
  const DocumentIndex other = index_documents(split);
  EXPECT_NE(texts_of(other, other.held_out), held_out);
}

TEST_F(DocumentIndexTest, ShufflesAllDocumentsAndLosesNone) {
  DocumentOptions shuffled = options();
  shuffled.shuffle = true;
  const DocumentIndex index = index_documents(shuffled);
  std::vector<std::string> texts = texts_of(index, index.train);
  const DocumentIndex sorted = index_documents(options());
  std::vector<std::string> in_order = texts_of(sorted, sorted.train);
  EXPECT_NE(texts, in_order);
  size_t in_place = 0;
  for (size_t i = 0; i < texts.size(); ++i) in_place += texts[i] == in_order[i];
  EXPECT_LT(in_place, 15u);
  std::sort(texts.begin(), texts.end());
  std::sort(in_order.begin(), in_order.end());
  EXPECT_EQ(texts, in_order);
  shuffled.seed = 2;
  EXPECT_NE(index_documents(shuffled).train, index.train);
}

TEST_F(DocumentIndexTest, IsTheSameForAnyNumberOfThreadsAndForPackedFiles) {
  DocumentOptions all = options();
  all.shuffle = all.deduplicate = true;
  all.held_out = 0.3;
  const DocumentIndex index = index_documents(all);
  all.threads = 1;
  EXPECT_EQ(index_documents(all).train, index.train);
  for (const char* name : {"a.txt", "b.jsonl"}) {
    const auto path = folder_.path() / "text" / name;
    folder_.write(fmt::format("packed/{}.gz", name), gzip_of(read_text(path)));
  }
  all.paths = {(folder_.path() / "packed").string()};
  all.unpacked_to = folder_.path() / "copies";
  const DocumentIndex packed = index_documents(all);
  EXPECT_EQ(packed.train, index.train);
  EXPECT_EQ(packed.held_out, index.held_out);
  EXPECT_EQ(texts_of(packed, packed.train), texts_of(index, index.train));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "copies/text_000000"));
}

TEST_F(DocumentIndexTest, ReadsPackedFilesInTheirOrderWithoutCopies) {
  folder_.write("packed/a.txt.zst", zstd_of(novel_));
  folder_.write("packed/b.jsonl.gz",
                gzip_of(read_text(folder_.path() / "text/b.jsonl")) + gzip_of("{\"text\": \"z\"}"));
  DocumentOptions once = options();
  once.paths = {(folder_.path() / "packed").string()};
  once.unpacked_to = folder_.path() / "copies";
  once.deduplicate = true;
  const DocumentIndex index = index_documents(once);
  std::vector<std::string> all = numbered_;
  all.insert(all.begin(), novel_);
  all.emplace_back("z");
  EXPECT_EQ(texts_of(index, index.train), all);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "copies"));
  // Backwards, too, at the price of unpacking again.
  DocumentIndex back = index;
  std::reverse(back.train.begin(), back.train.end());
  std::reverse(all.begin(), all.end());
  EXPECT_EQ(texts_of(back, back.train), all);
}

TEST_F(DocumentIndexTest, NamesALineThatIsNoDocument) {
  DocumentOptions once = options();
  once.deduplicate = true;
  const auto path = folder_.write("text/c.jsonl", "{\"text\": \"x\"}\n{\"title\": 1}\n");
  EXPECT_EQ(user_error_of([&] { index_documents(once); }),
            "the line at byte 14 of " + path.string() + " has no text under \"text\"");
}

TEST_F(DocumentIndexTest, NoticesThatAFileHasChanged) {
  const DocumentIndex index = index_documents(options());
  const auto path = folder_.write("text/a.txt", "shorter");
  EXPECT_EQ(user_error_of([&] { texts_of(index, index.train); }),
            path.string() + " had 6300 bytes and now has 7");
}

TEST_F(DocumentIndexTest, IsKeptInAFileThatIsWholeOrNone) {
  DocumentOptions all = options();
  all.shuffle = all.deduplicate = true;
  all.held_out = 0.3;
  const DocumentIndex index = index_documents(all);
  const auto path = folder_.path() / "documents.index";
  EXPECT_FALSE(find_index(path));
  write_index(path, index);
  const auto kept = find_index(path);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->train, index.train);
  EXPECT_EQ(kept->held_out, index.held_out);
  EXPECT_EQ(kept->duplicates, 50);
  EXPECT_EQ(texts_of(*kept, kept->train), texts_of(index, index.train));
  std::string bytes = read_text(path);
  for (const size_t at : {size_t{5}, bytes.size() / 2, bytes.size() - 1}) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_FALSE(find_index(folder_.write("damaged", damaged))) << at;
  }
  EXPECT_FALSE(find_index(folder_.write("short", bytes.substr(0, 100))));
}

}  // namespace
}  // namespace tessera
