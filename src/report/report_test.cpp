// SPDX-License-Identifier: Apache-2.0
// What a report says and draws.
#include "report/report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/testing/made_run.h"

namespace tessera {
namespace {

Report report_of(RunRecord record) {
  Report report{.record = std::move(record)};
  report.figures = figures_of(report.record);
  report.stalls = stalls_of(report.record);
  report.failures = failures_of(report.record);
  report.findings = diagnose(report.record, report.figures);
  return report;
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Report, TellsInItsSummaryOfAFailureThatWasResumed) {
  RunRecord run = killed_run(5, 2.125);
  const std::string text = to_summary(report_of(run));
  EXPECT_TRUE(text.ends_with("5 steps computed again, 2.125 s lost; it ended as planned.\n"))
      << text;
}

TEST(Report, SaysEverythingAWriteUpRecords) {
  const std::string text = to_markdown(document_of(report_of(made_run())));
  for (const char* row : {"| device | abacus |",
                          "| count | 4 devices |",
                          "| nodes | 2 |",
                          "| interconnect | string |",
                          "| mesh | pp=2,dp=2 |",
                          "| pipeline | 1f1b over 2 stages",
                          "| recompute | none |",
                          "| effective batch | 16 samples, 100 tokens in 1 microbatch |",
                          "| sequence length | 128 |",
                          "| precision | fp32 |",
                          "| checkpoint cadence | never |",
                          "| tokens per second | 111 |",
                          "| MFU, causal count | 40.0 % |",
                          "| MFU, full attention counted | 60.0 % |",
                          "| HFU, all flops that programs run | 50.0 % |",
                          "| compute | 600 ms | 60.0 % |",
                          "| exposed communication | 50 ms | 5.0 % |",
                          "| bubble | 200 ms | 20.0 % |",
                          "| data | 10 ms | 1.0 % |",
                          "| other, between steps | 100 ms | 10.0 % |",
                          "## Diagnosis"})
    EXPECT_NE(text.find(row), std::string::npos) << row << "\n" << text;
}

TEST(Report, SaysWhetherBitsRepeat) {
  RunRecord run = made_run();
  const auto says = [&](const char* row) {
    return to_markdown(document_of(report_of(run))).find(row) != std::string::npos;
  };
  EXPECT_TRUE(says("| bits | the same on every run |"));
  run.config->train.repeatable = false;
  EXPECT_TRUE(says("| bits | may differ from run to run: train.repeatable = false |"));
}

TEST(Report, ShowsTheLoadsOfExpertsOfTheLastLoggedStep) {
  RunRecord run = made_run();
  EXPECT_EQ(to_markdown(document_of(report_of(run))).find("Loads of experts"), std::string::npos);
  for (StepRecord& step : run.steps) step.load_violation = 0.5;
  run.steps[3].loads = {{"layer.0", {8, 0, 8, 8}}};
  run.steps[7].loads = {{"layer.0", {4, 4, 4, 4}}, {"layer.1", {1, 12, 3, 0}}};
  run.steps[7].starving_experts = 1;
  const Report report = report_of(run);
  const std::string text = to_markdown(document_of(report));
  for (const char* row : {"## Loads of experts", "| layer.0 | 1.00 | 1.00 | 0 | 5555 |",
                          "| layer.1 | 3.00 | 0.00 | 1 | 1930 |", "Of step 8."})
    EXPECT_NE(text.find(row), std::string::npos) << row << "\n" << text;
  EXPECT_NE(to_html(document_of(report)).find(">Balance of experts<"), std::string::npos);
  const auto json = nlohmann::json::parse(to_json_text(report));
  EXPECT_EQ(json["experts"]["step"], 8);
  EXPECT_EQ(json["experts"]["loads"]["layer.1"][1], 12);
}

TEST(Report, NeverInventsWhatWasNotRecorded) {
  RunRecord run{.folder = "old"};
  run.steps.push_back({.step = 1, .loss = 3.0});
  const Report report = report_of(run);
  const std::string text = to_markdown(document_of(report));
  for (const char* row :
       {"| device, count, nodes, interconnect | not recorded |",
        "| tokens per second | not recorded |", "| MFU, causal count | not recorded |",
        "The parts of a step were not recorded."})
    EXPECT_NE(text.find(row), std::string::npos) << row << "\n" << text;
  const auto json = nlohmann::json::parse(to_json_text(report));
  for (const char* key : {"machine", "plan", "split", "mfu", "hfu", "tokens_per_second",
                          "peak_bytes", "held_out_loss", "recompute_flops"})
    EXPECT_TRUE(json.at(key).is_null()) << key << " " << json.at(key);
  EXPECT_EQ(json["loss"], 3.0);
}

TEST(Report, TheHtmlHasAPlotOfEachKindWithLabelledAxesAndNoOutsideLinks) {
  const std::string html = to_html(document_of(report_of(made_run())));
  EXPECT_EQ(count(html, "<svg"), 5);
  EXPECT_EQ(count(html, "<svg"), count(html, "</svg>"));
  for (const char* label : {">Loss<", ">Speed<", ">tokens per second<", ">seconds<",
                            ">% of the step<", ">MB<", ">loss, nats per token<",
                            ">rank, the first of 2 identical ones<", "prefers-color-scheme:dark"})
    EXPECT_NE(html.find(label), std::string::npos) << label;
  EXPECT_EQ(html.find("http"), std::string::npos);
  EXPECT_EQ(html.find("nan"), std::string::npos);
}

TEST(Report, BeginsWithFiguresAndProblemsAndEndsWithTables) {
  Document document = document_of(report_of(made_run()));
  ASSERT_EQ(document.findings.front().verdict, Verdict::Problem);
  for (const std::string& text : {to_markdown(document), to_html(document)}) {
    const size_t figures = text.find("per step"), finding = text.find("Diagnosis"),
                 tables = text.find("Machine and plan");
    EXPECT_LT(figures, finding) << text;
    EXPECT_LT(finding, tables) << text;
  }
}

TEST(Report, TextOfARunCannotBreakThePage) {
  RunRecord run = made_run();
  run.facts->device = "<b>|x|</b> & \"co\"";
  const Document document = document_of(report_of(run));
  EXPECT_NE(to_html(document).find("&lt;b&gt;|x|&lt;/b&gt; &amp; &quot;co&quot;"),
            std::string::npos);
  EXPECT_NE(to_markdown(document).find("&lt;b>\\|x\\|&lt;/b>"), std::string::npos);
}

TEST(Report, OfASimulationSaysSo) {
  RunRecord run = made_run(1);
  run.facts->source = "simulate";
  run.facts->ranks_as = "a simulation of cluster toy";
  run.steps[0].loss = kUnknown;
  run.steps[0].times.data_seconds = kUnknown;
  const Report report = report_of(run);
  const std::string text = to_markdown(document_of(report));
  EXPECT_NE(text.find("Nothing was executed: this is a simulation of cluster toy."),
            std::string::npos);
  EXPECT_NE(text.find("| data | not recorded | not recorded |"), std::string::npos);
  EXPECT_NE(text.find("| loss | none: a simulation |"), std::string::npos);
  EXPECT_NE(text.find("| ranks | 4 simulated, "), std::string::npos) << text;
  EXPECT_TRUE(report.failures.empty());
  EXPECT_EQ(report.figures.split()->between_steps_seconds, 0);
}

TEST(Plot, ThinnedKeepsMeansAndSkipsWhatIsNotThere) {
  Plot plot{.x = {1, 2, 3, 4}, .series = {{"a", {1, 3, NAN, 8}}}};
  plot = thinned(plot, 2);
  EXPECT_EQ(plot.x, (std::vector<double>{1.5, 3.5}));
  EXPECT_EQ(plot.series[0].values, (std::vector<double>{2, 8}));
}

TEST(Plot, StackedPartsReachTheTopOfTheirSum) {
  const Plot plot{.kind = PlotKind::Bars, .x = {0}, .series = {{"a", {3}}, {"b", {7}}}};
  const std::string svg = draw(plot);
  // The plot reaches from 54 down to 234 for the range from 10 to 0.
  EXPECT_NE(svg.find("y=\"180.0\" width=\"48.0\" height=\"54.0\""), std::string::npos) << svg;
  EXPECT_NE(svg.find("y=\"54.0\" width=\"48.0\" height=\"126.0\""), std::string::npos) << svg;
}

}  // namespace
}  // namespace tessera
