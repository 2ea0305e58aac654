// main() of a fuzz target in a normal build: runs it once over each file that it is given, folders with all they hold.
#include "target.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace fs = std::filesystem;

namespace {

int run(const fs::path& path) {
  if (fs::is_directory(path)) {
    int inputs = 0;
    for (const auto& entry : fs::directory_iterator(path)) inputs += run(entry.path());
    return inputs;
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::exit(2);
  }
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::fprintf(stderr, "%s\n", path.c_str());  // the last one is the one that crashed
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  int inputs = 0;
  for (int i = 1; i < argc; ++i) inputs += run(argv[i]);
  std::printf("%d inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
