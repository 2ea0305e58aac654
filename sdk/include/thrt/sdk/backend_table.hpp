// The static function table of a plugin class, and everything abi.h asks of every backend alike: what comes in is
// checked before the author's code sees it, what goes out is a status. Handles across the ABI are pointers to the
// structs of handles.hpp.
#pragma once

#include <thrt/sdk/describe_table.hpp>
#include <thrt/sdk/handles.hpp>
#include <thrt/sdk/objects.hpp>
#include <thrt/sdk/structs.hpp>
#include <thrt/sdk/verify.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace thrt::sdk {

// This SDK calls nothing back, so plugins built with it work under any minor version of the host.
inline constexpr std::uint32_t kHostMinorNeeded = 0;

namespace table {

// ------------------------------------------------------------------------------------------------- plugin and devices

template <typename PluginClass>
thrt_status plugin_open(const thrt_plugin_options* options, thrt_plugin** plugin, thrt_error* error) noexcept {
  if (plugin != nullptr) *plugin = nullptr;
  return guarded(error, [&] {
    require_argument(plugin != nullptr, "plugin is null");
    const thrt_plugin_options known = read_input(options, "thrt_plugin_options");
    if (known.flags != 0) throw Error(THRT_INCOMPATIBLE, "thrt_plugin_options.flags has a flag that is not known");
    auto handle = std::make_unique<PluginHandle>();
    handle->object =
        std::make_unique<PluginClass>(PluginOptions{known.cache_dir != nullptr ? known.cache_dir : std::string()});
    *plugin = reinterpret_cast<thrt_plugin*>(handle.release());
  });
}

inline void plugin_close(thrt_plugin* plugin) noexcept {
  PluginHandle* handle = unwrap(plugin);
  if (handle == nullptr) return;
  static_cast<void>(guarded(nullptr, [&] { handle->contexts.clear(); }));
  delete handle;
}

// The class's own extensions, and those that this SDK makes of virtual functions.
template <typename PluginClass>
const void* get_extension(const char* id) noexcept {
  if (id == nullptr) return nullptr;
  if constexpr (requires { PluginClass::extension(std::string_view()); }) {
    const void* found = nullptr;
    static_cast<void>(guarded(nullptr, [&] { found = PluginClass::extension(id); }));
    if (found != nullptr) return found;
  }
  return std::string_view(id) == THRT_DESCRIBE_ID ? &kDescribeApi : nullptr;
}

inline PluginHandle& checked_plugin(thrt_plugin* plugin) {
  require_argument(plugin != nullptr, "plugin is null");
  return *unwrap(plugin);
}

inline std::uint32_t checked_device(Plugin& plugin, std::uint32_t index) {
  const std::uint32_t count = plugin.device_count();
  if (index >= count) {
    throw Error(THRT_INVALID_ARGUMENT,
                "device index " + std::to_string(index) + " is out of range: the backend has " +
                    (count == 0 ? "no device" : std::to_string(count) + (count == 1 ? " device" : " devices")));
  }
  return index;
}

inline thrt_status device_count(thrt_plugin* plugin, std::uint32_t* count, thrt_error* error) noexcept {
  return guarded(error, [&] {
    PluginHandle& handle = checked_plugin(plugin);
    require_argument(count != nullptr, "count is null");
    *count = handle.object->device_count();
  });
}

inline thrt_status device_info(thrt_plugin* plugin, std::uint32_t index, thrt_device_info* info,
                               thrt_error* error) noexcept {
  return guarded(error, [&] {
    PluginHandle& handle = checked_plugin(plugin);
    checked_struct_size(info, "thrt_device_info");
    thrt_device_info filled{};
    handle.object->device_info(checked_device(*handle.object, index), filled);
    write_output(info, filled, "thrt_device_info");
  });
}

// ------------------------------------------------------------------------------------------------------------ context

inline thrt_status context_create(thrt_plugin* plugin, const thrt_context_options* options, thrt_context** context,
                                  thrt_error* error) noexcept {
  if (context != nullptr) *context = nullptr;
  return guarded(error, [&] {
    PluginHandle& owner = checked_plugin(plugin);
    require_argument(context != nullptr, "context is null");
    const thrt_context_options known = read_input(options, "thrt_context_options");
    thrt_device_info info{};
    owner.object->device_info(checked_device(*owner.object, known.device_index), info);
    const std::string device = "device " + std::to_string(known.device_index) + " (" + info.name + ")";
    if (info.available == 0) throw Error(THRT_UNAVAILABLE, device + " is unavailable: " + info.unavailable_reason);
    if (known.precision >= 32 || (info.precisions & (1u << known.precision)) == 0) {
      const std::string reason = owner.object->why_no_precision(known.precision);
      throw Error(THRT_UNSUPPORTED, device + " does not compute in precision " + std::to_string(known.precision) +
                                        (reason.empty() ? "" : ": " + reason));
    }
    if (known.memory_budget > info.memory_total) {
      throw Error(THRT_OVER_BUDGET, "a budget of " + std::to_string(known.memory_budget) + " bytes is more than the " +
                                        std::to_string(info.memory_total) + " bytes of " + device);
    }
    auto handle = std::make_shared<ContextHandle>();
    handle->owner = &owner;
    handle->object = made(owner.object->create_context(known), "context");
    owner.contexts.emplace(handle.get(), handle);
    *context = reinterpret_cast<thrt_context*>(handle.get());
  });
}

inline void context_destroy(thrt_context* context) noexcept {
  ContextHandle* handle = unwrap(context);
  if (handle == nullptr) return;
  static_cast<void>(guarded(nullptr, [&] { handle->owner->contexts.erase(handle); }));
}

inline thrt_status context_stats(thrt_context* context, thrt_stats* stats, thrt_error* error) noexcept {
  return in_context(context, error, [&](ContextHandle& handle) {
    checked_struct_size(stats, "thrt_stats");
    thrt_stats filled{};
    handle.object->stats(filled);
    filled.buffers = static_cast<std::uint32_t>(handle.buffers.size());
    filled.executables = static_cast<std::uint32_t>(handle.executables.size());
    filled.bindings = static_cast<std::uint32_t>(handle.bindings.size());
    write_output(stats, filled, "thrt_stats");
  });
}

// ------------------------------------------------------------------------------------------------------------- buffer

inline thrt_status buffer_create(thrt_context* context, const thrt_buffer_options* options, thrt_buffer** buffer,
                                 thrt_error* error) noexcept {
  if (buffer != nullptr) *buffer = nullptr;
  return in_context(context, error, [&](ContextHandle& owner) {
    require_argument(buffer != nullptr, "buffer is null");
    thrt_buffer_options known = read_input(options, "thrt_buffer_options");
    if (known.memory_kind > THRT_MEMORY_STAGING) {
      throw Error(THRT_INVALID_ARGUMENT, "memory kind " + std::to_string(known.memory_kind) + " is not known");
    }
    if ((known.alignment & (known.alignment - 1)) != 0) {
      throw Error(THRT_INVALID_ARGUMENT,
                  "an alignment of " + std::to_string(known.alignment) + " bytes is no power of two");
    }
    known.alignment = std::max<std::uint64_t>(known.alignment, 64);
    auto handle = std::make_shared<BufferHandle>();
    handle->owner = &owner;
    handle->bytes = known.bytes;
    handle->object = made(owner.object->create_buffer(known), "buffer");
    owner.buffers.emplace(handle.get(), handle);
    *buffer = reinterpret_cast<thrt_buffer*>(handle.get());
  });
}

inline void buffer_destroy(thrt_context* context, thrt_buffer* buffer) noexcept {
  if (context == nullptr || buffer == nullptr || unwrap(buffer)->owner != unwrap(context)) return;
  static_cast<void>(guarded(nullptr, [&] { unwrap(context)->buffers.erase(unwrap(buffer)); }));
}

inline BufferHandle& checked_range(const ContextHandle& context, thrt_buffer* buffer, std::uint64_t offset,
                                   const void* memory, std::uint64_t bytes, const char* what) {
  BufferHandle& handle = owned(unwrap(buffer), &context, "buffer");
  if (bytes > handle.bytes || offset > handle.bytes - bytes) {
    throw Error(THRT_INVALID_ARGUMENT, std::string(what) + " of " + std::to_string(bytes) + " bytes at offset " +
                                           std::to_string(offset) + " leaves a buffer of " +
                                           std::to_string(handle.bytes) + " bytes");
  }
  if (memory == nullptr && bytes > 0) throw Error(THRT_INVALID_ARGUMENT, std::string(what) + ": the memory is null");
  return handle;
}

inline thrt_status upload(thrt_context* context, thrt_buffer* buffer, std::uint64_t offset, const void* source,
                          std::uint64_t bytes, thrt_ticket* ticket, thrt_error* error) noexcept {
  return in_context(context, error, [&](ContextHandle& owner) {
    require_argument(ticket != nullptr, "ticket is null");
    BufferHandle& handle = checked_range(owner, buffer, offset, source, bytes, "upload");
    *ticket = owner.object->upload(*handle.object, offset,
                                   {static_cast<const std::byte*>(source), static_cast<std::size_t>(bytes)});
  });
}

inline thrt_status download(thrt_context* context, thrt_buffer* buffer, std::uint64_t offset, void* destination,
                            std::uint64_t bytes, thrt_ticket* ticket, thrt_error* error) noexcept {
  return in_context(context, error, [&](ContextHandle& owner) {
    require_argument(ticket != nullptr, "ticket is null");
    BufferHandle& handle = checked_range(owner, buffer, offset, destination, bytes, "download");
    *ticket = owner.object->download(*handle.object, offset,
                                     {static_cast<std::byte*>(destination), static_cast<std::size_t>(bytes)});
  });
}

// --------------------------------------------------------------------------------------------------- check and compile

inline ProgramView verified(const thrt_program* program) {
  require_argument(program != nullptr, "program is null");
  verify(*program);
  return ProgramView(*program);
}

inline thrt_status check(thrt_context* context, const thrt_program* program, thrt_verdict* verdicts,
                         std::uint32_t capacity, std::uint32_t* count, thrt_error* error) noexcept {
  return in_context(context, error, [&](ContextHandle& owner) {
    require_argument(count != nullptr, "count is null");
    require_argument(verdicts != nullptr || capacity == 0, "verdicts is null with a capacity above 0");
    const std::vector<Refusal> refusals = owner.object->check(verified(program));
    for (std::size_t i = 0; i < refusals.size() && i < capacity; ++i) {
      verdicts[i].op_index = refusals[i].op_index;
      verdicts[i].code = THRT_UNSUPPORTED;
      set_text(verdicts[i].reason, refusals[i].reason);
    }
    *count = static_cast<std::uint32_t>(refusals.size());
  });
}

inline void require_supported(const std::vector<Refusal>& refusals) {
  if (refusals.empty()) return;
  const std::size_t others = refusals.size() - 1;
  throw Error(THRT_UNSUPPORTED, "op " + std::to_string(refusals[0].op_index) + ": " + refusals[0].reason +
                                    (others == 0 ? "" : " (and " + std::to_string(others) + " more; check lists them)"))
      .at_op(refusals[0].op_index);
}

inline std::vector<SlotNeeds> slot_needs(const ProgramView& program) {
  std::vector<SlotNeeds> needs;
  for (std::uint32_t i = 0; i < program.slot_count(); ++i) {
    const SlotView slot = program.slot(i);
    needs.push_back({std::string(slot.name), slot.type.bytes(), slot.written()});
  }
  return needs;
}

inline thrt_status compile(thrt_context* context, const thrt_program* program, const thrt_compile_options* options,
                           thrt_executable** executable, thrt_executable_info* info, thrt_error* error) noexcept {
  if (executable != nullptr) *executable = nullptr;
  return in_context(context, error, [&](ContextHandle& owner) {
    require_argument(executable != nullptr, "executable is null");
    if (info != nullptr) checked_struct_size(info, "thrt_executable_info");
    const thrt_compile_options known = read_input(options, "thrt_compile_options");
    constexpr std::uint32_t kFlags = THRT_COMPILE_DEBUG | THRT_COMPILE_CHECK_FINITE;
    if ((known.flags & ~kFlags) != 0) {
      throw Error(THRT_INCOMPATIBLE, "thrt_compile_options.flags has a flag that is not known");
    }
    const auto start = std::chrono::steady_clock::now();
    const ProgramView view = verified(program);
    require_supported(owner.object->check(view));
    // CHECK_FINITE implies DEBUG.
    const std::uint32_t flags =
        (known.flags & THRT_COMPILE_CHECK_FINITE) != 0 ? known.flags | THRT_COMPILE_DEBUG : known.flags;
    auto handle = std::make_shared<ExecutableHandle>();
    handle->owner = &owner;
    handle->slots = slot_needs(view);
    handle->object = made(owner.object->compile(view, flags), "executable");
    thrt_executable_info filled{};
    handle->object->info(filled);
    filled.ops = filled.ops_on_device = view.flat_op_count();
    filled.compile_ns = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count());
    owner.executables.emplace(handle.get(), handle);
    *executable = reinterpret_cast<thrt_executable*>(handle.get());
    if (info != nullptr) write_output(info, filled, "thrt_executable_info");
  });
}

inline void executable_destroy(thrt_context* context, thrt_executable* executable) noexcept {
  if (context == nullptr || executable == nullptr || unwrap(executable)->owner != unwrap(context)) return;
  static_cast<void>(guarded(nullptr, [&] { unwrap(context)->executables.erase(unwrap(executable)); }));
}

// ------------------------------------------------------------------------------------------------------- bind and run

// A region that is written overlaps no other region of the binding; those that are only read may.
inline void require_disjoint(const std::vector<SlotNeeds>& slots, const std::vector<SlotRegion>& regions) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (regions[i].bytes > 0) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(regions[a].buffer, regions[a].offset) < std::pair(regions[b].buffer, regions[b].offset);
  });
  const auto end = [&](std::size_t i) { return regions[i].offset + regions[i].bytes; };
  std::size_t furthest = SIZE_MAX, furthest_written = SIZE_MAX;  // of the regions so far in this buffer
  for (const std::size_t i : order) {
    if (furthest != SIZE_MAX && regions[furthest].buffer != regions[i].buffer) furthest = furthest_written = SIZE_MAX;
    const std::size_t other = slots[i].written ? furthest : furthest_written;
    if (other != SIZE_MAX && end(other) > regions[i].offset) {
      throw Error(THRT_INVALID_ARGUMENT, "slots \"" + slots[other].name + "\" and \"" + slots[i].name +
                                             "\" overlap in one buffer, and one of them is written");
    }
    if (furthest == SIZE_MAX || end(i) > end(furthest)) furthest = i;
    if (slots[i].written && (furthest_written == SIZE_MAX || end(i) > end(furthest_written))) furthest_written = i;
  }
}

inline std::vector<SlotRegion> checked_regions(const ContextHandle& context, const std::vector<SlotNeeds>& slots,
                                               const thrt_slot_buffer* given, std::uint32_t count) {
  if (count != slots.size()) {
    throw Error(THRT_INVALID_ARGUMENT,
                "the program has " + std::to_string(slots.size()) + " slots; " + std::to_string(count) + " were given");
  }
  require_argument(given != nullptr || count == 0, "slots is null");
  std::vector<SlotRegion> regions;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string slot = "slot " + std::to_string(i) + " (\"" + slots[i].name + "\")";
    const BufferHandle& buffer = owned(unwrap(given[i].buffer), &context, ("the buffer of " + slot).c_str());
    const std::uint64_t offset = given[i].offset;
    if (offset % 64 != 0) {
      throw Error(THRT_INVALID_ARGUMENT, slot + ": offset " + std::to_string(offset) + " is no multiple of 64");
    }
    if (slots[i].bytes > buffer.bytes || offset > buffer.bytes - slots[i].bytes) {
      throw Error(THRT_INVALID_ARGUMENT, slot + " needs " + std::to_string(slots[i].bytes) + " bytes at offset " +
                                             std::to_string(offset) + "; its buffer has " +
                                             std::to_string(buffer.bytes));
    }
    regions.push_back({buffer.object.get(), offset, slots[i].bytes});
  }
  require_disjoint(slots, regions);
  return regions;
}

inline thrt_status bind(thrt_context* context, thrt_executable* executable, const thrt_slot_buffer* slots,
                        std::uint32_t slot_count, thrt_binding** binding, thrt_error* error) noexcept {
  if (binding != nullptr) *binding = nullptr;
  return in_context(context, error, [&](ContextHandle& owner) {
    require_argument(binding != nullptr, "binding is null");
    ExecutableHandle& program = owned(unwrap(executable), &owner, "executable");
    const std::vector<SlotRegion> regions = checked_regions(owner, program.slots, slots, slot_count);
    auto handle = std::make_shared<BindingHandle>();
    handle->owner = &owner;
    handle->executable = owner.executables.at(&program);
    for (std::uint32_t i = 0; i < slot_count; ++i) {
      handle->buffers.push_back(owner.buffers.at(unwrap(slots[i].buffer)));
    }
    handle->object = made(owner.object->bind(*program.object, regions), "binding");
    owner.bindings.emplace(handle.get(), handle);
    *binding = reinterpret_cast<thrt_binding*>(handle.get());
  });
}

inline void binding_destroy(thrt_context* context, thrt_binding* binding) noexcept {
  if (context == nullptr || binding == nullptr || unwrap(binding)->owner != unwrap(context)) return;
  static_cast<void>(guarded(nullptr, [&] { unwrap(context)->bindings.erase(unwrap(binding)); }));
}

inline thrt_status enqueue(thrt_context* context, thrt_binding* binding, std::uint32_t repeat, thrt_ticket* ticket,
                           thrt_error* error) noexcept {
  return in_context(context, error, [&](ContextHandle& owner) {
    require_argument(ticket != nullptr, "ticket is null");
    require_argument(repeat >= 1, "repeat is 0; it counts runs, from 1");
    *ticket = owner.object->enqueue(*owned(unwrap(binding), &owner, "binding").object, repeat);
  });
}

inline thrt_status wait(thrt_context* context, thrt_ticket ticket, std::uint64_t timeout_ns,
                        thrt_error* error) noexcept {
  return in_context(context, error, [&](ContextHandle& owner) {
    if (!owner.object->wait(ticket, timeout_ns)) {
      throw Error(THRT_TIMEOUT,
                  "ticket " + std::to_string(ticket) + " was not reached in " + std::to_string(timeout_ns) + " ns");
    }
  });
}

template <typename PluginClass>
inline constexpr thrt_backend_api kApi = {sizeof(thrt_backend_api),
                                          0,
                                          &plugin_open<PluginClass>,
                                          &plugin_close,
                                          &get_extension<PluginClass>,
                                          &device_count,
                                          &device_info,
                                          &context_create,
                                          &context_destroy,
                                          &context_stats,
                                          &buffer_create,
                                          &buffer_destroy,
                                          &upload,
                                          &download,
                                          &check,
                                          &compile,
                                          &executable_destroy,
                                          &bind,
                                          &binding_destroy,
                                          &enqueue,
                                          &wait};

}  // namespace table

// What thrt_backend_entry_v1 does.
template <typename PluginClass>
thrt_status backend_entry(std::uint32_t host_major, std::uint32_t host_minor, const thrt_backend_api** api,
                          const char* id, thrt_error* error) noexcept {
  if (api != nullptr) *api = nullptr;
  return guarded(error, [&] {
    require_argument(api != nullptr, "api is null");
    const auto version = [](std::uint32_t major, std::uint32_t minor) {
      return std::to_string(major) + "." + std::to_string(minor);
    };
    const bool fits = host_major == THRT_ABI_MAJOR && host_minor >= kHostMinorNeeded;
    if (!fits) {
      const bool host_is_older = host_major < THRT_ABI_MAJOR || host_major == THRT_ABI_MAJOR;
      throw Error(THRT_INCOMPATIBLE, std::string("backend ") + id + " speaks ABI " +
                                         version(THRT_ABI_MAJOR, THRT_ABI_MINOR) + " and needs a host of at least " +
                                         version(THRT_ABI_MAJOR, kHostMinorNeeded) + "; this host speaks " +
                                         version(host_major, host_minor) + "; upgrade the " +
                                         (host_is_older ? "host" : "backend"));
    }
    *api = &table::kApi<PluginClass>;
  });
}

}  // namespace thrt::sdk
