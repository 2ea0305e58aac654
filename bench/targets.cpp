#include <thrt/bench/targets.hpp>

#include <thrt/error.hpp>
#include <thrt/plugin/kernel_cache.hpp>
#include <thrt/plugin/probe.hpp>
#include <thrt/plugin/registry.hpp>
#include <thrt/plugin/search.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace thrt::bench {
namespace {

constexpr std::array<std::string_view, 4> kPrecisions = {"f32", "tf32", "bf16", "f16"};  // by THRT_PRECISION_...

std::uint32_t precision_of(const std::string& name) {
  const auto* const found = std::find(kPrecisions.begin(), kPrecisions.end(), name);
  if (found == kPrecisions.end()) {
    throw Error(fmt::format("unknown precision '{}'", name), {},
                fmt::format("choose one of {}", fmt::join(kPrecisions, ", ")));
  }
  return static_cast<std::uint32_t>(found - kPrecisions.begin());
}

// The names of the backends that are there; those that are not worth a run are told in `left_out`.
std::vector<std::string> names_of_all(const SearchOptions& search, std::vector<std::string>& left_out) {
  std::vector<std::string> names;
  const Discovery discovery = discover(search, Prober());
  for (const Backend& backend : discovery.backends) {
    const std::string& id = backend.manifest.id;
    if (id == "reference") {
      left_out.push_back("reference: made to be right, not fast; --backend reference times it all the same");
      continue;
    }
    try {
      select_device(BackendSpec::parse(id), backend.devices);
      names.push_back(id);
    } catch (const Error& error) {  // no device, or software that imitates one
      left_out.push_back(fmt::format("{}: {}", id, error.what()));
    }
  }
  for (const UnusableFile& file : discovery.unusable) {
    left_out.push_back(fmt::format("{}: {}", file.file.string(), file.reason));
  }
  return names;
}

bool has_precision(const SelectedBackend& backend, std::uint32_t precision) {
  return (backend.device().precisions & (1U << precision)) != 0;
}

void open_with(const SelectedBackend& backend, const std::string& name, const TargetRequest& request,
               const std::string& precision, Targets& result) {
  const std::uint32_t index = precision_of(precision);
  if (!has_precision(backend, index)) {
    const std::string why = fmt::format("its device {} has {}", backend.device().name,
                                        fmt::join(precision_names(backend.device().precisions), ", "));
    if (!request.backends.empty()) {
      throw Error(fmt::format("backend {} has no precision '{}'", name, precision), why, "--precision f32");
    }
    result.left_out.push_back(fmt::format("{} in {}: {}", name, precision, why));
    return;
  }
  const Context context(backend.plugin, {.device_index = backend.device_index,
                                         .threads = static_cast<std::uint32_t>(request.threads),
                                         .precision = index});
  const std::string id = BackendSpec::parse(name).id;
  result.targets.push_back({index == THRT_PRECISION_F32 ? id : fmt::format("{}-{}", id, precision),
                            index == THRT_PRECISION_F32, backend.device().name, backend.plugin->file().string(),
                            context});
}

}  // namespace

Targets open_targets(const TargetRequest& request) {
  const SearchOptions search = search_of_this_process({request.plugins.begin(), request.plugins.end()});
  Targets result;
  const std::vector<std::string> names =
      request.backends.empty() ? names_of_all(search, result.left_out) : request.backends;
  const std::vector<std::string> precisions =
      request.precisions.empty() ? std::vector<std::string>{"f32"} : request.precisions;
  for (const std::string& precision : precisions) precision_of(precision);  // a wrong one is told before anything opens
  for (const std::string& name : names) {
    const BackendSpec spec = BackendSpec::parse(name);
    LoadOptions load;
    load.cache_dir = kernel_cache_of_this_process(spec.id);
    const SelectedBackend backend = load_backend(spec, search, Prober(), load);
    for (const std::string& precision : precisions) open_with(backend, name, request, precision, result);
  }
  if (result.targets.empty()) {
    throw Error("there is no backend to time", fmt::format("{}", fmt::join(result.left_out, "; ")),
                "`thrust backends` shows what is there; --backend names one");
  }
  return result;
}

}  // namespace thrt::bench
