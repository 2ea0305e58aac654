#include "pipeline.hpp"

#include <thrt/sdk/error.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <thread>

namespace thrt_vulkan {

namespace {

// Pipelines that no program uses are kept for the next one up to here: making them anew takes time, and some drivers keep memory of
// each that ever was.
constexpr std::size_t kMostKept = 2048;

constexpr std::size_t kWorthSaving = 8;  // pipelines made at once: a process may be killed before it ends

// Of what compile() makes of a text: to be counted up when shader.cpp makes something else of it.
constexpr std::uint64_t kShaderRevision = 1;
constexpr std::uint32_t kSpirvMagic = 0x07230203;

constexpr const char* kShaderKind = "spv";
constexpr const char* kDriverKind = "pipelines";
constexpr std::size_t kEmptyDriverCache = 32;  // bytes of VkPipelineCacheHeaderVersionOne alone

// Calls work(0) ... work(count - 1), in any order, on several threads; the first failure is thrown when all have ended.
template <typename Work>
void run_side_by_side(std::size_t count, const Work& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto loop = [&] {
    for (std::size_t i; (i = next++) < count;) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (failure == nullptr) failure = std::current_exception();
        next = count;  // the others finish what they are at
      }
    }
  };
  std::vector<std::thread> threads;
  const std::size_t wanted = std::min<std::size_t>(count, std::max(1u, std::thread::hardware_concurrency()));
  try {
    while (threads.size() + 1 < wanted) threads.emplace_back(loop);
  } catch (...) {  // a system without more threads: fewer will do
  }
  loop();
  for (std::thread& thread : threads) thread.join();
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace

Pipeline::~Pipeline() {
  device_.vk().vkDestroyPipeline(device_.handle(), handle_, nullptr);
}

Kernels::Kernels(Device& device, const std::string& cache_dir) : device_(device), cache_(cache_dir) {
  controls_.signed_zero_inf_nan_preserve = device.abilities().signed_zero_inf_nan_preserve;
  controls_.rounding_rte = device.abilities().rounding_rte;
  shader_key_.add(kShaderRevision)
      .add(ShaderCompiler::version())
      .add(controls_.signed_zero_inf_nan_preserve)
      .add(controls_.rounding_rte);
  driver_cache_ = load_driver_cache();
}

Kernels::~Kernels() {
  if (unsaved_) save_driver_cache();
  by_text_.clear();
  const DeviceTable& vk = device_.vk();
  vk.vkDestroyPipelineCache(device_.handle(), driver_cache_, nullptr);
  for (const auto& [arguments, layout] : layouts_) {
    vk.vkDestroyPipelineLayout(device_.handle(), layout.pipeline, nullptr);
    vk.vkDestroyDescriptorSetLayout(device_.handle(), layout.set, nullptr);
  }
}

std::vector<std::shared_ptr<const Pipeline>> Kernels::make(std::span<const KernelSource> sources) {
  std::vector<std::shared_ptr<const Pipeline>> all(sources.size());
  std::vector<std::size_t> fresh;  // the first source of each text that has no pipeline
  std::map<std::string_view, std::size_t> first;
  std::vector<std::size_t> same(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    same[i] = first.emplace(sources[i].text, i).first->second;
    if (same[i] != i) continue;
    const auto known = by_text_.find(sources[i].text);
    if (known != by_text_.end()) all[i] = known->second;
    if (all[i] == nullptr) fresh.push_back(i);
  }
  if (!fresh.empty()) {
    for (const std::size_t i : fresh) layout(sources[i].arguments);
    // The longest first: none of them is begun when the other threads have nothing left to do.
    std::stable_sort(fresh.begin(), fresh.end(),
                     [&](std::size_t a, std::size_t b) { return sources[a].text.size() > sources[b].text.size(); });
    const KeepSignalHandlers keep;
    run_side_by_side(fresh.size(), [&](std::size_t i) {
      const KernelSource& source = sources[fresh[i]];
      all[fresh[i]] = make_one(source, layouts_.at(source.arguments));
    });
    for (const std::size_t i : fresh) by_text_[sources[i].text] = all[i];
    unsaved_ = true;
    if (fresh.size() >= kWorthSaving) save_driver_cache();
    if (by_text_.size() > kMostKept) {
      std::erase_if(by_text_, [](const auto& entry) { return entry.second.use_count() == 1; });
    }
  }
  for (std::size_t i = 0; i < sources.size(); ++i) all[i] = all[same[i]];
  return all;
}

const Kernels::Layout& Kernels::layout(std::uint32_t arguments) {
  const auto [at, is_new] = layouts_.try_emplace(arguments);
  Layout& layout = at->second;
  if (!is_new && layout.pipeline != nullptr) return layout;
  std::vector<VkDescriptorSetLayoutBinding> bindings(arguments);
  for (std::uint32_t i = 0; i < arguments; ++i) {
    bindings[i].binding = i;
    bindings[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    bindings[i].descriptorCount = 1;
    bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  }
  VkDescriptorSetLayoutCreateInfo set{};
  set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  set.bindingCount = arguments;
  set.pBindings = bindings.data();
  if (layout.set == nullptr) {
    THRT_VK(device_.vk(), vkCreateDescriptorSetLayout, device_.handle(), &set, nullptr, &layout.set);
  }
  VkPipelineLayoutCreateInfo pipeline{};
  pipeline.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  pipeline.setLayoutCount = 1;
  pipeline.pSetLayouts = &layout.set;
  THRT_VK(device_.vk(), vkCreatePipelineLayout, device_.handle(), &pipeline, nullptr, &layout.pipeline);
  return layout;
}

std::shared_ptr<const Pipeline> Kernels::make_one(const KernelSource& source, const Layout& layout) {
  const DeviceTable& vk = device_.vk();
  const Words words = words_of(source);
  VkShaderModuleCreateInfo module_info{};
  module_info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  module_info.codeSize = words.size() * sizeof(std::uint32_t);
  module_info.pCode = words.data();
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.pName = "main";
  info.layout = layout.pipeline;
  THRT_VK(vk, vkCreateShaderModule, device_.handle(), &module_info, nullptr, &info.stage.module);
  VkPipeline pipeline = nullptr;
  const VkResult result = vk.vkCreateComputePipelines(device_.handle(), driver_cache_, 1, &info, nullptr, &pipeline);
  vk.vkDestroyShaderModule(device_.handle(), info.stage.module, nullptr);
  if (result != VK_SUCCESS) {
    const thrt_status status = result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY
                                   ? THRT_OUT_OF_MEMORY
                                   : THRT_INTERNAL;
    throw thrt::sdk::Error(status, "the driver makes no pipeline of kernel " + source.name + ": " + name_of(result))
        .native("vkCreateComputePipelines", result);
  }
  ++made_;
  try {
    return std::make_shared<const Pipeline>(device_, pipeline, layout.pipeline, layout.set);
  } catch (...) {
    vk.vkDestroyPipeline(device_.handle(), pipeline, nullptr);
    throw;
  }
}

Words Kernels::words_of(const KernelSource& source) {
  const Key key = Key(shader_key_).add(source.text);
  if (const auto bytes = cache_.load(key, kShaderKind); bytes && bytes->size() % sizeof(std::uint32_t) == 0) {
    Words words(bytes->size() / sizeof(std::uint32_t));
    if (!words.empty()) std::memcpy(words.data(), bytes->data(), bytes->size());
    if (!words.empty() && words[0] == kSpirvMagic) return words;
  }
  Words words = compiler().compile(source.name, source.text, controls_);
  ++compiled_;
  cache_.store(key, kShaderKind, std::as_bytes(std::span(words)));
  return words;
}

const ShaderCompiler& Kernels::compiler() {
  const std::lock_guard<std::mutex> lock(compiler_mutex_);
  if (compiler_ == nullptr) compiler_ = std::make_unique<ShaderCompiler>();
  return *compiler_;
}

Key Kernels::driver_key() const {
  const Listed& listed = device_.listed();
  const VkPhysicalDeviceProperties& properties = listed.properties;
  return Key()
      .add(std::as_bytes(std::span(listed.driver_uuid)))
      .add(std::as_bytes(std::span(properties.pipelineCacheUUID)))
      .add(properties.vendorID)
      .add(properties.deviceID)
      .add(properties.driverVersion);
}

VkPipelineCache Kernels::load_driver_cache() const {
  const std::optional<std::vector<std::byte>> bytes = cache_.load(driver_key(), kDriverKind);
  VkPipelineCacheCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  info.initialDataSize = bytes ? bytes->size() : 0;
  info.pInitialData = bytes ? bytes->data() : nullptr;
  VkPipelineCache cache = nullptr;
  const DeviceTable& vk = device_.vk();
  if (vk.vkCreatePipelineCache(device_.handle(), &info, nullptr, &cache) == VK_SUCCESS) return cache;
  info.initialDataSize = 0;  // a driver that says what it thinks of the data
  info.pInitialData = nullptr;
  THRT_VK(vk, vkCreatePipelineCache, device_.handle(), &info, nullptr, &cache);
  return cache;
}

void Kernels::save_driver_cache() noexcept {
  if (!cache_.exists()) return;
  unsaved_ = false;
  try {
    const DeviceTable& vk = device_.vk();
    // With what other processes stored in the meantime.
    const VkPipelineCache stored = load_driver_cache();
    vk.vkMergePipelineCaches(device_.handle(), driver_cache_, 1, &stored);
    vk.vkDestroyPipelineCache(device_.handle(), stored, nullptr);
    std::size_t size = 0;
    if (vk.vkGetPipelineCacheData(device_.handle(), driver_cache_, &size, nullptr) != VK_SUCCESS) return;
    if (size <= kEmptyDriverCache) return;
    std::vector<std::byte> bytes(size);
    if (vk.vkGetPipelineCacheData(device_.handle(), driver_cache_, &size, bytes.data()) != VK_SUCCESS) return;
    cache_.store(driver_key(), kDriverKind, std::span(bytes).first(size));
  } catch (...) {  // what cannot be kept is made again
  }
}

}  // namespace thrt_vulkan
