// plugin_*, device_* and context_* through the validation layer.
#include "plugin/validation/context_call.hpp"

namespace thrt::validation {
namespace {

constexpr uint32_t kMaxDevices = 64;  // abi.h, device_count

// A [plugin] call with a status.
template <typename Body>
thrt_status in_plugin(const char* function, thrt_plugin* handle, thrt_error* error, Body body) {
  Plugin* plugin = plugin_of(handle);
  Call call(function, plugin, error);
  if (plugin == nullptr) return call.host_mistake("the plugin is null or not one of this layer");
  if (!plugin->alive) return call.host_mistake("the plugin is closed");
  const Mark mark(plugin->busy);
  if (!mark.entered()) return call.host_mistake(kBusyPlugin);
  const thrt_status pending = call.take_pending();
  return pending != THRT_OK ? pending : body(call, *plugin);
}

thrt_status plugin_open(const thrt_plugin_options*, thrt_plugin** plugin, thrt_error* error) {
  if (plugin != nullptr) *plugin = nullptr;
  Call call("plugin_open", nullptr, error);
  return call.host_mistake("the plugin is open already", THRT_INVALID_STATE);
}

void plugin_close(thrt_plugin* handle) {
  Plugin* plugin = plugin_of(handle);
  Call call("plugin_close", plugin, nullptr);
  if (plugin == nullptr) return;
  const Mark mark(plugin->busy);
  if (!mark.entered()) return call.host_mistake_later(kBusyPlugin);
  if (!plugin->alive) return call.host_mistake_later("the plugin is closed");
  uint32_t live = 0;
  {
    const std::lock_guard lock(plugin->mutex);
    for (const auto& context : plugin->contexts) live += context->alive ? 1u : 0u;
  }
  // Closing under live contexts is undefined, so it is reported and the plugin stays open.
  if (live > 0) return call.host_mistake_later(fmt::format("{} contexts are still alive", live));
  plugin->alive = false;
  call.forward_destroy([&] { plugin->inner_api.plugin_close(plugin->inner); });
}

thrt_status device_count(thrt_plugin* handle, uint32_t* count, thrt_error* error) {
  return in_plugin("device_count", handle, error, [&](Call& call, Plugin& plugin) {
    if (count == nullptr) return call.host_mistake("count is null");
    uint32_t result = THRT_NONE;
    const thrt_status status = call.forward(
        nullptr, {}, [&](thrt_error* answer) { return plugin.inner_api.device_count(plugin.inner, &result, answer); });
    if (status != THRT_OK) return status;
    if (result > kMaxDevices)
      return call.plugin_mistake(fmt::format("says {}, at most {} are allowed", result, kMaxDevices));
    *count = result;
    return status;
  });
}

std::string device_fault(const thrt_device_info& info) {
  if (!is_terminated(info.name) || !is_terminated(info.driver) || !is_terminated(info.architecture) ||
      !is_terminated(info.unavailable_reason)) {
    return "does not end a string of the info";
  }
  if (info.kind < THRT_DEVICE_CPU || info.kind > THRT_DEVICE_SOFTWARE) return "gives a kind that abi.h does not know";
  if (info.available > 1) return "sets `available` to neither 0 nor 1";
  if (info.available == 0 && info.unavailable_reason[0] == 0) return "gives no reason for an unavailable device";
  if (info.reserved != 0) return "sets the info's reserved field";
  return {};
}

thrt_status device_info(thrt_plugin* handle, uint32_t index, thrt_device_info* info, thrt_error* error) {
  return in_plugin("device_info", handle, error, [&](Call& call, Plugin& plugin) {
    return fill_output(call, info, "info", [&](thrt_device_info* filled) {
      const thrt_status status = call.forward(nullptr, {}, [&](thrt_error* answer) {
        return plugin.inner_api.device_info(plugin.inner, index, filled, answer);
      });
      const std::string fault = status == THRT_OK ? device_fault(*filled) : std::string();
      return fault.empty() ? status : call.plugin_mistake(fault);
    });
  });
}

thrt_status context_create(thrt_plugin* handle, const thrt_context_options* options, thrt_context** context,
                           thrt_error* error) {
  if (context != nullptr) *context = nullptr;
  return in_plugin("context_create", handle, error, [&](Call& call, Plugin& plugin) {
    if (context == nullptr) return call.host_mistake("context is null");
    if (options == nullptr) return call.host_mistake("options is null");
    if (options->struct_size < sizeof *options) return call.host_mistake("options' struct_size is too small");
    OutHandle<thrt_context> created;
    const thrt_status status = call.forward(nullptr, {}, [&](thrt_error* answer) {
      return plugin.inner_api.context_create(plugin.inner, options, created.slot(), answer);
    });
    const std::string fault = created.check(status, "context");
    if (!fault.empty()) return call.plugin_mistake(fault);
    if (status != THRT_OK) return status;
    auto object = std::make_unique<Context>();
    object->plugin = &plugin;
    object->inner = created.get();
    *context = reinterpret_cast<thrt_context*>(object.get());
    const std::lock_guard lock(plugin.mutex);
    plugin.contexts.push_back(std::move(object));
    return status;
  });
}

void context_destroy(thrt_context* handle) {
  Context* known = context_of(handle);
  Call call("context_destroy", known != nullptr ? known->plugin : nullptr, nullptr);
  const Found<Context> context = usable(known);
  if (!context) return call.host_mistake_later(context.fault);
  const Mark plugin_mark(context->plugin->busy);
  if (!plugin_mark.entered()) return call.host_mistake_later(kBusyPlugin);
  const Mark mark(context->busy);
  if (!mark.entered()) return call.host_mistake_later(kBusyContext);
  if (context->waiting > 0) return call.host_mistake_later("a thread waits for a ticket of this context");
  const uint32_t buffers = count_alive(context->buffers);
  const uint32_t executables = count_alive(context->executables);
  const uint32_t bindings = count_alive(context->bindings);
  if (buffers + executables + bindings > 0) {
    call.host_mistake_later(
        fmt::format("{} buffers, {} executables and {} bindings are still alive", buffers, executables, bindings));
  }
  // Passed on all the same: abi.h says that what is left is freed with the context.
  context->alive = false;
  for (auto& entry : context->buffers) entry.second->alive = false;
  for (auto& entry : context->executables) entry.second->alive = false;
  for (auto& entry : context->bindings) entry.second->alive = false;
  call.forward_destroy([&] { context->plugin->inner_api.context_destroy(context->inner); });
}

std::string stats_fault(const Context& context, const thrt_stats& stats) {
  const auto compare = [](const char* what, uint32_t said, uint32_t alive) {
    return said == alive ? std::string() : fmt::format("counts {} {}, {} are alive", said, what, alive);
  };
  for (const std::string& fault : {compare("buffers", stats.buffers, count_alive(context.buffers)),
                                   compare("executables", stats.executables, count_alive(context.executables)),
                                   compare("bindings", stats.bindings, count_alive(context.bindings))}) {
    if (!fault.empty()) return fault;
  }
  if (stats.bytes_allocated > stats.bytes_peak) return "says that more is allocated than the peak";
  return {};
}

thrt_status context_stats(thrt_context* handle, thrt_stats* stats, thrt_error* error) {
  return in_context("context_stats", handle, error, [&](Call& call, Context& context) {
    return fill_output(call, stats, "stats", [&](thrt_stats* filled) {
      const thrt_status status = call.forward(&context, {}, [&](thrt_error* answer) {
        return context.plugin->inner_api.context_stats(context.inner, filled, answer);
      });
      const std::string fault = status == THRT_OK ? stats_fault(context, *filled) : std::string();
      return fault.empty() ? status : call.plugin_mistake(fault);
    });
  });
}

}  // namespace

void fill_device_calls(thrt_backend_api& table) {
  table.plugin_open = plugin_open;
  table.plugin_close = plugin_close;
  table.device_count = device_count;
  table.device_info = device_info;
  table.context_create = context_create;
  table.context_destroy = context_destroy;
  table.context_stats = context_stats;
}

}  // namespace thrt::validation
