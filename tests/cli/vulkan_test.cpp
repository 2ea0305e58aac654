// The built binary on the Vulkan backend, on Mesa's lavapipe: what it lists, what it refuses and how, what it trains, and
// what it leaves in its cache. Validation layers watch every run: a message of theirs fails it.
#include "process.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace thrt::cli::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// The description of Mesa's software driver, "" where it is not installed.
std::string lavapipe() {
  for (const char* folder : {"/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"}) {
    std::error_code none;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
      const std::string name = entry.path().filename().string();
      if (name.rfind("lvp_icd", 0) == 0) return entry.path().string();
    }
  }
  return "";
}

// With lavapipe as the only driver, whatever else the machine has, and a cache that these tests share.
class VulkanCommand : public ThrustTest {
 protected:
  void SetUp() override {
    if (lavapipe().empty()) GTEST_SKIP() << "there is no lavapipe: Debian's package mesa-vulkan-drivers has it";
    drivers(lavapipe());
    setenv("XDG_CACHE_HOME", THRT_BUILD_DIR "/tests/vulkan_cache", 1);
    setenv("THRUST_VULKAN_VALIDATION", "1", 1);
  }

  static void drivers(const std::string& files) {
    setenv("VK_DRIVER_FILES", files.c_str(), 1);
    setenv("VK_ICD_FILENAMES", files.c_str(), 1);  // the same for loaders before 1.3.207
  }
  static std::vector<std::string> train(const std::string& backend, const std::vector<std::string>& options) {
    std::vector<std::string> all = {"train", "ppo", "CartPole-v1", "--backend", backend};
    all.insert(all.end(), options.begin(), options.end());
    return all;
  }
  // The device list of the Vulkan backend.
  nlohmann::json devices() const {
    const nlohmann::json all = nlohmann::json::parse(thrust_out({"backends", "--json"}));
    for (const nlohmann::json& backend : all.at("backends")) {
      if (backend.at("id") == "vulkan") return backend.at("devices");
    }
    return {};
  }
};

TEST_F(VulkanCommand, ListsTheSoftwareDeviceWithItsAbilities) {
  const nlohmann::json list = devices();
  ASSERT_EQ(list.size(), 1u);
  const nlohmann::json& device = list[0];
  EXPECT_EQ(device.at("kind"), "software");
  EXPECT_EQ(device.at("available"), true);
  EXPECT_THAT(device.at("name").get<std::string>(), StartsWith("llvmpipe"));
  EXPECT_THAT(device.at("driver").get<std::string>(), HasSubstr("Mesa"));
  EXPECT_GE(device.at("subgroup_size").get<int>(), 1);
  EXPECT_GT(device.at("memory_total").get<std::uint64_t>(), 1u << 28);
  EXPECT_THAT(device.at("architecture").get<std::string>(),
              AllOf(HasSubstr("16-bit"), HasSubstr("cooperative matrix")));
  EXPECT_THAT(thrust_out({"backends"}), HasSubstr("used only when asked for: --backend vulkan:0\n"));
}

TEST_F(VulkanCommand, SoftwareIsUsedOnlyWhenItIsAskedFor) {
  const Outcome outcome = thrust(train("vulkan", {"--run-dir", "one"}));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err,
              AllOf(StartsWith("error: backend 'vulkan' has no device but software that imitates one\n"),
                    HasSubstr("0: llvmpipe"), HasSubstr("--backend vulkan:0 or --backend vulkan:llvmpipe\n")));
  EXPECT_FALSE(fs::exists(work() / "one"));
  for (const char* name : {"vulkan:0", "vulkan:llvmpipe"}) {
    const std::string run = std::string("run_") + (name + 7);
    EXPECT_THAT(thrust_out(train(name, {"--run-dir", run, "--total-timesteps", "256"})),
                StartsWith("backend vulkan:0 (llvmpipe"));
  }
}

TEST_F(VulkanCommand, WithoutADriverItSaysWhatToInstall) {
  drivers("/nonexistent");
  EXPECT_THAT(thrust_out({"backends"}), HasSubstr("mesa-vulkan-drivers"));
  for (const char* backend : {"vulkan", "vulkan:llvmpipe"}) {
    const Outcome outcome = thrust(train(backend, {"--run-dir", "one"}));
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    EXPECT_THAT(outcome.err, AllOf(StartsWith("error: backend 'vulkan"), HasSubstr("mesa-vulkan-drivers")));
  }
  EXPECT_FALSE(fs::exists(work() / "one"));
}

// What one backend trained, another evaluates and goes on with.
TEST_F(VulkanCommand, ARunGoesOnAndIsEvaluatedAnywhere) {
  thrust_out(train("vulkan:llvmpipe", {"--run-dir", "one", "--total-timesteps", "1024"}));
  const std::string resumed = thrust_out({"train", "--resume", "one", "--backend", "cpu", "--total-timesteps", "1536"});
  EXPECT_THAT(resumed, StartsWith("backend cpu:0"));
  for (const char* backend : {"cpu", "vulkan:llvmpipe"}) {
    const std::string out = thrust_out({"eval", "one", "--episodes", "2", "--backend", backend, "--json"});
    EXPECT_GE(nlohmann::json::parse(out).at("mean_return").get<double>(), 1.0);
  }
}

TEST_F(VulkanCommand, ShowsWhatAProgramBecomes) {
  thrust_out(train("vulkan:llvmpipe", {"--run-dir", "one", "--total-timesteps", "256", "--save-programs", "programs"}));
  const std::string file = "programs/ppo_act.program";
  const std::string text = thrust_out({"program", "show", file, "--fused", "--backend", "vulkan:llvmpipe"});
  EXPECT_THAT(text, StartsWith("ppo_act: backend=vulkan:0 "));
  EXPECT_THAT(text, HasSubstr("matmul"));
  const nlohmann::json object =
      nlohmann::json::parse(thrust_out({"program", "show", file, "--fused", "--backend", "vulkan:llvmpipe", "--json"}));
  EXPECT_GE(object.at("counters").at("launches").get<int>(), 1);
  EXPECT_LE(object.at("counters").at("launches").get<int>(), object.at("ops").get<int>());
  // The observations at least are read, 4 floats of each of at least one environment.
  EXPECT_GE(object.at("counters").at("bytes_read").get<int>(), 16);
  EXPECT_GE(object.at("counters").at("bytes_written").get<int>(), 4);
}

TEST_F(VulkanCommand, CountsWhatAnUpdateCosts) {
  const std::string out = thrust_out(
      {"bench", "ppo_train_step", "--counters", "--backend", "cpu,vulkan:llvmpipe", "--min-time", "0.01", "--json"});
  int seen = 0;
  const nlohmann::json all = nlohmann::json::parse(out);
  for (const nlohmann::json& row : all.at("results")) {
    const nlohmann::json& program = row.at("programs").at(0);
    if (row.at("backend") == "cpu") {
      EXPECT_EQ(program.at("counters"), nullptr);
      continue;
    }
    ++seen;
    const nlohmann::json& counters = program.at("counters");
    EXPECT_GE(counters.at("launches").get<int>(), 1);
    EXPECT_LT(counters.at("barriers").get<int>(), counters.at("launches").get<int>());
    // Adam alone reads each weight and its two moments, and writes all three.
    EXPECT_GE(counters.at("bytes_read").get<int>(), 3 * 4 * row.at("parameters").get<int>());
    EXPECT_GE(counters.at("bytes_written").get<int>(), 3 * 4 * row.at("parameters").get<int>());
  }
  EXPECT_EQ(seen, 1);
  EXPECT_THAT(thrust_out({"bench", "ppo_train_step", "--counters", "--backend", "cpu", "--min-time", "0.01"}),
              HasSubstr("launches      -  barriers      -  read        -  written        -\n"));
}

TEST_F(VulkanCommand, KeepsItsKernelsForTheUserAlone) {
  const auto run = [&](const std::string& name) {
    thrust_out(train("vulkan:llvmpipe", {"--run-dir", name, "--total-timesteps", "256"}));
  };
  setenv("XDG_CACHE_HOME", (top() / "cache").c_str(), 1);
  const fs::path folder = top() / "cache" / "thrust" / "vulkan";
  thrust_out({"backends"});
  EXPECT_FALSE(fs::exists(folder)) << "nothing was compiled yet";
  run("cold");
  struct stat status {};
  ASSERT_EQ(stat(folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  const auto files = [&] {
    std::vector<fs::path> all;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) all.push_back(entry.path());
    }
    return all;
  };
  ASSERT_FALSE(files().empty());
  // A damaged cache is made anew.
  for (const fs::path& file : files()) {
    fs::resize_file(file, fs::file_size(file) / 2);
    std::fstream(file, std::ios::in | std::ios::out | std::ios::binary) << "damage";
  }
  run("damaged");
  // And without a place for one it works too.
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  run("nowhere");
}

}  // namespace
}  // namespace thrt::cli::test
