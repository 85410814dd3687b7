// SPDX-License-Identifier: Apache-2.0
// The question `model_source`: the text of a file in which models are written. It is part of the
// binary: no question names a file of the machine.
#include "core/choices.h"
#include "serve/page_files.h"
#include "studio/kinds.h"
#include "studio/question_fields.h"

namespace tessera {

std::span<const EmbeddedFile> model_sources();  // the build writes the table

Answer answer_model_source(const Question& question) {
  require_known_fields(question.fields, {"file"});
  const std::string file = find_text(question.fields, "file").value_or("");
  std::vector<std::string> known;
  for (const EmbeddedFile& source : model_sources()) {
    if (source.path == file) return {{{"file", file}, {"text", source.bytes}}};
    known.emplace_back(source.path);
  }
  throw user_error("the text of {} is not part of this program", file)
      .at("file")
      .help(fmt::format("use {}", join_choices(known)));
}

}  // namespace tessera
