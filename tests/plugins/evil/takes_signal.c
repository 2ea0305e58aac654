/* Takes a signal away from its host. */
#include <signal.h>

#include "plain_plugin.h"

static void ignore_it(int number) {
  (void)number;
}
__attribute__((constructor)) static void on_load(void) {
  signal(SIGUSR1, ignore_it);
}

PLAIN_MANIFEST("takes_signal", .version = "1.0.0");
PLAIN_API(.reserved = 0);
PLAIN_ENTRY()
