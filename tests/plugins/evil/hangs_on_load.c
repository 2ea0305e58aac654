/* Never finishes loading. */
#include <unistd.h>

#include "plain_plugin.h"

__attribute__((constructor)) static void on_load(void) {
  for (;;) pause();
}

PLAIN_MANIFEST("hangs_on_load", .version = "1.0.0");
PLAIN_API(.reserved = 0);
PLAIN_ENTRY()
