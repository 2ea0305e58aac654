#include "plugin/validation/objects.hpp"

#include <thrt/plugin/validation.hpp>

namespace thrt {
namespace validation {

Plugin* plugin_of(thrt_plugin* handle) {
  auto* plugin = reinterpret_cast<Plugin*>(handle);
  return plugin != nullptr && plugin->magic == Plugin::kMagic ? plugin : nullptr;
}

Context* context_of(thrt_context* handle) {
  auto* context = reinterpret_cast<Context*>(handle);
  return context != nullptr && context->magic == Context::kMagic ? context : nullptr;
}

thrt_backend_api wrapped_table() {
  thrt_backend_api table{};
  table.struct_size = sizeof table;
  table.get_extension = [](const char*) -> const void* { return nullptr; };
  fill_device_calls(table);
  fill_memory_calls(table);
  fill_program_calls(table);
  return table;
}

}  // namespace validation

struct ValidationLayer::Impl {
  validation::Plugin plugin;
  thrt_backend_api table{};
};

ValidationLayer::ValidationLayer(const thrt_backend_api& inner, thrt_plugin* plugin,
                                 std::function<void(const std::string&)> on_violation,
                                 const thrt_describe_api* describe)
    : impl_(std::make_unique<Impl>()) {
  impl_->plugin.inner_api = inner;
  impl_->plugin.inner = plugin;
  impl_->plugin.on_violation = std::move(on_violation);
  impl_->plugin.inner_describe = describe;
  impl_->table = validation::wrapped_table();
}

ValidationLayer::~ValidationLayer() = default;

const thrt_backend_api& ValidationLayer::api() const {
  return impl_->table;
}
const thrt_describe_api* ValidationLayer::describe_api() const {
  return impl_->plugin.inner_describe != nullptr ? &validation::kDescribeTable : nullptr;
}
thrt_plugin* ValidationLayer::plugin() const {
  return reinterpret_cast<thrt_plugin*>(&impl_->plugin);
}
std::vector<std::string> ValidationLayer::violations() const {
  const std::lock_guard lock(impl_->plugin.mutex);
  return impl_->plugin.violations;
}

}  // namespace thrt
