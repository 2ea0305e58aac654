#include "plugin/validation/checks.hpp"

namespace thrt::validation {
namespace {

constexpr uint32_t kMaxDepth = 16;  // of sub-programs, against a cycle in a malformed program

std::optional<uint64_t> count_ops(const thrt_program& program, uint32_t depth) {
  if (depth == 0 || (program.op_count > 0 && program.ops == nullptr)) return std::nullopt;
  uint64_t count = program.op_count;
  for (uint32_t i = 0; i < program.op_count; ++i) {
    const uint32_t subprogram = program.ops[i].subprogram;
    if (subprogram == THRT_NONE) continue;
    if (subprogram >= program.subprogram_count || program.subprograms == nullptr ||
        program.subprograms[subprogram] == nullptr) {
      return std::nullopt;
    }
    const auto inside = count_ops(*program.subprograms[subprogram], depth - 1);
    if (!inside) return std::nullopt;
    count += *inside;
  }
  return count;
}

uint64_t dtype_bytes(uint32_t dtype) {
  switch (dtype) {
    case THRT_DTYPE_F64:
      return 8;
    case THRT_DTYPE_F32:
    case THRT_DTYPE_I32:
    case THRT_DTYPE_U32:
      return 4;
    case THRT_DTYPE_F16:
    case THRT_DTYPE_BF16:
      return 2;
    case THRT_DTYPE_U8:
    case THRT_DTYPE_BOOL:
      return 1;
    default:
      return 0;
  }
}

std::optional<uint64_t> value_bytes(const thrt_value& value) {
  uint64_t bytes = dtype_bytes(value.dtype);
  if (bytes == 0 || value.rank > THRT_MAX_RANK) return std::nullopt;
  for (uint32_t axis = 0; axis < value.rank; ++axis) {
    if (value.dims[axis] < 0) return std::nullopt;
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(value.dims[axis]), &bytes)) return std::nullopt;
  }
  return bytes;
}

}  // namespace

std::optional<uint64_t> count_ops(const thrt_program& program) {
  return count_ops(program, kMaxDepth);
}

std::optional<std::vector<SlotShape>> slot_shapes(const thrt_program& program) {
  if (program.slot_count > 0 && (program.slots == nullptr || program.values == nullptr)) return std::nullopt;
  std::vector<SlotShape> shapes;
  for (uint32_t i = 0; i < program.slot_count; ++i) {
    const thrt_slot& slot = program.slots[i];
    const uint32_t value = slot.output_value != THRT_NONE ? slot.output_value : slot.input_value;
    if (value >= program.value_count) return std::nullopt;
    const auto bytes = value_bytes(program.values[value]);
    if (!bytes) return std::nullopt;
    shapes.push_back({*bytes, slot.output_value != THRT_NONE});
  }
  return shapes;
}

void Call::record(const std::string& message) {
  if (plugin_ == nullptr) return;
  {
    const std::lock_guard lock(plugin_->mutex);
    plugin_->violations.push_back(message);
  }
  if (plugin_->on_violation) plugin_->on_violation(message);
}

thrt_status Call::report(thrt_status status, const std::string& message) {
  if (error_ != nullptr) {
    *error_ = thrt_error{};
    error_->code = status;
    error_->op_index = THRT_NONE;
    error_->value_index = THRT_NONE;
    const size_t length = std::min(message.size(), sizeof error_->message - 1);
    std::memcpy(error_->message, message.data(), length);
  }
  return status;
}

thrt_status Call::host_mistake(const std::string& rule, thrt_status status) {
  const std::string message = fmt::format("validation: the host broke a rule: {}: {}", function_, rule);
  record(message);
  return report(status, message);
}

thrt_status Call::plugin_mistake(const std::string& rule) {
  const std::string message = fmt::format("validation: the plugin broke a rule: {} {}", function_, rule);
  record(message);
  return report(THRT_INTERNAL, message);
}

void Call::host_mistake_later(const std::string& rule) {
  const std::string message = fmt::format("validation: the host broke a rule: {}: {}", function_, rule);
  record(message);
  if (plugin_ == nullptr) return;
  const std::lock_guard lock(plugin_->mutex);
  if (plugin_->pending.empty()) plugin_->pending = message;
}

void Call::plugin_mistake_later(const std::string& rule) {
  const std::string message = fmt::format("validation: the plugin broke a rule: {} {}", function_, rule);
  record(message);
  const std::lock_guard lock(plugin_->mutex);
  if (plugin_->pending.empty()) plugin_->pending = message;
}

thrt_status Call::take_pending() {
  std::string message;
  {
    const std::lock_guard lock(plugin_->mutex);
    message.swap(plugin_->pending);
  }
  if (message.empty()) return THRT_OK;
  return report(THRT_INVALID_STATE, message);
}

thrt_status Call::check_answer(Context* context, thrt_status status, const thrt_error& answer,
                               std::optional<uint64_t> ops) {
  if (status > THRT_INTERNAL) return plugin_mistake(fmt::format("answers {}, which is no status", status));
  if (context != nullptr && context->lost && status != THRT_DEVICE_LOST) {
    return plugin_mistake("forgets that the device is lost");
  }
  if (status == THRT_OK) {
    const thrt_error untouched{};
    if (std::memcmp(&answer, &untouched, sizeof answer) == 0) return status;
    return plugin_mistake("answers OK and fills in the error");
  }
  if (!is_terminated(answer.message) || !is_terminated(answer.native_api)) {
    return plugin_mistake("does not end a string of the error");
  }
  if (answer.code != status) {
    return plugin_mistake(fmt::format("answers {} and puts the code {} into the error", status, answer.code));
  }
  if (answer.message[0] == 0) return plugin_mistake(fmt::format("fails with {} without a message", status));
  if (std::strchr(answer.message, '\n') != nullptr) return plugin_mistake("puts a newline into the error's message");
  if (answer.reserved != 0) return plugin_mistake("sets the error's reserved field");
  if (ops && answer.op_index != THRT_NONE && answer.op_index >= *ops) {
    return plugin_mistake(fmt::format("blames op {}, the program has {}", answer.op_index, *ops));
  }
  if (context != nullptr && status == THRT_DEVICE_LOST) context->lost = true;
  if (error_ != nullptr) *error_ = answer;
  return status;
}

}  // namespace thrt::validation
