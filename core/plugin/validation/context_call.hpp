// What every [context] call does first.
#pragma once

#include "plugin/validation/checks.hpp"

namespace thrt::validation {

inline constexpr const char* kBusyContext =
    "another call of this context is running; [context] calls are made one at a time";
inline constexpr const char* kBusyPlugin = "another [plugin] call is running; they are made one at a time";

// "" when the context may be used.
inline std::string context_fault(const Context* context) {
  if (context == nullptr) return "the context is null or not one of this plugin";
  if (!context->alive) return "the context is destroyed";
  return {};
}

// "" when `handle` names a live object of this context's map, which *object then is.
template <typename Object, typename Handle>
std::string object_fault(const std::unordered_map<void*, std::unique_ptr<Object>>& objects, Handle* handle,
                         const char* name, Object** object) {
  if (handle == nullptr) return fmt::format("the {} is null", name);
  const auto found = objects.find(handle);
  if (found == objects.end()) return fmt::format("the {} is not one of this context", name);
  if (!found->second->alive) return fmt::format("the {} is destroyed", name);
  *object = found->second.get();
  return {};
}

// A [context] call with a status: body(call, context) runs when the context is alive, no other call is inside and no
// destroy call left a mistake to report.
template <typename Body>
thrt_status in_context(const char* function, thrt_context* handle, thrt_error* error, Body body) {
  Context* context = context_of(handle);
  Call call(function, context != nullptr ? context->plugin : nullptr, error);
  const std::string fault = context_fault(context);
  if (!fault.empty()) return call.host_mistake(fault);
  const Mark mark(context->busy);
  if (!mark.entered()) return call.host_mistake(kBusyContext);
  const thrt_status pending = call.take_pending();
  return pending != THRT_OK ? pending : body(call, *context);
}

// A [context] call that destroys one object: body(call, context) runs under the same conditions.
template <typename Body>
void destroy_in_context(const char* function, thrt_context* handle, Body body) {
  Context* context = context_of(handle);
  Call call(function, context != nullptr ? context->plugin : nullptr, nullptr);
  const std::string fault = context_fault(context);
  if (!fault.empty()) return call.host_mistake_later(fault);
  const Mark mark(context->busy);
  if (!mark.entered()) return call.host_mistake_later(kBusyContext);
  body(call, *context);
}

// After a call that queued work: tickets only grow.
inline thrt_status check_ticket(Call& call, Context& context, thrt_ticket ticket, thrt_ticket* out) {
  if (ticket < context.last_ticket) {
    return call.plugin_mistake(fmt::format("hands out ticket {} after {}", ticket, context.last_ticket.load()));
  }
  context.last_ticket = ticket;
  *out = ticket;
  return THRT_OK;
}

}  // namespace thrt::validation
