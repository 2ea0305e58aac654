// What a backend's main source file includes. Its classes derive from those of objects.hpp, and at its end stands
// THRT_BACKEND(MyPlugin, "myid", "1.0.0", "My name", "One line about it")
#pragma once

#include <thrt/ir/opset.hpp>
#include <thrt/sdk/backend_table.hpp>
#include <thrt/sdk/objects.hpp>

// Defines the two exported symbols. The manifest is constant-initialised: it can be read from the file without running
// it.
#define THRT_BACKEND(PluginClass, id_, version_, vendor_, description_)                                     \
  extern "C" {                                                                                              \
  constinit const thrt_manifest thrt_backend_manifest_v1 = {THRT_MANIFEST_MAGIC,                            \
                                                            sizeof(thrt_manifest),                          \
                                                            sizeof(thrt_backend_api),                       \
                                                            THRT_ABI_MAJOR,                                 \
                                                            THRT_ABI_MINOR,                                 \
                                                            ::thrt::sdk::kHostMinorNeeded,                  \
                                                            ::thrt::ir::kOldestOpset,                       \
                                                            THRT_OPSET,                                     \
                                                            8 * sizeof(void*),                              \
                                                            id_,                                            \
                                                            version_,                                       \
                                                            vendor_,                                        \
                                                            description_,                                   \
                                                            {}};                                            \
  thrt_status thrt_backend_entry_v1(uint32_t host_major, uint32_t host_minor, const thrt_backend_api** api, \
                                    thrt_error* error) {                                                    \
    return ::thrt::sdk::backend_entry<PluginClass>(host_major, host_minor, api, id_, error);                \
  }                                                                                                         \
  }                                                                                                         \
  static_assert(true, "THRT_BACKEND ends with a semicolon")
