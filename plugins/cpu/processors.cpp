#include "processors.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <set>
#include <thread>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace thrt::cpu {
namespace {

// The processor's own 48 characters (CPUID leaves 0x80000002 to 4), or "".
std::string cpuid_name() {
#if defined(__x86_64__)
  unsigned words[12] = {};
  if (static_cast<unsigned>(__get_cpuid_max(0x80000000u, nullptr)) < 0x80000004u) return "";
  for (unsigned leaf = 0; leaf < 3; ++leaf) {
    unsigned* part = words + 4 * leaf;
    __get_cpuid(0x80000002u + leaf, part, part + 1, part + 2, part + 3);
  }
  char text[sizeof words + 1] = {};
  std::memcpy(text, words, sizeof words);
  return text;
#else
  return "";
#endif
}

// The processors that this process may run on.
std::vector<int> allowed_processors() {
  std::vector<int> list;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return list;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) list.push_back(i);
  }
  return list;
}

// Processors that share a core list the same siblings.
int cores_of(const std::vector<int>& processors) {
  std::set<std::string> cores;
  for (const int processor : processors) {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology/thread_siblings_list");
    std::string siblings;
    if (!std::getline(file, siblings)) siblings = std::to_string(processor);
    cores.insert(siblings);
  }
  return static_cast<int>(cores.size());
}

// A container's share of processors (cgroup v2's cpu.max: quota and period in microseconds, or "max").
double processor_quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;
  if (file >> quota >> period && period > 0) return quota / period;
  return HUGE_VAL;
}

}  // namespace

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  std::string name = cpuid_name();
  return name.empty() ? "processor" : name;
}

int processor_at(int distance) {
  const std::vector<int> allowed = allowed_processors();
  const auto here = std::find(allowed.begin(), allowed.end(), sched_getcpu());
  if (here == allowed.end()) return -1;
  return allowed[static_cast<std::size_t>(here - allowed.begin() + distance) % allowed.size()];
}

void begin_on(int processor) {
  cpu_set_t all, one;
  CPU_ZERO(&all);
  if (processor < 0 || sched_getaffinity(0, sizeof all, &all) != 0) return;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  if (sched_setaffinity(0, sizeof one, &one) == 0) sched_setaffinity(0, sizeof all, &all);
}

int default_threads() {
  constexpr int kMost = 8;
  const int cores = cores_of(allowed_processors());
  const int available = cores > 0 ? cores : static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(static_cast<int>(std::min<double>(available, processor_quota())), 1, kMost);
}

}  // namespace thrt::cpu
