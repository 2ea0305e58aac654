/* Prints a banner on standard output. */
#include <stdio.h>

#include "plain_plugin.h"

PLAIN_MANIFEST("prints", .version = "1.0.0");
PLAIN_API(.reserved = 0);

thrt_status thrt_backend_entry_v1(uint32_t host_major, uint32_t host_minor, const thrt_backend_api** api,
                                  thrt_error* error) {
  (void)host_major, (void)host_minor, (void)error;
  puts("Welcome to the plugin!");
  *api = &plain_api;
  return THRT_OK;
}
