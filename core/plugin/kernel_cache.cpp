#include <sys/auxv.h>

#include <cstdlib>
#include <thrt/plugin/kernel_cache.hpp>

namespace fs = std::filesystem;

namespace thrt {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

std::optional<fs::path> kernel_cache(std::string_view backend_id, const KernelCacheSettings& settings) {
  if (settings.secure) return std::nullopt;
  fs::path folder = settings.xdg_cache_home;
  if (!folder.is_absolute()) {
    folder = settings.home;
    if (!folder.is_absolute()) return std::nullopt;
    folder /= ".cache";
  }
  return folder / "thrust" / backend_id;
}

std::string kernel_cache_of_this_process(std::string_view backend_id) {
  const std::optional<fs::path> folder =
      kernel_cache(backend_id, {variable("XDG_CACHE_HOME"), variable("HOME"), getauxval(AT_SECURE) != 0});
  return folder ? folder->string() : std::string();
}

}  // namespace thrt
