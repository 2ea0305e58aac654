/* Sets the locale of the whole process. */
#include <locale.h>

#include "plain_plugin.h"

__attribute__((constructor)) static void on_load(void) {
  setlocale(LC_ALL, "C.UTF-8");
}

PLAIN_MANIFEST("changes_locale", .version = "1.0.0");
PLAIN_API(.reserved = 0);
PLAIN_ENTRY()
