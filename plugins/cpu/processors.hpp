// What the host's processors are called and how many there are for us.
#pragma once

#include <string>
#include <vector>

namespace thrt::cpu {

std::string processor_name();

// How many threads a context gets that leaves it to the backend: one for each core that this process may use, its
// container's quota kept, and 8 at most, for the programs here seldom gain by more.
int default_threads();

}  // namespace thrt::cpu
