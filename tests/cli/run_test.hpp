// Tests that train: short runs on the backend of the build, and how to compare what they end with.
#pragma once

#include "process.hpp"

#include <thrt/io/safetensors.hpp>

#include <algorithm>
#include <string>
#include <vector>

#ifndef THRT_TEST_BACKEND
#error "tests/cli/CMakeLists.txt says which backend the runs use"
#endif

namespace thrt::cli::test {

class RunTest : public ThrustTest {
 protected:
  static std::vector<std::string> train(const std::string& steps, const std::vector<std::string>& options) {
    std::vector<std::string> all = {"train", "ppo", "CartPole-v1", "--backend", THRT_TEST_BACKEND, "--total-timesteps",
                                    steps};
    all.insert(all.end(), options.begin(), options.end());
    return all;
  }

  fs::path checkpoint(const std::string& run, int step) const {
    return work() / run / "checkpoints" / ("step_" + std::to_string(step) + ".safetensors");
  }

  // Every tensor (weights, optimiser, random streams, environments) to the bit, and the counters.
  void expect_same_checkpoint(const std::string& one, const std::string& two, int step) const {
    const io::SafeTensors a = io::SafeTensors::read(checkpoint(one, step));
    const io::SafeTensors b = io::SafeTensors::read(checkpoint(two, step));
    ASSERT_GT(a.tensors().size(), 10U);
    ASSERT_EQ(a.tensors().size(), b.tensors().size());
    for (const io::TensorView& tensor : a.tensors()) {
      const io::TensorView* other = b.find(tensor.name);
      ASSERT_NE(other, nullptr) << tensor.name;
      EXPECT_EQ(tensor.shape, other->shape) << tensor.name;
      EXPECT_TRUE(std::equal(tensor.bytes.begin(), tensor.bytes.end(), other->bytes.begin(), other->bytes.end()))
          << tensor.name << " differs";
    }
    EXPECT_EQ(a.metadata, b.metadata);
  }
};

}  // namespace thrt::cli::test
