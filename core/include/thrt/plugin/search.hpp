// Where plugins may come from, in order: files named by the user (--plugin), the folders of THRUST_PLUGIN_PATH, the
// binary's own neighbourhood. Never the working directory. And which of those files may be trusted at all: a plugin is
// native code that runs with the user's rights.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace thrt {

struct SearchOptions {
  std::vector<std::filesystem::path> named_files;  // --plugin
  std::string path_variable;                       // value of THRUST_PLUGIN_PATH: absolute folders, ':' between
  std::vector<std::filesystem::path> own_folders;  // beside the binary; a missing one is no error
};

// The options of this process: reads THRUST_PLUGIN_PATH (unless the process is setuid) and where the binary lies.
SearchOptions search_of_this_process(std::vector<std::filesystem::path> named_files = {});

struct Candidate {
  std::filesystem::path file;  // canonical when it exists
  bool named = false;          // by --plugin
};

struct SearchedFolder {
  std::filesystem::path folder;
  std::string source;  // "THRUST_PLUGIN_PATH" or "beside the binary"
  bool exists = true;
};

struct SearchResult {
  std::vector<Candidate> candidates;  // each file once, in search order; within a folder by name
  std::vector<SearchedFolder> folders;
};

// Throws thrt::Error for a named file that is not there, and for an entry of the variable that is relative or no
// folder.
SearchResult search_plugins(const SearchOptions& options);

// Throws thrt::Error unless `file` is a regular file that root or this user owns and that neither by itself nor by its
// folder can be written by everybody. A sticky folder such as /tmp is refused too: anybody may put a file there.
void check_trust(const std::filesystem::path& file);

}  // namespace thrt
