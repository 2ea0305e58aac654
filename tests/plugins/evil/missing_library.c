/* Needs a library that the loader does not find. */
#include "plain_plugin.h"

int thrt_test_absent(void);
__attribute__((constructor)) static void on_load(void) {
  thrt_test_absent();
}

PLAIN_MANIFEST("missing_library", .version = "1.0.0");
PLAIN_API(.reserved = 0);
PLAIN_ENTRY()
