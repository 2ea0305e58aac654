// check, compile, bind, enqueue and wait through the validation layer.
#include "plugin/validation/context_call.hpp"

namespace thrt::validation {
namespace {

std::string program_fault(const thrt_program* program) {
  if (program == nullptr) return "program is null";
  if (program->struct_size < sizeof *program) return "program's struct_size is too small";
  return {};
}

std::string verdict_fault(const std::vector<thrt_verdict>& verdicts, uint32_t written, uint64_t ops) {
  for (uint32_t i = 0; i < written; ++i) {
    const thrt_verdict& verdict = verdicts[i];
    if (verdict.op_index >= ops) return fmt::format("refuses op {}, the program has {}", verdict.op_index, ops);
    if (verdict.code != THRT_UNSUPPORTED) return fmt::format("gives a verdict the code {}", verdict.code);
    if (!is_terminated(verdict.reason)) return "does not end a verdict's reason";
    if (verdict.reason[0] == 0) return fmt::format("refuses op {} without a reason", verdict.op_index);
  }
  return {};
}

thrt_status check(thrt_context* handle, const thrt_program* program, thrt_verdict* verdicts, uint32_t capacity,
                  uint32_t* count, thrt_error* error) {
  return in_context("check", handle, error, [&](Call& call, Context& context) {
    const std::string fault = program_fault(program);
    if (!fault.empty()) return call.host_mistake(fault);
    if (count == nullptr) return call.host_mistake("count is null");
    if (verdicts == nullptr && capacity > 0) return call.host_mistake("verdicts is null");
    const auto ops = count_ops(*program);
    // One more than the plugin is told of, to see whether it stops.
    std::vector<thrt_verdict> written(capacity + size_t{1});
    std::memset(written.data(), Guarded<int>::kCanary, written.size() * sizeof(thrt_verdict));
    const thrt_verdict canary = written.back();
    uint32_t total = THRT_NONE;
    const thrt_status status = call.forward(&context, ops, [&](thrt_error* answer) {
      return context.plugin->inner_api.check(context.inner, program, written.data(), capacity, &total, answer);
    });
    if (std::memcmp(&written.back(), &canary, sizeof canary) != 0) return call.plugin_mistake("writes past capacity");
    if (status != THRT_OK) return status;
    if (total == THRT_NONE || (ops && total > *ops)) {
      return call.plugin_mistake(fmt::format("counts {} refusals, the program has {} ops", total, ops.value_or(0)));
    }
    const uint32_t given = std::min(total, capacity);
    const std::string broken = verdict_fault(written, given, ops.value_or(UINT64_MAX));
    if (!broken.empty()) return call.plugin_mistake(broken);
    std::copy_n(written.begin(), given, verdicts);
    *count = total;
    return status;
  });
}

std::string info_fault(const Guarded<thrt_executable_info>& info, std::optional<uint64_t> ops) {
  if (!info.intact()) return "writes past the info's struct_size";
  if (info.value.struct_size != sizeof info.value) return "changes the info's struct_size";
  if (info.value.reserved != 0) return "sets the info's reserved field";
  if (!is_terminated(info.value.kind) || info.value.kind[0] == 0) return "gives no kind of executable";
  if (info.value.ops_on_device != info.value.ops) {
    return fmt::format("puts {} of {} ops on the device", info.value.ops_on_device, info.value.ops);
  }
  if (ops && info.value.ops != *ops) return fmt::format("counts {} ops, the program has {}", info.value.ops, *ops);
  return {};
}

thrt_status compile(thrt_context* handle, const thrt_program* program, const thrt_compile_options* options,
                    thrt_executable** executable, thrt_executable_info* info, thrt_error* error) {
  if (executable != nullptr) *executable = nullptr;
  return in_context("compile", handle, error, [&](Call& call, Context& context) {
    const std::string fault = program_fault(program);
    if (!fault.empty()) return call.host_mistake(fault);
    if (options == nullptr) return call.host_mistake("options is null");
    if (options->struct_size < sizeof *options) return call.host_mistake("options' struct_size is too small");
    if (executable == nullptr) return call.host_mistake("executable is null");
    if (info != nullptr && info->struct_size < sizeof *info)
      return call.host_mistake("info's struct_size is too small");
    const auto ops = count_ops(*program);
    OutHandle<thrt_executable> created;
    Guarded<thrt_executable_info> filled;
    filled.value.struct_size = sizeof filled.value;
    const thrt_status status = call.forward(&context, ops, [&](thrt_error* answer) {
      return context.plugin->inner_api.compile(context.inner, program, options, created.slot(), &filled.value, answer);
    });
    std::string broken = created.check(status, "executable");
    if (!broken.empty()) return call.plugin_mistake(broken);
    if (status != THRT_OK) return status;
    broken = info_fault(filled, ops);
    if (!broken.empty()) return call.plugin_mistake(broken);
    const auto slots = slot_shapes(*program);
    if (!slots || !ops) return call.plugin_mistake("compiles a malformed program");
    auto object = std::make_unique<Executable>();
    object->inner = created.get();
    object->ops = *ops;
    object->slots = *slots;
    *executable = reinterpret_cast<thrt_executable*>(object.get());
    context.executables.emplace(object.get(), std::move(object));
    if (info != nullptr) {
      const uint32_t capacity = info->struct_size;
      *info = filled.value;
      info->struct_size = capacity;
    }
    return status;
  });
}

void executable_destroy(thrt_context* handle, thrt_executable* executable) {
  destroy_in_context("executable_destroy", handle, [&](Call& call, Context& context) {
    const Found<Executable> object = find_alive(context.executables, executable, "executable");
    if (!object) return call.host_mistake_later(object.fault);
    if (object->live_bindings > 0) {
      return call.host_mistake_later(fmt::format("{} bindings of it are alive", object->live_bindings));
    }
    object->alive = false;
    call.forward_destroy([&] { context.plugin->inner_api.executable_destroy(context.inner, object->inner); });
  });
}

struct Region {
  const Buffer* buffer;
  uint64_t begin;
  uint64_t end;
  bool written;
};

// What the regions of a binding break; fills in the buffers when nothing.
std::string slots_fault(const Context& context, const Executable& executable, const thrt_slot_buffer* slots,
                        std::vector<Buffer*>& buffers) {
  std::vector<Region> regions;
  for (size_t i = 0; i < executable.slots.size(); ++i) {
    const SlotShape& shape = executable.slots[i];
    const Found<Buffer> buffer = find_alive(context.buffers, slots[i].buffer, "buffer");
    if (!buffer) return fmt::format("slot {}: {}", i, buffer.fault);
    if (slots[i].offset % 64 != 0) return fmt::format("slot {}: offset {} is not a multiple of 64", i, slots[i].offset);
    if (slots[i].offset > buffer->bytes || shape.bytes > buffer->bytes - slots[i].offset) {
      return fmt::format("slot {}: {} bytes at offset {} do not lie in the buffer's {}", i, shape.bytes,
                         slots[i].offset, buffer->bytes);
    }
    const Region region{buffer.object, slots[i].offset, slots[i].offset + shape.bytes, shape.written};
    for (size_t j = 0; j < regions.size(); ++j) {
      const Region& other = regions[j];
      if (other.buffer == region.buffer && (other.written || region.written) && region.begin < other.end &&
          other.begin < region.end) {
        return fmt::format("slots {} and {} overlap, and one of them is written", j, i);
      }
    }
    regions.push_back(region);
    buffers.push_back(buffer.object);
  }
  return {};
}

thrt_status bind(thrt_context* handle, thrt_executable* executable, const thrt_slot_buffer* slots, uint32_t slot_count,
                 thrt_binding** binding, thrt_error* error) {
  if (binding != nullptr) *binding = nullptr;
  return in_context("bind", handle, error, [&](Call& call, Context& context) {
    const Found<Executable> program = find_alive(context.executables, executable, "executable");
    if (!program) return call.host_mistake(program.fault);
    if (binding == nullptr) return call.host_mistake("binding is null");
    if (slot_count != program->slots.size()) {
      return call.host_mistake(fmt::format("{} slots, the program has {}", slot_count, program->slots.size()));
    }
    if (slots == nullptr && slot_count > 0) return call.host_mistake("slots is null");
    std::vector<Buffer*> buffers;
    std::string fault = slots_fault(context, *program, slots, buffers);
    if (!fault.empty()) return call.host_mistake(fault);
    std::vector<thrt_slot_buffer> inner_slots;
    for (uint32_t i = 0; i < slot_count; ++i) inner_slots.push_back({buffers[i]->inner, slots[i].offset});
    OutHandle<thrt_binding> created;
    const thrt_status status = call.forward(&context, program->ops, [&](thrt_error* answer) {
      return context.plugin->inner_api.bind(context.inner, program->inner, inner_slots.data(), slot_count,
                                            created.slot(), answer);
    });
    fault = created.check(status, "binding");
    if (!fault.empty()) return call.plugin_mistake(fault);
    if (status != THRT_OK) return status;
    auto object = std::make_unique<Binding>();
    object->inner = created.get();
    object->executable = program.object;
    object->buffers = std::move(buffers);
    ++program->live_bindings;
    for (Buffer* buffer : object->buffers) ++buffer->live_bindings;
    *binding = reinterpret_cast<thrt_binding*>(object.get());
    context.bindings.emplace(object.get(), std::move(object));
    return status;
  });
}

void binding_destroy(thrt_context* handle, thrt_binding* binding) {
  destroy_in_context("binding_destroy", handle, [&](Call& call, Context& context) {
    const Found<Binding> object = find_alive(context.bindings, binding, "binding");
    if (!object) return call.host_mistake_later(object.fault);
    object->alive = false;
    --object->executable->live_bindings;
    for (Buffer* buffer : object->buffers) --buffer->live_bindings;
    call.forward_destroy([&] { context.plugin->inner_api.binding_destroy(context.inner, object->inner); });
  });
}

thrt_status enqueue(thrt_context* handle, thrt_binding* binding, uint32_t repeat, thrt_ticket* ticket,
                    thrt_error* error) {
  return in_context("enqueue", handle, error, [&](Call& call, Context& context) {
    const Found<Binding> object = find_alive(context.bindings, binding, "binding");
    if (!object) return call.host_mistake(object.fault);
    if (repeat == 0) return call.host_mistake("repeat is 0");
    if (ticket == nullptr) return call.host_mistake("ticket is null");
    thrt_ticket queued = 0;
    const thrt_status status = call.forward(&context, object->executable->ops, [&](thrt_error* answer) {
      return context.plugin->inner_api.enqueue(context.inner, object->inner, repeat, &queued, answer);
    });
    return status == THRT_OK ? check_ticket(call, context, queued, ticket) : status;
  });
}

// [any]: runs beside other calls, so it reads nothing but atomics.
thrt_status wait(thrt_context* handle, thrt_ticket ticket, uint64_t timeout_ns, thrt_error* error) {
  Context* known = context_of(handle);
  Call call("wait", known != nullptr ? known->plugin : nullptr, error);
  const Found<Context> context = usable(known);
  if (!context) return call.host_mistake(context.fault);
  ++context->waiting;
  const uint64_t last = context->last_ticket;
  const thrt_status status =
      ticket > last ? call.host_mistake(fmt::format("ticket {} was never handed out, the last was {}", ticket, last))
                    : call.forward(context.object, {}, [&](thrt_error* answer) {
                        return context->plugin->inner_api.wait(context->inner, ticket, timeout_ns, answer);
                      });
  --context->waiting;
  return status;
}

}  // namespace

void fill_program_calls(thrt_backend_api& table) {
  table.check = check;
  table.compile = compile;
  table.executable_destroy = executable_destroy;
  table.bind = bind;
  table.binding_destroy = binding_destroy;
  table.enqueue = enqueue;
  table.wait = wait;
}

}  // namespace thrt::validation
