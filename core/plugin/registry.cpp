#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thrt/error.hpp>
#include <thrt/plugin/registry.hpp>

namespace fs = std::filesystem;

namespace thrt {
namespace {

// A candidate whose file has been looked at, without running anything.
struct Examined {
  Candidate candidate;
  std::optional<Manifest> manifest;  // nothing: not usable, for `reason`
  std::string reason;
  std::string next;

  // What the file claims to be, as far as it can be told.
  std::string id() const { return manifest ? manifest->id : id_of_file_name(candidate.file); }
};

Examined examine(const Candidate& candidate) {
  Examined examined{candidate, std::nullopt, {}, {}};
  try {
    check_trust(candidate.file);
    examined.manifest = read_manifest(candidate.file);
  } catch (const Error& error) {
    examined.reason = error.why().empty() ? error.what() : fmt::format("{} ({})", error.what(), error.why());
    examined.next = error.next();
  }
  return examined;
}

// Of files with one id: a single named one wins, otherwise none is usable.
void resolve_duplicates(std::vector<Examined>& all) {
  struct Loss {
    size_t index;
    std::string reason;
    std::string next;
  };
  std::vector<Loss> losses;
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < all.size(); ++j) {
      if (i == j || !all[i].manifest || !all[j].manifest || all[i].manifest->id != all[j].manifest->id) continue;
      if (all[i].candidate.named && !all[j].candidate.named) continue;
      const std::string other = all[j].candidate.file.string();
      if (!all[i].candidate.named && all[j].candidate.named) {
        losses.push_back(
            {i, fmt::format("passed over for {}, which --plugin names and which has the same id", other), {}});
      } else {
        losses.push_back({i, fmt::format("another plugin has the same id '{}': {}", all[i].manifest->id, other),
                          fmt::format("remove one of the two, or name one: --plugin {}", other)});
      }
      break;
    }
  }
  for (Loss& loss : losses) {
    all[loss.index].manifest.reset();
    all[loss.index].reason = std::move(loss.reason);
    all[loss.index].next = std::move(loss.next);
  }
}

struct Examination {
  std::vector<Examined> files;
  std::vector<SearchedFolder> folders;
};

Examination examine_all(const SearchOptions& search) {
  SearchResult found = search_plugins(search);
  Examination examination;
  for (const Candidate& candidate : found.candidates) examination.files.push_back(examine(candidate));
  resolve_duplicates(examination.files);
  examination.folders = std::move(found.folders);
  return examination;
}

Discovery probe_all(const Examination& examination, const Prober& prober) {
  Discovery discovery;
  discovery.folders = examination.folders;
  for (const Examined& file : examination.files) {
    if (!file.manifest) {
      discovery.unusable.push_back({file.candidate.file, file.reason, file.next, {}});
      continue;
    }
    ProbeReport report = prober.probe(file.candidate.file);
    if (report.usable) {
      discovery.backends.push_back({file.candidate.file, *file.manifest, std::move(report.devices)});
    } else {
      discovery.unusable.push_back({file.candidate.file, report.reason, report.next, report.printed});
    }
  }
  return discovery;
}

std::string describe(const Discovery& discovery) {
  std::string text = discovery.backends.empty() ? "no backend was found" : "backends found:";
  for (const Backend& backend : discovery.backends) {
    text += fmt::format("\n    {}: {}", backend.manifest.id, backend.file.string());
  }
  if (!discovery.unusable.empty()) text += "\n  files that cannot be used:";
  for (const UnusableFile& file : discovery.unusable) {
    text += fmt::format("\n    {}: {}", file.file.string(), file.reason);
  }
  text += "\n  looked in:";
  for (const SearchedFolder& folder : discovery.folders) {
    text +=
        fmt::format("\n    {} ({}{})", folder.folder.string(), folder.source, folder.exists ? "" : ", no such folder");
  }
  return text;
}

Error cannot_use(const BackendSpec& spec, const fs::path& file, const std::string& reason, const std::string& next,
                 const std::string& printed = {}) {
  std::string why = fmt::format("{}: {}", file.string(), reason);
  if (!printed.empty()) why += fmt::format("\n  it printed: {}", printed.substr(0, printed.find('\n')));
  return Error(fmt::format("backend '{}' cannot be used", spec.id), why,
               next.empty() ? "run `thrust backends` to see every plugin and its state" : next);
}

const Examined& find(const BackendSpec& spec, const Examination& examination, const Prober& prober) {
  const auto& files = examination.files;
  for (const Examined& file : files) {
    if (file.candidate.named && !file.manifest) {
      throw Error(fmt::format("--plugin {}: {}", file.candidate.file.string(), file.reason), {}, file.next);
    }
  }
  const auto good = std::find_if(files.begin(), files.end(),
                                 [&](const Examined& file) { return file.manifest && file.manifest->id == spec.id; });
  if (good != files.end()) return *good;
  const auto bad = std::find_if(files.begin(), files.end(), [&](const Examined& file) { return file.id() == spec.id; });
  if (bad != files.end()) throw cannot_use(spec, bad->candidate.file, bad->reason, bad->next);
  // Probing all takes its time, which an error that tells everything is worth.
  throw Error(
      fmt::format("no backend is named '{}'", spec.id), describe(probe_all(examination, prober)),
      fmt::format("one of the backends found, or give the plugin's file: --plugin libthrust_backend_{}.so", spec.id));
}

}  // namespace

Discovery discover(const SearchOptions& search, const Prober& prober) {
  return probe_all(examine_all(search), prober);
}

SelectedBackend load_backend(const BackendSpec& spec, const SearchOptions& search, const Prober& prober,
                             const LoadOptions& options) {
  const Examination examination = examine_all(search);
  const fs::path file = find(spec, examination, prober).candidate.file;
  const ProbeReport report = prober.probe(file);
  if (!report.usable) throw cannot_use(spec, file, report.reason, report.next, report.printed);
  select_device(spec, report.devices);  // a wrong device is refused before the plugin's code runs here
  SelectedBackend selected;
  try {
    selected.plugin = std::make_shared<LoadedPlugin>(file, options);
  } catch (const Error& error) {
    throw cannot_use(spec, file, error.what(), error.next());
  }
  selected.device_index = select_device(spec, selected.plugin->devices());
  return selected;
}

}  // namespace thrt
