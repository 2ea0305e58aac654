#include "open_backend.hpp"

#include "report.hpp"

#include <thrt/error.hpp>
#include <thrt/plugin/kernel_cache.hpp>
#include <thrt/runtime/context.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace thrt::cli {
namespace {

void require_precision(const SelectedBackend& backend, const std::string& precision) {
  const std::vector<std::string_view> names = precision_names(backend.device().precisions);
  if (std::find(names.begin(), names.end(), precision) != names.end()) return;
  std::string why = names.empty() ? "it names none" : fmt::format("it has {}", fmt::join(names, ", "));
  const std::vector<std::string_view> all = precision_names(~0u);
  const auto known = std::find(all.begin(), all.end(), precision);
  if (known != all.end()) {
    try {  // for the backend's own reason
      const auto value = static_cast<std::uint32_t>(known - all.begin());
      const Context context(backend.plugin, {.device_index = backend.device_index, .precision = value});
    } catch (const Error& refusal) {
      why += fmt::format("; {}", refusal.why());
    }
  }
  throw Error(
      fmt::format("backend {} ({}) has no precision '{}'", backend_name(backend), backend.device().name, precision),
      why, names.empty() ? "another backend" : fmt::format("--precision {}", names.front()));
}

}  // namespace

SelectedBackend open_backend(const rl::RunConfig& config, const PluginOptions& options) {
  const BackendSpec spec = BackendSpec::parse(config.backend);
  const SearchOptions search =
      search_of_this_process(std::vector<std::filesystem::path>(options.files.begin(), options.files.end()));
  LoadOptions load;
  load.validate = options.validate;
  load.cache_dir = kernel_cache_of_this_process(spec.id);
  SelectedBackend backend = load_backend(spec, search, Prober(), load);
  require_precision(backend, config.precision);
  return backend;
}

void report_violations(const SelectedBackend& backend) {
  const std::vector<std::string> violations = backend.plugin->violations();
  if (violations.empty()) return;
  constexpr std::size_t kShown = 20;
  const std::size_t shown = std::min(violations.size(), kShown);
  const auto end = violations.begin() + static_cast<std::ptrdiff_t>(shown);
  throw Error(fmt::format("plugin {} or its host broke {} rules of the ABI", backend.plugin->file().string(),
                          violations.size()),
              fmt::format("{}{}", fmt::join(violations.begin(), end, "\n       "),
                          shown < violations.size() ? "\n       ..." : ""),
              "sdk/include/thrt/abi.h has the rules", ErrorKind::kRun);
}

}  // namespace thrt::cli
