// SPDX-License-Identifier: Apache-2.0
#include "serve/page_files.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "core/error.h"
#include "system/random_name.h"

namespace tessera {
namespace {

TEST(PageFiles, OfTheBinaryHaveTypesAndNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const EmbeddedFile& file : embedded_files()) {
    EXPECT_TRUE(names.insert(file.path).second);
    EXPECT_TRUE(media_type(file.path)) << file.path;
    const auto found = find_embedded_file("/" + std::string(file.path));
    ASSERT_TRUE(found) << file.path;
    EXPECT_EQ(found->bytes, file.bytes);
  }
  EXPECT_EQ(find_embedded_file("/")->bytes, find_embedded_file("/index.html")->bytes);
}

TEST(PageFiles, HaveOneSpelling) {
  for (const std::string_view path :
       {"", "index.html", "//index.html", "/./index.html", "/x/../index.html", "/index.html/",
        "/INDEX.HTML", "/index%2ehtml", "/.hidden", "/a/.b.js"})
    EXPECT_FALSE(find_embedded_file(path)) << path;
}

TEST(PageFiles, OfAFolderAreReadWhenTheyAreAskedFor) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / random_name();
  EXPECT_THROW(files_of_folder(folder), UserError);
  std::filesystem::create_directory(folder);
  const auto find = files_of_folder(folder);
  EXPECT_FALSE(find("/new.js"));
  std::ofstream(folder / "new.js") << "1";
  const auto first = find("/new.js");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->type, "text/javascript; charset=utf-8");
  std::ofstream(folder / "new.js") << "2";
  EXPECT_EQ(find("/new.js")->bytes, "2");
  EXPECT_NE(find("/new.js")->etag, first->etag);
  std::ofstream(folder / "key.pem") << "no file of a page";
  EXPECT_FALSE(find("/key.pem"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tessera
