/* Ends the process, successfully, while it is loaded. */
#include "plain_plugin.h"

__attribute__((constructor)) static void on_load(void) {
  exit(0);
}

PLAIN_MANIFEST("exits_in_constructor", .version = "1.0.0");
PLAIN_API(.reserved = 0);
PLAIN_ENTRY()
