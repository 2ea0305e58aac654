// The validation layer: a function table around any plugin's that checks both sides of abi.h at every call.
//
// What the host does wrong (a destroyed handle, two threads in one context, a range past the end of a buffer) is not
// passed on: the call fails with THRT_INVALID_ARGUMENT or THRT_INVALID_STATE. What the plugin does wrong (OK with a
// null result, bytes written past struct_size, a ticket that shrinks) fails with THRT_INTERNAL. The message names the
// function and the rule. A destroy call cannot answer, so what it breaks fails the next call that can.
//
// The layer's handles wrap the plugin's and carry all its state, so it has no globals. Destroyed ones are kept to
// recognise their use, which costs a hundred bytes each until the layer ends: it is for tests and diagnosis.
#pragma once

#include <thrt/abi.h>
#include <thrt/describe.h>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace thrt {

class ValidationLayer {
 public:
  // `inner`: a complete table (LoadedPlugin's), `plugin`: what its plugin_open gave. `on_violation` hears each broken
  // rule at once, on the thread that broke it; may be empty. `describe`: the plugin's table of thrt/describe.h, or null.
  ValidationLayer(const thrt_backend_api& inner, thrt_plugin* plugin,
                  std::function<void(const std::string&)> on_violation = {},
                  const thrt_describe_api* describe = nullptr);
  ~ValidationLayer();
  ValidationLayer(const ValidationLayer&) = delete;
  ValidationLayer& operator=(const ValidationLayer&) = delete;

  // plugin_open answers THRT_INVALID_STATE: the plugin is open. plugin_close closes the inner one. get_extension
  // answers null: a plugin's own table takes the plugin's handles, and not this layer's.
  const thrt_backend_api& api() const;
  const thrt_describe_api* describe_api() const;  // around the plugin's, or null
  thrt_plugin* plugin() const;

  std::vector<std::string> violations() const;  // all so far, in order

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace thrt
