/* Turns denormals to zero for its host, as a library linked with -ffast-math does. */
#include <xmmintrin.h>

#include "plain_plugin.h"

__attribute__((constructor)) static void on_load(void) {
  _mm_setcsr(_mm_getcsr() | 0x8000u);
}

PLAIN_MANIFEST("flips_ftz", .version = "1.0.0");
PLAIN_API(.reserved = 0);
PLAIN_ENTRY()
