// An exception leaves a constructor of the library while it is loaded.
#include <stdexcept>

#include "plain_plugin.h"

namespace {
struct Thrower {
  Thrower() { throw std::runtime_error("thrown while the library is loaded"); }
} thrower;
}  // namespace

PLAIN_MANIFEST("throws_in_constructor", );
PLAIN_API();
PLAIN_ENTRY()
