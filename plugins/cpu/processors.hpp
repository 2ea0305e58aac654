// What the host's processors are called and how many there are for us.
#pragma once

#include <string>
#include <vector>

namespace thrt::cpu {

std::string processor_name();

// How many threads a context gets that leaves it to the backend: one for each core that this process may use, its
// container's quota kept, and 8 at most, for the programs here seldom gain by more.
int default_threads();

// The `distance`-th processor after the one that the calling thread is on, of those that it may use; or -1.
int processor_at(int distance);
// Puts the calling thread on a processor, and then lets it go where the system likes. Left alone, Linux may start a
// thread where its starter runs, and take milliseconds to part two threads that wait for each other without sleeping.
void begin_on(int processor);

}  // namespace thrt::cpu
