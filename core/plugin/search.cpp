#include <fmt/format.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstdlib>
#include <thrt/error.hpp>
#include <thrt/plugin/manifest.hpp>
#include <thrt/plugin/search.hpp>

namespace fs = std::filesystem;

namespace thrt {
namespace {

void add_candidate(SearchResult& result, fs::path file, bool named) {
  // One file reached by two ways is one plugin. Only the folder is resolved for a link in the search folders: the
  // plugin's id comes from the name under which the file is found.
  std::error_code code;
  const fs::path canonical = fs::canonical(file, code);
  if (!code && id_of_file_name(canonical) == id_of_file_name(file)) file = canonical;
  const auto same = [&](const Candidate& other) {
    std::error_code ignored;
    return other.file == file || fs::equivalent(other.file, file, ignored);
  };
  if (std::none_of(result.candidates.begin(), result.candidates.end(), same)) {
    result.candidates.push_back({std::move(file), named});
  }
}

void add_folder(SearchResult& result, const fs::path& folder, const char* source) {
  std::error_code code;
  const bool exists = fs::is_directory(folder, code);
  const fs::path shown = exists ? fs::canonical(folder, code) : folder.lexically_normal();
  const auto same = [&](const SearchedFolder& other) { return other.folder == shown; };
  if (std::any_of(result.folders.begin(), result.folders.end(), same)) return;
  result.folders.push_back({shown, source, exists});
  if (!exists) return;
  std::vector<fs::path> files;
  for (fs::directory_iterator it(shown, code), end; !code && it != end; it.increment(code)) {
    if (!id_of_file_name(it->path()).empty()) files.push_back(it->path());
  }
  if (code) {
    throw Error(fmt::format("cannot list the plugin folder {}", shown.string()), code.message(),
                "make it readable or take it out of the search");
  }
  std::sort(files.begin(), files.end());  // the file system's order differs from run to run
  for (fs::path& file : files) add_candidate(result, std::move(file), false);
}

void add_variable(SearchResult& result, const std::string& value) {
  size_t begin = 0;
  while (begin <= value.size()) {
    const size_t end = std::min(value.find(':', begin), value.size());
    const fs::path entry = value.substr(begin, end - begin);
    begin = end + 1;
    if (entry.empty())
      continue;  // "$THRUST_PLUGIN_PATH:/folder" of an unset variable; it never means the working directory
    const auto refuse = [&](const char* why) {
      return Error(fmt::format("THRUST_PLUGIN_PATH names '{}'", entry.string()), why,
                   "give absolute paths of existing folders, ':' between them");
    };
    if (!entry.is_absolute()) throw refuse("it is a relative path");
    std::error_code code;
    if (!fs::exists(entry, code)) throw refuse("there is no such folder");
    if (!fs::is_directory(entry, code)) throw refuse("it is not a folder");
    add_folder(result, entry, "THRUST_PLUGIN_PATH");
  }
}

}  // namespace

SearchOptions search_of_this_process(std::vector<fs::path> named_files) {
  SearchOptions options;
  options.named_files = std::move(named_files);
  const char* variable = std::getenv("THRUST_PLUGIN_PATH");
  // A setuid process has other rights than the user who set the variable.
  if (variable != nullptr && getauxval(AT_SECURE) == 0) options.path_variable = variable;
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  options.own_folders.push_back((folder / "../lib/thrust/plugins").lexically_normal());
  const fs::path installed = (folder / ".." / THRT_INSTALL_LIBDIR / "thrust/plugins").lexically_normal();
  if (installed != options.own_folders[0]) options.own_folders.push_back(installed);
  return options;
}

SearchResult search_plugins(const SearchOptions& options) {
  SearchResult result;
  for (const fs::path& file : options.named_files) {
    std::error_code code;
    if (!fs::exists(file, code)) {
      throw Error(fmt::format("--plugin {}: there is no such file", file.string()), code ? code.message() : "",
                  "give the path of a libthrust_backend_ID.so");
    }
    add_candidate(result, fs::absolute(file), true);
  }
  add_variable(result, options.path_variable);
  for (const fs::path& folder : options.own_folders) add_folder(result, folder, "beside the binary");
  return result;
}

}  // namespace thrt
