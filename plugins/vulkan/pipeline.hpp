// Kernels of a device as pipelines: compiled once for each distinct text, shared by all programs of a context, and kept on disk.
#pragma once

#include "cache.hpp"
#include "device.hpp"
#include "shader.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace thrt_vulkan {

// A kernel, ready to launch. Its arguments are the storage buffers 0, 1, ... of descriptor set 0.
class Pipeline {
 public:
  Pipeline(Device& device, VkPipeline handle, VkPipelineLayout layout, VkDescriptorSetLayout set_layout)
      : device_(device), handle_(handle), layout_(layout), set_layout_(set_layout) {}
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  ~Pipeline();

  VkPipeline handle() const { return handle_; }
  VkPipelineLayout layout() const { return layout_; }
  VkDescriptorSetLayout set_layout() const { return set_layout_; }

 private:
  Device& device_;
  VkPipeline handle_;
  VkPipelineLayout layout_;
  VkDescriptorSetLayout set_layout_;
};

struct KernelSource {
  std::string name;  // for messages
  std::string text;  // the whole translation unit
  std::uint32_t arguments = 0;
};

class Kernels {
 public:
  // cache_dir: a folder for compiled kernels, or "". The device outlives it; it outlives the executables.
  Kernels(Device& device, const std::string& cache_dir);
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;
  ~Kernels();

  // One for each source. What is not there yet is made on as many threads as there are processors.
  std::vector<std::shared_ptr<const Pipeline>> make(std::span<const KernelSource> sources);

  // How many were compiled from their text, and how many pipelines were made, so far.
  std::uint64_t compiled() const { return compiled_; }
  std::uint64_t made() const { return made_; }

 private:
  struct Layout {
    VkDescriptorSetLayout set = nullptr;
    VkPipelineLayout pipeline = nullptr;
  };
  const Layout& layout(std::uint32_t arguments);
  std::shared_ptr<const Pipeline> make_one(const KernelSource& source, const Layout& layout);
  Words words_of(const KernelSource& source);
  const ShaderCompiler& compiler();
  Key driver_key() const;
  VkPipelineCache load_driver_cache() const;
  void save_driver_cache() noexcept;

  Device& device_;
  Cache cache_;
  Key shader_key_;  // of all that SPIR-V depends on beside the text
  FloatControls controls_;
  std::map<std::string, std::shared_ptr<const Pipeline>> by_text_;
  std::map<std::uint32_t, Layout> layouts_;  // by number of arguments
  VkPipelineCache driver_cache_ = nullptr;
  std::mutex compiler_mutex_;
  std::unique_ptr<ShaderCompiler> compiler_;  // when something must be compiled
  std::atomic<std::uint64_t> compiled_{0}, made_{0};
  bool unsaved_ = false;  // pipelines in driver_cache_
};

}  // namespace thrt_vulkan
