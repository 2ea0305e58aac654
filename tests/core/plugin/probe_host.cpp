// The least executable that a Prober can start.
#include <cstdlib>
#include <cstring>
#include <thrt/plugin/probe.hpp>

int main(int argc, char** argv) {
  if (argc != 4 || std::strcmp(argv[1], "__probe") != 0) return 2;
  return thrt::probe_main(argv[2], std::atoi(argv[3]));
}
