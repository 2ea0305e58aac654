// `thrust-conformance` and `thrust conformance` as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kBinaries = THRT_BUILD_DIR "/bin/";
const std::string kReference = THRT_BUILD_DIR "/lib/thrust/plugins/libthrust_backend_reference.so";

std::string test_plugin(const std::string& id) {
  return THRT_BUILD_DIR "/tests/plugins/libthrust_backend_" + id + ".so";
}

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Ending {
  int code = -1;
  std::string out;
  std::string err;
};

// `command` is a line for the shell; standard error goes through a file.
Ending run(const std::string& command) {
  const std::string errors = ::testing::TempDir() + "conformance_stderr_" + std::to_string(getpid());
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(
      popen(("unset THRUST_PLUGIN_PATH; " + command + " 2>" + errors).c_str(), "r"), [](std::FILE*) { return 0; });
  Ending ending;
  std::array<char, 4096> block{};
  for (std::size_t count; (count = std::fread(block.data(), 1, block.size(), pipe.get())) > 0;) {
    ending.out.append(block.data(), count);
  }
  const int status = pclose(pipe.get());
  ending.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  ending.err = text_of(errors);
  std::remove(errors.c_str());
  return ending;
}

Ending conformance(const std::string& arguments) {
  return run(kBinaries + "thrust-conformance " + arguments);
}

nlohmann::json json_of(const std::string& arguments, int code) {
  const Ending ending = conformance(arguments + " --json");
  EXPECT_EQ(ending.code, code) << ending.err;
  EXPECT_THAT(ending.err, Not(HasSubstr("error")));  // a slow machine sees progress
  return nlohmann::json::parse(ending.out);
}

TEST(ConformanceCommand, TheTwoFrontEndsSayTheSame) {
  const std::string arguments = " --plugin " + kReference + " --filter neg/f32";
  const Ending alone = run(kBinaries + "thrust-conformance" + arguments);
  const Ending within = run(kBinaries + "thrust conformance" + arguments);
  EXPECT_EQ(alone.code, 0) << alone.err;
  EXPECT_EQ(within.code, 0) << within.err;
  const std::string head = alone.out.substr(0, alone.out.find(" cases in "));
  EXPECT_EQ(head, within.out.substr(0, within.out.find(" cases in ")));
  EXPECT_THAT(head, AllOf(HasSubstr("backend    reference "), HasSubstr("  neg "), HasSubstr("core: incomplete (")));
}

TEST(ConformanceCommand, FindsABackendByItsName) {
  const Ending ending = conformance("--backend reference --filter neg/f32");
  EXPECT_EQ(ending.code, 0) << ending.err;
  EXPECT_THAT(ending.out, HasSubstr(kReference));
}

TEST(ConformanceCommand, JsonHasEverything) {
  const nlohmann::json report = json_of("--plugin " + kReference + " --filter neg/f32 --filter contract/manifest", 0);
  EXPECT_EQ(report.at("plugin").at("id"), "reference");
  EXPECT_EQ(report.at("plugin").at("file"), kReference);
  EXPECT_EQ(report.at("plugin").at("device").at("index"), 0);
  EXPECT_EQ(report.at("host").at("abi"), "1.0");
  EXPECT_EQ(report.at("interrupted"), false);
  EXPECT_TRUE(report.at("faults").empty());
  EXPECT_EQ(report.at("counts").at("failed"), 0);
  EXPECT_EQ(report.at("counts").at("passed"), report.at("cases").size());
  EXPECT_EQ(report.at("levels").at("core").at("verdict"), "incomplete");
  EXPECT_EQ(report.at("levels").at("mixed precision").at("passed"), 0);
  bool neg = false;
  for (const nlohmann::json& one : report.at("cases")) {
    EXPECT_EQ(one.at("result"), "passed");
    EXPECT_EQ(one.at("level"), "core");
    EXPECT_EQ(one.at("dtype").is_null(), one.at("area") == "contract");
    neg = neg || (one.at("area") == "neg" && one.at("dtype") == "f32");
  }
  EXPECT_TRUE(neg);
}

TEST(ConformanceCommand, ListsCasesWithoutABackend) {
  const Ending all = conformance("--list");
  const Ending some = conformance("--list --filter 'contract/bind_*'");
  EXPECT_EQ(all.code, 0);
  EXPECT_THAT(all.out, AllOf(HasSubstr("contract/manifest\n"), HasSubstr("matmul/f32/")));
  EXPECT_EQ(some.out,
            "contract/bind_slot_count\ncontract/bind_buffer_too_small\ncontract/bind_offset_not_aligned\n"
            "contract/bind_overlap\n");
  const nlohmann::json json = nlohmann::json::parse(conformance("--list --json --filter neg/f32").out);
  EXPECT_EQ(json.at("cases").at(0).at("area"), "neg");
}

// The null plugin computes nothing: every number it should have made is wrong, and nothing crashes.
TEST(ConformanceCommand, ABackendThatComputesNothingFails) {
  const std::string arguments = "--plugin " + test_plugin("null") + " --filter add/f32 --filter contract/stats_count";
  const Ending text = conformance(arguments);
  EXPECT_EQ(text.code, 1);
  EXPECT_THAT(text.out, AllOf(HasSubstr("FAIL"), HasSubstr("core: failed ("),
                              HasSubstr("thrust-conformance --plugin " + test_plugin("null") + " --filter add/f32/")));
  const nlohmann::json report = json_of(arguments, 1);
  EXPECT_EQ(report.at("levels").at("core").at("verdict"), "failed");
  EXPECT_GT(report.at("counts").at("failed"), 0);
}

// A call that fails is the failure of the case that made it; a new context makes the calls count anew.
TEST(ConformanceCommand, ABackendThatFailsACallFails) {
  const std::string arguments = "--plugin " + test_plugin("faulty") + " --filter contract/buffers_of_nothing";
  const nlohmann::json report = [&] {
    setenv("THRT_FAULTY_CALL", "2", 1);
    nlohmann::json failed = json_of(arguments, 1);
    unsetenv("THRT_FAULTY_CALL");
    return failed;
  }();
  EXPECT_THAT(report.at("cases").at(0).at("detail").get<std::string>(), HasSubstr("call 2 fails, as it was told to"));
}

TEST(ConformanceCommand, ALevelThatIsNotClaimedIsNotReached) {
  const std::string cpu = THRT_BUILD_DIR "/lib/thrust/plugins/libthrust_backend_cpu.so";
  if (access(cpu.c_str(), R_OK) != 0) GTEST_SKIP() << "the cpu backend is not built";
  const std::string arguments = "--plugin " + cpu + " --filter neg";
  EXPECT_EQ(conformance(arguments).code, 0);  // what it does not claim is no failure
  EXPECT_EQ(conformance(arguments + " --level training").code, 0);
  const Ending mixed = conformance(arguments + " --level mixed");
  EXPECT_EQ(mixed.code, 1);
  EXPECT_THAT(mixed.out, HasSubstr("mixed precision: not claimed: neg ("));
}

// Whether a worker is at its cases: a child with the parent's own command line, which the child that probes has not.
bool has_worker(pid_t parent) {
  const std::string process = "/proc/" + std::to_string(parent);
  std::istringstream children(text_of(process + "/task/" + std::to_string(parent) + "/children"));
  for (std::string child; children >> child;) {
    const std::string line = text_of("/proc/" + child + "/cmdline");
    if (!line.empty() && line == text_of(process + "/cmdline")) return true;
  }
  return false;
}

TEST(ConformanceCommand, AnInterruptEndsWithWhatThereIs) {
  const std::string output = ::testing::TempDir() + "conformance_stdout_" + std::to_string(getpid());
  const pid_t child = fork();
  if (child == 0) {
    const int file = open(output.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    const std::string binary = kBinaries + "thrust-conformance";
    dup2(file, STDOUT_FILENO);
    execl(binary.c_str(), binary.c_str(), "--plugin", kReference.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!has_worker(child) && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::this_thread::sleep_for(std::chrono::seconds(1));
  kill(child, SIGINT);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_THAT(text_of(output),
              AllOf(HasSubstr("backend    reference "), AnyOf(HasSubstr("incomplete"), HasSubstr("not tried")),
                    HasSubstr("; interrupted\n")));
  std::remove(output.c_str());
}

TEST(ConformanceCommand, WhatCannotStartIsSaidInThreeLines) {
  const std::string reference = "--plugin " + kReference + " ";
  const std::array<std::pair<std::string, const char*>, 14> refusals = {{
      {"", "no backend to test"},
      {"--plugin /nowhere/libthrust_backend_x.so", "there is no such file"},
      {"--backend nobody", "no backend is named 'nobody'"},
      {"--backend reference " + reference, "name two backends"},
      {reference + "--device 7", "device"},
      {reference + "--level perfect", "--level is 'perfect'"},
      {reference + "--filter nothing_like_it", "no case matches --filter 'nothing_like_it'"},
      {reference + "--jobs 0", "--jobs is '0'"},
      {reference + "--timeout soon", "--timeout is 'soon'"},
      {reference + "--reference /nowhere.so", "there is no such file"},
      {reference + "--reference " THRT_BUILD_DIR, "--reference " THRT_BUILD_DIR " cannot be used"},
      {reference + "--reference " THRT_BUILD_DIR "/CMakeCache.txt", "CMakeCache.txt cannot be used"},
      {reference + "--reference " THRT_BUILD_DIR "/lib/thrust/plugins/libthrust_backend_cpu.so", "it is backend 'cpu'"},
      {"--plugin " + test_plugin("segfaults_in_enumerate"), "cannot be used"},
  }};
  for (const auto& [arguments, what] : refusals) {
    const Ending ending = conformance(arguments);
    EXPECT_EQ(ending.code, 2) << arguments;
    EXPECT_THAT(ending.err, AllOf(StartsWith("error: "), HasSubstr(what), HasSubstr("\n  try: "))) << arguments;
    EXPECT_EQ(ending.out, "") << arguments;
  }
}

// The exit code is all that is left then.
TEST(ConformanceCommand, AStreamThatIsClosedOrFullChangesNothingElse) {
  const std::string suite = kBinaries + "thrust-conformance ";
  const std::string good = suite + "--plugin " + kReference + " --filter neg/f32";
  struct Trial {
    std::string command;
    int code;
  };
  for (const auto& [command, code] :
       {Trial{suite + "--plugin /nowhere.so 2>/dev/full", 2}, Trial{suite + "--plugin /nowhere.so 2>&-", 2},
        Trial{suite + "--plugin /nowhere.so <&- >&- 2>&-", 2}, Trial{good + " 2>/dev/full", 0},
        Trial{good + " <&- 2>&-", 0}, Trial{good + " >/dev/full", 1}, Trial{good + " >&-", 1},
        Trial{good + " <&- >&- 2>&-", 1}}) {
    EXPECT_EQ(run("(" + command + ")").code, code) << command;
  }
}

TEST(ConformanceCommand, SuggestsTheNearestOption) {
  EXPECT_THAT(conformance("--filtr x").err, HasSubstr("--filter"));
  EXPECT_EQ(conformance("--help").code, 0);
}

}  // namespace
