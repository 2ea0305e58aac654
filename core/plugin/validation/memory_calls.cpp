// buffer_*, upload and download through the validation layer.
#include "plugin/validation/context_call.hpp"

namespace thrt::validation {
namespace {

thrt_status buffer_create(thrt_context* handle, const thrt_buffer_options* options, thrt_buffer** buffer,
                          thrt_error* error) {
  if (buffer != nullptr) *buffer = nullptr;
  return in_context("buffer_create", handle, error, [&](Call& call, Context& context) {
    if (buffer == nullptr) return call.host_mistake("buffer is null");
    if (options == nullptr) return call.host_mistake("options is null");
    if (options->struct_size < sizeof *options) return call.host_mistake("options' struct_size is too small");
    if ((options->alignment & (options->alignment - 1)) != 0) {
      return call.host_mistake(fmt::format("alignment {} is not a power of two", options->alignment));
    }
    OutHandle<thrt_buffer> created;
    const thrt_status status = call.forward(&context, {}, [&](thrt_error* answer) {
      return context.plugin->inner_api.buffer_create(context.inner, options, created.slot(), answer);
    });
    const std::string fault = created.check(status, "buffer");
    if (!fault.empty()) return call.plugin_mistake(fault);
    if (status != THRT_OK) return status;
    for (const auto& entry : context.buffers) {
      if (entry.second->alive && entry.second->inner == created.get()) {
        return call.plugin_mistake("hands out a buffer that is alive already");
      }
    }
    auto object = std::make_unique<Buffer>();
    object->inner = created.get();
    object->bytes = options->bytes;
    *buffer = reinterpret_cast<thrt_buffer*>(object.get());
    context.buffers.emplace(object.get(), std::move(object));
    return status;
  });
}

void buffer_destroy(thrt_context* handle, thrt_buffer* buffer) {
  destroy_in_context("buffer_destroy", handle, [&](Call& call, Context& context) {
    const Found<Buffer> object = find_alive(context.buffers, buffer, "buffer");
    if (!object) return call.host_mistake_later(object.fault);
    if (object->live_bindings > 0) {
      return call.host_mistake_later(fmt::format("{} live bindings hold the buffer", object->live_bindings));
    }
    object->alive = false;
    call.forward_destroy([&] { context.plugin->inner_api.buffer_destroy(context.inner, object->inner); });
  });
}

// upload and download differ in the direction of their pointer alone.
template <typename Copy>
thrt_status copy(const char* function, thrt_context* handle, thrt_buffer* buffer, uint64_t offset, const void* memory,
                 uint64_t bytes, thrt_ticket* ticket, thrt_error* error, Copy inner_copy) {
  return in_context(function, handle, error, [&](Call& call, Context& context) {
    const Found<Buffer> object = find_alive(context.buffers, buffer, "buffer");
    if (!object) return call.host_mistake(object.fault);
    if (memory == nullptr && bytes > 0) return call.host_mistake("the host's memory is null");
    if (ticket == nullptr) return call.host_mistake("ticket is null");
    if (offset > object->bytes || bytes > object->bytes - offset) {
      return call.host_mistake(
          fmt::format("{} bytes at offset {} do not lie in the buffer's {}", bytes, offset, object->bytes));
    }
    thrt_ticket queued = 0;
    const thrt_status status = call.forward(
        &context, {}, [&](thrt_error* answer) { return inner_copy(context, object->inner, &queued, answer); });
    return status == THRT_OK ? check_ticket(call, context, queued, ticket) : status;
  });
}

thrt_status upload(thrt_context* handle, thrt_buffer* buffer, uint64_t offset, const void* source, uint64_t bytes,
                   thrt_ticket* ticket, thrt_error* error) {
  return copy("upload", handle, buffer, offset, source, bytes, ticket, error,
              [&](Context& context, thrt_buffer* inner, thrt_ticket* queued, thrt_error* answer) {
                return context.plugin->inner_api.upload(context.inner, inner, offset, source, bytes, queued, answer);
              });
}

thrt_status download(thrt_context* handle, thrt_buffer* buffer, uint64_t offset, void* destination, uint64_t bytes,
                     thrt_ticket* ticket, thrt_error* error) {
  return copy("download", handle, buffer, offset, destination, bytes, ticket, error,
              [&](Context& context, thrt_buffer* inner, thrt_ticket* queued, thrt_error* answer) {
                return context.plugin->inner_api.download(context.inner, inner, offset, destination, bytes, queued,
                                                          answer);
              });
}

}  // namespace

void fill_memory_calls(thrt_backend_api& table) {
  table.buffer_create = buffer_create;
  table.buffer_destroy = buffer_destroy;
  table.upload = upload;
  table.download = download;
}

}  // namespace thrt::validation
