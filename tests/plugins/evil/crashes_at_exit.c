/* Answers everything well and crashes when the process ends. */
#include "plain_plugin.h"

__attribute__((destructor)) static void at_exit(void) {
  plain_crash();
}

PLAIN_MANIFEST("crashes_at_exit", .version = "1.0.0");
PLAIN_API(.reserved = 0);
PLAIN_ENTRY()
