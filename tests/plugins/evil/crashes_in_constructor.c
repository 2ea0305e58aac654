/* Writes through a null pointer while it is loaded. */
#include "plain_plugin.h"

__attribute__((constructor)) static void on_load(void) {
  plain_crash();
}

PLAIN_MANIFEST("crashes_in_constructor", .version = "1.0.0");
PLAIN_API(.reserved = 0);
PLAIN_ENTRY()
