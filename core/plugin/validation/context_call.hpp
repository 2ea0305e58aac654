// What every [context] call does first.
#pragma once

#include "plugin/validation/checks.hpp"

namespace thrt::validation {

inline constexpr const char* kBusyContext =
    "another call of this context is running; [context] calls are made one at a time";
inline constexpr const char* kBusyPlugin = "another [plugin] call is running; they are made one at a time";

// What a handle stands for, or the rule that it breaks.
template <typename T>
struct Found {
  T* object = nullptr;
  std::string fault = {};

  explicit operator bool() const { return object != nullptr; }
  T* operator->() const { return object; }
  T& operator*() const { return *object; }
};

// The context, when it may be used.
inline Found<Context> usable(Context* context) {
  if (context == nullptr) return {nullptr, "the context is null or not one of this plugin"};
  if (!context->alive) return {nullptr, "the context is destroyed"};
  return {context};
}

// The live object of this context's map that `handle` names.
template <typename Object, typename Handle>
Found<Object> find_alive(const std::unordered_map<void*, std::unique_ptr<Object>>& objects, Handle* handle,
                         const char* name) {
  if (handle == nullptr) return {nullptr, fmt::format("the {} is null", name)};
  const auto found = objects.find(handle);
  if (found == objects.end()) return {nullptr, fmt::format("the {} is not one of this context", name)};
  if (!found->second->alive) return {nullptr, fmt::format("the {} is destroyed", name)};
  return {found->second.get()};
}

// A [context] call with a status: body(call, context) runs when the context is alive, no other call is inside and no
// destroy call left a mistake to report.
template <typename Body>
thrt_status in_context(const char* function, thrt_context* handle, thrt_error* error, Body body) {
  Context* known = context_of(handle);
  Call call(function, known != nullptr ? known->plugin : nullptr, error);
  const Found<Context> context = usable(known);
  if (!context) return call.host_mistake(context.fault);
  const Mark mark(context->busy);
  if (!mark.entered()) return call.host_mistake(kBusyContext);
  const thrt_status pending = call.take_pending();
  return pending != THRT_OK ? pending : body(call, *context);
}

// A [context] call that destroys one object: body(call, context) runs under the same conditions.
template <typename Body>
void destroy_in_context(const char* function, thrt_context* handle, Body body) {
  Context* known = context_of(handle);
  Call call(function, known != nullptr ? known->plugin : nullptr, nullptr);
  const Found<Context> context = usable(known);
  if (!context) return call.host_mistake_later(context.fault);
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
