// `thrust bench`: what it prints, writes and refuses. No figure is checked but that there is one.
#include "bench_report.hpp"
#include "line_chart.hpp"
#include "process.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <regex>

namespace thrt::cli::test {
namespace {

using testing::HasSubstr;
using Arguments = std::vector<std::string>;

// The tags are balanced, the attributes quoted, and no bare & or < is left: what an XML parser stops at in text of ours.
void expect_well_formed(const std::string& xml) {
  static const std::regex tag(R"re(<(/?)([a-z]+)((?: [A-Za-z0-9:-]+="[^"<]*")*)\s*(/?)>)re");
  static const std::regex declaration(R"re(^<\?xml version="1\.0" encoding="UTF-8"\?>\n)re");
  ASSERT_TRUE(std::regex_search(xml, declaration));
  const std::string body = std::regex_replace(xml, declaration, "");
  std::vector<std::string> open;
  std::size_t end_of_last = 0;
  for (std::sregex_iterator i(body.begin(), body.end(), tag), end; i != end; ++i) {
    const std::string between = body.substr(end_of_last, static_cast<std::size_t>(i->position()) - end_of_last);
    EXPECT_EQ(between.find('<'), std::string::npos) << between;
    EXPECT_TRUE(std::regex_match(between, std::regex("([^&]|&(amp|lt|gt|quot);)*"))) << between;
    end_of_last = static_cast<std::size_t>(i->position() + i->length());
    if ((*i)[1] == "/") {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(open.back(), (*i)[2]);
      open.pop_back();
    } else if ((*i)[4] != "/") {
      open.push_back((*i)[2]);
    }
  }
  EXPECT_THAT(open, testing::IsEmpty());
  EXPECT_EQ(body.substr(end_of_last), "\n");
}

class Bench : public ThrustTest {
 protected:
  static Arguments bench(const Arguments& more) {
    Arguments all = {"bench"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  void expect_refused(const Arguments& more, const std::string& what, const std::string& rest) const {
    const Outcome outcome = thrust(bench(more));
    EXPECT_EQ(outcome.code, 2) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.err, testing::StartsWith("error: " + what + "\n"));
    EXPECT_THAT(outcome.err, HasSubstr(rest));
    EXPECT_THAT(outcome.err, HasSubstr("\n  try: "));
    EXPECT_EQ(outcome.out, "");
  }
};

TEST_F(Bench, JsonHasTheIdsAndTheFileTheSame) {
  const std::string out = thrust_out(bench(
      {"ppo_train_step", "--backend", THRT_TEST_BACKEND, "--min-time", "0.001", "--json", "--output", "figures.json"}));
  const nlohmann::json object = nlohmann::json::parse(out);
  EXPECT_EQ(out, text_of(work() / "figures.json"));
  EXPECT_EQ(object["interrupted"], false);
  EXPECT_EQ(object["threads"], 1);
  EXPECT_EQ(object["backends"][0]["name"], THRT_TEST_BACKEND);
  ASSERT_EQ(object["results"].size(), 1U);
  const nlohmann::json& row = object["results"][0];
  EXPECT_EQ(row["id"], "ppo_train_step/" THRT_TEST_BACKEND "/b64");
  EXPECT_EQ(row["parameters"], 4675);  // 4*64+64 + 64*64+64 + 64*2+2 + 64+1
  EXPECT_GT(row["min_seconds"], 0.0);
  EXPECT_GE(row["median_seconds"], row["min_seconds"]);
  EXPECT_GT(row["setup_seconds"], 0.0);
}

TEST_F(Bench, CountersAreADashWhereTheBackendDoesNotCount) {
  const auto options = [](const std::string& last) {
    return bench({"ppo_train_step", "--counters", "--backend", THRT_TEST_BACKEND, "--min-time", "0.001", last});
  };
  EXPECT_THAT(
      thrust_out(options("--threads=1")),
      HasSubstr(
          "\n  ppo_train_step               launches      -  barriers      -  read        -  written        -\n"));
  const nlohmann::json object = nlohmann::json::parse(thrust_out(options("--json")));
  EXPECT_EQ(object["results"][0]["programs"],
            nlohmann::json::parse(R"([{"program": "ppo_train_step", "counters": null}])"));
}

TEST(BenchReport, CountersOfOneRunOfEachProgram) {
  BenchRow row;
  row.programs = {{"act", thrt_program_counters{sizeof(thrt_program_counters), 0, 5, 4, 12'345, 999}}, {"value", {}}};
  EXPECT_EQ(counters_lines(row),
            "  act                          launches      5  barriers      4  read   12.3kB  written     999B\n"
            "  value                        launches      -  barriers      -  read        -  written        -\n");
  const nlohmann::json object = nlohmann::json::parse(bench_json({}, {.rows = {row}}));
  EXPECT_EQ(object["results"][0]["programs"],
            nlohmann::json::parse(R"([{"program": "act", "counters": {"launches": 5, "barriers": 4, "bytes_read": 12345,
                                                                      "bytes_written": 999}},
                                      {"program": "value", "counters": null}])"));
}

TEST_F(Bench, WhatRunsOnNoBackendNeedsNone) {
  const std::string out = thrust_out(bench({"cartpole_env", "--min-time", "0.001"}));
  EXPECT_THAT(out, HasSubstr("steps/s"));
}

TEST_F(Bench, ListTellsEachGroup) {
  const std::string out = thrust_out(bench({"nature_dqn_qnet", "--list"}));
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 4);
  EXPECT_THAT(out, HasSubstr("nature_dqn_qnet_train_step/b256"));
}

TEST_F(Bench, BadInputIsRefused) {
  expect_refused({"nonsense"}, "no group's name holds 'nonsense'", "groups: a2c_train_step, ");
  expect_refused({"ppo_tran_step"}, "no group's name holds 'ppo_tran_step'", "the nearest is 'ppo_train_step'");
  expect_refused({"ppo", "--backend", "absent"}, "no backend is named 'absent'", "");
  expect_refused({"cartpole_env", "--backend", "absent"}, "no backend is named 'absent'", "");
  expect_refused({"ppo", "--backend", THRT_TEST_BACKEND ","}, "--backend is '" THRT_TEST_BACKEND ",'", "missing");
  expect_refused({"ppo", "--threads", "0"}, "--threads is '0'", "from 1 to 1024");
  expect_refused({"ppo", "--threads", "1025"}, "--threads is '1025'", "from 1 to 1024");
  expect_refused({"ppo", "--threads", "4294967297"}, "--threads is '4294967297'", "from 1 to 1024");
  expect_refused({"ppo", "--backend", "cpu,cpu"}, "--backend is 'cpu,cpu'", "twice");
  expect_refused({"--list", "--crossover", "chart.svg"}, "--list and --crossover exclude each other", "");
  expect_refused({"ppo", "--output", "absent/x.json"}, "--output: 'absent/x.json' cannot be written", "No such file");
  expect_refused({"ppo", "--output", "."}, "--output: '.' cannot be written", "Is a directory");
  expect_refused({"--crossover", "absent/x.svg"}, "--crossover: 'absent/x.svg' cannot be written", "No such file");
  expect_refused({"ppo", "--min-time", "0"}, "--min-time is '0'", "above 0");
  expect_refused({"ppo", "--precision", "f33"}, "unknown precision 'f33'", "bf16");
  expect_refused({"ppo", "--crossover", "chart.svg"}, "FILTER and --crossover exclude each other", "");
  EXPECT_THAT(files(), testing::IsEmpty());
}

TEST_F(Bench, InterruptEndsItWithWhatThereIs) {
  Process process(bench({"train_step/b64", "--backend", THRT_TEST_BACKEND, "--min-time", "1"}), work(), top());
  ASSERT_TRUE(process.await("a2c_train_step"));
  process.send(SIGINT);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("interrupted after "));
}

TEST(LineChart, IsWellFormedWhateverANameHolds) {
  const LineChart chart = {.title = "a < b & c",
                           .x_label = "x",
                           .y_label = "\"y\"",
                           .lines = {{"one\x01", {{16.0, 3.5}, {1024.0, 900.0}}}, {"<none>", {}}}};
  const std::string svg = line_chart_svg(chart);
  expect_well_formed(svg);
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; c"));
  EXPECT_THAT(svg, HasSubstr("&lt;none&gt;"));
  expect_well_formed(line_chart_svg({}));
}

// Logarithmic: as far from 1 to 10 as from 10 to 100.
TEST(LineChart, PointsLieWhereTheirLogarithmsDo) {
  const std::string svg = line_chart_svg({.lines = {{"l", {{1.0, 1.0}, {10.0, 10.0}, {100.0, 100.0}}}}});
  static const std::regex circle(R"re(<circle cx="([0-9.]+)" cy="([0-9.]+)")re");
  std::vector<double> x, y;
  for (std::sregex_iterator i(svg.begin(), svg.end(), circle), end; i != end; ++i) {
    x.push_back(std::stod((*i)[1]));
    y.push_back(std::stod((*i)[2]));
  }
  ASSERT_EQ(x.size(), 3U);
  EXPECT_NEAR(x[1] - x[0], x[2] - x[1], 0.11);
  EXPECT_NEAR(y[0] - y[1], y[1] - y[2], 0.11);
  EXPECT_GT(y[0], y[2]) << "larger values lie higher";
}

TEST(CrossoverReport, NamesTheFastestAndWhereItChanges) {
  Crossover crossover;
  crossover.widths = {16, 64, 256};
  crossover.lines = {{"cpu", {1e-5, 5e-5, 9e-4}, ""}, {"gpu", {1e-4, 1e-4, 1.2e-4}, ""}, {"odd", {}, "no matmul"}};
  const std::string text = crossover_text(crossover);
  EXPECT_THAT(text, HasSubstr("cpu is the fastest from width 16 on\ngpu is the fastest from width 256 on\n"));
  EXPECT_THAT(text, HasSubstr("odd refused: no matmul\n"));
  expect_well_formed(crossover_svg(crossover));
}

TEST(BenchReport, Durations) {
  EXPECT_EQ(duration_text(2.5), "2.50 s");
  EXPECT_EQ(duration_text(0.99999), "1.00 s");
  EXPECT_EQ(duration_text(0.0123), "12.3 ms");
  EXPECT_EQ(duration_text(4.5e-5), "45.0 µs");
  EXPECT_EQ(duration_text(9.9996e-4), "1.00 ms");
  EXPECT_EQ(duration_text(5e-10), "0.50 ns");
}

}  // namespace
}  // namespace thrt::cli::test
