// Numbers that another implementation recorded, and programs to try them on.
#pragma once

#include <thrt/graph/passes.hpp>
#include <thrt/runtime/buffer_set.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace thrt::rl::test {

using Record = std::map<std::string, std::vector<double>>;

// Lines of a name and numbers; empty when the file is missing.
inline Record read_record(const std::string& name) {
  Record record;
  std::ifstream file(THRT_TEST_DATA "/" + name);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    for (double value = 0; words >> value;) record[key].push_back(value);
  }
  return record;
}

inline Context open_backend(const std::string& id) {
  LoadOptions options;
  options.validate = true;
  const std::string file = THRT_BUILD_DIR "/lib/thrust/plugins/libthrust_backend_" + id + ".so";
  return Context(std::make_shared<LoadedPlugin>(file, options));
}

// A program with buffers of its own.
struct Loaded {
  Loaded(const Context& context, const Graph& graph, std::uint64_t seed = 1)
      : executable(context, lower(optimise(graph))), buffers(context) {
    buffers.add_slots(executable.program(), seed);
    binding.emplace(buffers.bind(executable));
  }

  void run() { binding->run(); }
  template <typename T>
  void put(const std::string& name, const std::vector<double>& values) {
    const std::vector<T> typed(values.begin(), values.end());
    buffers.at(name).write(std::span<const T>(typed));
  }
  template <typename T>
  std::vector<T> get(const std::string& name) {
    return buffers.at(name).template read<T>();
  }

  Executable executable;
  BufferSet buffers;
  std::optional<Binding> binding;
};

// The layers of a network with two hidden layers of 8, and how many numbers each has.
struct Layer {
  std::string name;
  std::size_t count;
};
inline std::vector<Layer> layers(const std::string& scope, std::size_t inputs, std::size_t outputs) {
  return {{scope + "/1/weight", inputs * 8},
          {scope + "/1/bias", 8},
          {scope + "/2/weight", 64},
          {scope + "/2/bias", 8},
          {scope + "/head/weight", 8 * outputs},
          {scope + "/head/bias", outputs}};
}

inline void put_network(Loaded& program, const std::vector<Layer>& network, const std::vector<double>& flat) {
  auto next = flat.begin();
  for (const Layer& layer : network) {
    const auto end = next + static_cast<std::ptrdiff_t>(layer.count);
    program.put<float>(layer.name, {next, end});
    next = end;
  }
  EXPECT_EQ(next, flat.end());
}

inline void expect_network(Loaded& program, const std::vector<Layer>& network, const std::vector<double>& flat,
                           double tolerance) {
  std::size_t next = 0;
  for (const Layer& layer : network) {
    for (const float value : program.get<float>(layer.name)) {
      ASSERT_LT(next, flat.size());
      EXPECT_NEAR(value, flat[next++], tolerance) << layer.name;
    }
  }
  EXPECT_EQ(next, flat.size());
}

inline void expect_numbers(const std::vector<float>& found, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << "number " << i;
  }
}

}  // namespace thrt::rl::test
