/* Refuses this host in its entry function, as abi.h says. */
#include "plain_plugin.h"

PLAIN_MANIFEST("refuses_host", .version = "1.0.0");

thrt_status thrt_backend_entry_v1(uint32_t host_major, uint32_t host_minor, const thrt_backend_api** api,
                                  thrt_error* error) {
  (void)host_major, (void)host_minor;
  (void)api;
  return plain_fail(error, THRT_INCOMPATIBLE,
                    "this plugin needs a host with ABI 1.7, this one has 1.0: upgrade thrust");
}
