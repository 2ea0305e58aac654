// Programs on the first Vulkan device, validation layers on: how many launches and barriers they become, repeats unrolled and not, the
// kernels' cache on disk. What they compute is known in closed form.
#include <thrt/graph/program.hpp>
#include <thrt/graph/tensor_ops.hpp>
#include <thrt/plugin/loaded_plugin.hpp>
#include <thrt/runtime/context.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace thrt {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

std::string& cache_folder() {  // of plugins that are loaded from now on
  static std::string folder;
  return folder;
}

std::shared_ptr<LoadedPlugin> load() {
  setenv("THRUST_VULKAN_VALIDATION", "1", 1);
  LoadOptions options;
  options.cache_dir = cache_folder();
  options.validate = true;
  return std::make_shared<LoadedPlugin>(THRT_VULKAN_PLUGIN, options);
}

Context open() {
  return Context(load());
}

class Ran {
 public:
  Ran(const Context& context, const Graph& graph, std::uint32_t flags = 0) : executable_(context, lower(graph), flags) {
    for (const Program::Slot& slot : executable_.program().slots()) {
      buffers_.emplace_back(context, slot.type.bytes());
      buffers_.back().write(std::vector<std::byte>(slot.type.bytes()));
    }
    binding_ = std::make_unique<Binding>(executable_, buffers_);
  }
  Binding& binding() { return *binding_; }
  const Executable& executable() const { return executable_; }
  thrt_program_counters counters() const { return executable_.counters().value(); }

  template <typename T>
  std::vector<T> read(const std::string& name) const {
    return buffers_[index(name)].read<T>();
  }
  template <typename T>
  void write(const std::string& name, const std::vector<T>& values) {
    buffers_[index(name)].write(std::span<const T>(values));
  }

 private:
  std::size_t index(const std::string& name) const {
    const std::vector<Program::Slot>& slots = executable_.program().slots();
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].name == name) return i;
    }
    throw std::out_of_range(name);
  }
  Executable executable_;
  std::vector<Buffer> buffers_;
  std::unique_ptr<Binding> binding_;
};

const Type kScalar{DType::kI32, {}};

Type matrix(std::int64_t rows, std::int64_t columns) {
  return {DType::kF32, {rows, columns}};
}

// x, then `length` products one after the other: no emitter fuses one into the next.
Tensor chain(Graph& graph, const std::string& name, std::int64_t side, int length) {
  Tensor x = graph.input(name, matrix(side, side));
  for (int i = 0; i < length; ++i) x = matmul(x, graph.input(name + std::to_string(i), matrix(side, side)));
  return x;
}

TEST(VulkanPrograms, IndependentKernelsHaveNoBarrierBetweenThem) {
  Graph graph("independent");
  for (const std::int64_t side : {65, 66, 67, 68}) {
    graph.output("y" + std::to_string(side), chain(graph, "x" + std::to_string(side), side, 1));
  }
  const Context context = open();
  const Ran ran(context, graph);
  EXPECT_EQ(ran.counters().barriers, 0u);
  EXPECT_GE(ran.counters().launches, 1u);
}

TEST(VulkanPrograms, AChainHasABarrierBeforeEachKernelButTheFirst) {
  const Context context = open();
  for (const int length : {2, 5}) {
    Graph graph("chain");
    graph.output("y", chain(graph, "x", 65, length));
    const Ran ran(context, graph);
    EXPECT_GE(ran.counters().launches, static_cast<std::uint64_t>(length));
    EXPECT_EQ(ran.counters().barriers, ran.counters().launches - 1);
  }
}

TEST(VulkanPrograms, ChainsSideBySideShareTheirBarriers) {
  const Context context = open();
  Graph alone("alone"), beside("beside");
  alone.output("y", chain(alone, "x", 65, 4));
  for (const std::int64_t side : {65, 66, 67}) {
    beside.output("y" + std::to_string(side), chain(beside, "x" + std::to_string(side), side, 4));
  }
  EXPECT_EQ(Ran(context, beside).counters().barriers, Ran(context, alone).counters().barriers);
}

TEST(VulkanPrograms, CountsTheBytesOfWhatKernelsAreGiven) {
  Graph graph("bytes");
  graph.output("y", matmul(graph.input("a", matrix(16, 32)), graph.input("b", matrix(32, 8))));
  const Context context = open();
  const Ran ran(context, graph);
  EXPECT_EQ(ran.counters().launches, 1u);
  EXPECT_EQ(ran.counters().bytes_read, 4u * (16 * 32 + 32 * 8));
  EXPECT_EQ(ran.counters().bytes_written, 4u * 16 * 8);
  EXPECT_THAT(ran.executable().describe().value(), HasSubstr("matmul"));
}

// s <- s + iteration, `trips` times.
std::shared_ptr<Graph> adds_iteration() {
  auto body = std::make_shared<Graph>("body");
  const Tensor iteration = body->input("iteration", kScalar);
  body->update("s", body->state("s", kScalar, Init::zeros()) + iteration);
  return body;
}

std::int32_t sum_below(std::int64_t n) {
  return static_cast<std::int32_t>(n * (n - 1) / 2);
}

Graph sums_iterations(std::int64_t trips) {
  Graph graph("sums_iterations");
  const Tensor start = graph.input("start", kScalar);
  graph.output("y", graph.append_repeat(trips, std::vector<Tensor>{start}, {}, adds_iteration())[0]);
  return graph;
}

TEST(VulkanPrograms, ARepeatReadsItsIteration) {
  const Context context = open();
  for (const std::int64_t trips : {0, 1, 2, 100}) {
    Ran ran(context, sums_iterations(trips));
    ran.write<std::int32_t>("start", {7});
    ran.binding().run();
    EXPECT_EQ(ran.read<std::int32_t>("y"), (std::vector<std::int32_t>{7 + sum_below(trips)})) << trips;
  }
}

// 20000 and 16385 commands are beyond what is unrolled; 40001 needs several loops' segments and a rest.
TEST(VulkanPrograms, ARepeatTooLongToUnrollRuns) {
  const Context context = open();
  for (const std::int64_t trips : {16385, 20000, 40001}) {
    Ran ran(context, sums_iterations(trips));
    EXPECT_THAT(ran.executable().describe().value(), HasSubstr("not unrolled"));
    ran.write<std::int32_t>("start", {-5});
    ran.binding().run();
    EXPECT_EQ(ran.read<std::int32_t>("y"), (std::vector<std::int32_t>{-5 + sum_below(trips)})) << trips;
  }
}

// Nothing is computed: not walked a billion times, and no table of as many iterations.
TEST(VulkanPrograms, ARepeatOfNothingTakesNoTimeHoweverLong) {
  auto body = std::make_shared<Graph>("body");
  reshape(body->input("iteration", kScalar), {1});
  body->update("s", body->state("s", kScalar, Init::zeros()));
  Graph graph("nothing");
  const Tensor start = graph.input("start", kScalar);
  graph.output("y", graph.append_repeat(std::int64_t{1} << 30, std::vector<Tensor>{start}, {}, body)[0]);
  const Context context = open();
  for (const std::uint32_t flags : {0u, THRT_COMPILE_DEBUG + 0u}) {
    Ran ran(context, graph, flags);
    ran.write<std::int32_t>("start", {11});
    ran.binding().run();
    EXPECT_EQ(ran.read<std::int32_t>("y"), (std::vector<std::int32_t>{11}));
    EXPECT_LT(context.stats().bytes_peak, 1u << 20);
  }
}

// y = sum over i < outer, j < inner of (1000 i + j).
Graph nested(std::int64_t outer, std::int64_t inner) {
  auto inside = std::make_shared<Graph>("inside");
  const Tensor j = inside->input("iteration", kScalar);
  const Tensor s = inside->state("s", kScalar, Init::zeros());
  inside->update("s", s + inside->input("i", kScalar) * 1000.0 + j);
  auto outside = std::make_shared<Graph>("outside");
  const Tensor i = outside->input("iteration", kScalar);
  const Tensor t = outside->state("t", kScalar, Init::zeros());
  outside->update("t", outside->append_repeat(inner, std::vector<Tensor>{t}, std::vector<Tensor>{i}, inside)[0]);
  Graph graph("nested");
  graph.output("y", graph.append_repeat(outer, std::vector<Tensor>{graph.input("start", kScalar)}, {}, outside)[0]);
  return graph;
}

TEST(VulkanPrograms, NestedRepeatsReadBothIterations) {
  const Context context = open();
  // Unrolled both; the outer one too long; both too long.
  for (const auto& [outer, inner] : {std::pair<std::int64_t, std::int64_t>{4, 5}, {300, 100}, {2, 17000}}) {
    Ran ran(context, nested(outer, inner));
    EXPECT_THAT(ran.executable().describe().value(),
                outer * inner > 20 ? HasSubstr("not unrolled") : HasSubstr("times, unrolled"));
    ran.binding().run();
    const std::int64_t expected = 1000 * inner * (outer * (outer - 1) / 2) + outer * (inner * (inner - 1) / 2);
    EXPECT_EQ(ran.read<std::int32_t>("y"), (std::vector<std::int32_t>{static_cast<std::int32_t>(expected)}))
        << outer << " x " << inner;
  }
}

TEST(VulkanPrograms, RunsFollowEachOtherWithoutWaiting) {
  Graph graph("counts");
  graph.update("s", graph.state("s", kScalar, Init::zeros()) + graph.input("step", kScalar));
  const Context context = open();
  Ran ran(context, graph);
  ran.write<std::int32_t>("step", {1});
  ran.binding().enqueue(5);
  ran.binding().enqueue();
  ran.binding().enqueue(300);
  ran.write<std::int32_t>("step", {1000});  // after the runs before it
  ran.binding().enqueue(3);
  EXPECT_EQ(ran.read<std::int32_t>("s"), (std::vector<std::int32_t>{306 + 3000}));
  EXPECT_EQ(context.stats().runs, 309u);
}

TEST(VulkanPrograms, OpByOpComputesTheSame) {
  const Context context = open();
  for (const std::uint32_t flags : {THRT_COMPILE_DEBUG + 0u, THRT_COMPILE_CHECK_FINITE + 0u}) {
    Ran ran(context, nested(3, 4), flags);
    ran.binding().run(2);
    EXPECT_EQ(ran.read<std::int32_t>("y"), (std::vector<std::int32_t>{1000 * 4 * 3 + 3 * 6}));
  }
}

TEST(VulkanPrograms, RefusesWhatItCannotBind) {
  Graph graph("large");
  graph.output("y", graph.input("x", {DType::kF32, {1100000000}}) + 1.0);
  const std::vector<std::string> refusals = open().refusals(lower(graph));
  ASSERT_EQ(refusals.empty(), false);
  EXPECT_THAT(refusals[0], HasSubstr("4400000000 bytes; this device binds at most"));
}

class VulkanCache : public testing::Test {
 protected:
  VulkanCache() {
    std::string name = (fs::temp_directory_path() / "thrt_vulkan_cache_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    cache_folder() = folder_ / "vulkan";
  }
  ~VulkanCache() override {
    cache_folder().clear();
    fs::remove_all(folder_);
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> list;
    if (!fs::exists(cache_folder())) return list;
    for (const fs::directory_entry& entry : fs::directory_iterator(cache_folder())) list.push_back(entry.path());
    return list;
  }
  fs::path folder_;
};

// Several kernels; right?
bool computes_right() {
  const Context context = open();
  Graph graph("several");
  const Tensor x = graph.input("x", matrix(65, 65));
  graph.output("y", matmul(matmul(x, x), x));
  Ran ran(context, graph);
  std::vector<float> twice(65 * 65);
  for (std::size_t i = 0; i < 65; ++i) twice[i * 66] = 2;
  ran.write("x", twice);
  ran.binding().run();
  const std::vector<float> y = ran.read<float>("y");
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (y[i] != (i % 66 == 0 ? 8.0f : 0.0f)) return false;
  }
  return true;
}

TEST_F(VulkanCache, DamagedFilesAreMadeAnew) {
  ASSERT_TRUE(computes_right());
  const std::vector<fs::path> made = files();
  ASSERT_FALSE(made.empty());
  std::map<fs::path, std::uintmax_t> sizes;
  for (const fs::path& file : made) sizes[file] = fs::file_size(file);
  const auto expect_repaired = [&](const char* damage) {
    EXPECT_TRUE(computes_right()) << damage;
    EXPECT_EQ(files().size(), made.size()) << damage;
    for (const fs::path& file : made) EXPECT_EQ(fs::file_size(file), sizes[file]) << damage << ": " << file;
  };
  for (const fs::path& file : made) fs::resize_file(file, sizes[file] / 2);
  expect_repaired("cut");
  for (const fs::path& file : made) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(sizes[file] / 2));
    stream << "damage";
  }
  expect_repaired("overwritten");
  for (const fs::path& file : made) std::ofstream(file, std::ios::trunc).close();
  expect_repaired("empty");
}

TEST_F(VulkanCache, AFolderThatCannotBeWrittenIsNoError) {
  cache_folder() = "/proc/none/such";
  EXPECT_TRUE(computes_right());
}

// The next test runs this one in other processes.
TEST(VulkanCacheInAProcess, Computes) {
  const char* folder = std::getenv("THRT_TEST_CACHE");
  cache_folder() = folder != nullptr ? folder : "";
  EXPECT_TRUE(computes_right());
}

TEST_F(VulkanCache, ServesTwoProcessesAtOnce) {
  setenv("THRT_TEST_CACHE", cache_folder().c_str(), 1);
  std::vector<pid_t> children;
  for (int i = 0; i < 2; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      execl("/proc/self/exe", "programs_test", "--gtest_filter=VulkanCacheInAProcess.*", "--gtest_brief=1",
            static_cast<char*>(nullptr));
      _exit(127);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  for (const fs::path& file : files()) EXPECT_THAT(file.filename().string(), Not(HasSubstr("unfinished")));
  EXPECT_TRUE(computes_right());
}

}  // namespace
}  // namespace thrt
