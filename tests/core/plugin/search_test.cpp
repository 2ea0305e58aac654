// Where plugins are looked for, and which files are trusted.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin_folder.hpp"

namespace thrt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<fs::path> files_of(const SearchResult& result) {
  std::vector<fs::path> files;
  for (const Candidate& candidate : result.candidates) files.push_back(candidate.file);
  return files;
}

TEST(Search, NamedFilesComeFirstThenTheVariableThenTheBinarysNeighbourhood) {
  const PluginFolder named, first, second, own;
  named.add("prints");
  first.add("null");
  first.add("faulty");
  second.add("bad_magic");
  own.add("no_entry");
  const SearchResult result =
      search_plugins({{named.file("prints")}, first.path().string() + ":" + second.path().string(), {own.path()}});
  EXPECT_THAT(files_of(result), ElementsAre(named.file("prints"), first.file("faulty"), first.file("null"),
                                            second.file("bad_magic"), own.file("no_entry")));
  EXPECT_TRUE(result.candidates[0].named);
  EXPECT_FALSE(result.candidates[1].named);
  ASSERT_EQ(result.folders.size(), 3u);
  EXPECT_EQ(result.folders[0].source, "THRUST_PLUGIN_PATH");
  EXPECT_EQ(result.folders[2].source, "beside the binary");
}

TEST(Search, OneFileReachedTwiceIsOne) {
  const PluginFolder folder, links;
  folder.add("null");
  fs::create_symlink(folder.file("null"), links.file("null"));
  fs::create_hard_link(folder.file("null"), links.file("other"));
  const SearchResult result =
      search_plugins({{folder.path() / "." / folder.file("null").filename()},
                      folder.path().string() + ":" + folder.path().string() + "/:" + links.path().string(),
                      {}});
  EXPECT_THAT(files_of(result), ElementsAre(folder.file("null")));
  EXPECT_TRUE(result.candidates[0].named);
}

TEST(Search, OtherFilesAreNotCandidates) {
  const PluginFolder folder;
  fs::copy_file(built_plugin("null"), folder.path() / "null.so");
  fs::copy_file(built_plugin("null"), folder.path() / "libthrust_backend_null.so.1");
  EXPECT_THAT(files_of(search_plugins(folder.search())), ElementsAre());
}

TEST(Search, BadEntriesOfTheVariableAreErrorsThatNameThem) {
  const PluginFolder folder;
  folder.add("null");
  const auto error = [](const std::string& value) { return error_of([&] { search_plugins({{}, value, {}}); }); };
  EXPECT_STREQ(error(folder.path().string() + ":plugins").what(), "THRUST_PLUGIN_PATH names 'plugins'");
  EXPECT_EQ(error("plugins").why(), "it is a relative path");
  EXPECT_EQ(error(".").why(), "it is a relative path");
  EXPECT_EQ(error("/no/such/folder").why(), "there is no such folder");
  EXPECT_EQ(error(folder.file("null").string()).why(), "it is not a folder");
}

// "$THRUST_PLUGIN_PATH:/folder" with the variable unset. An empty entry must not mean the working directory.
TEST(Search, EmptyEntriesOfTheVariableMeanNothing) {
  const PluginFolder folder;
  folder.add("null");
  const SearchResult result = search_plugins({{}, ":" + folder.path().string() + "::", {}});
  EXPECT_EQ(result.folders.size(), 1u);
  EXPECT_THAT(files_of(result), ElementsAre(folder.file("null")));
}

TEST(Search, TheWorkingDirectoryIsNotSearched) {
  const PluginFolder folder;
  folder.add("null");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  SearchOptions options = search_of_this_process();
  options.path_variable.clear();
  const SearchResult result = search_plugins(options);
  fs::current_path(before);
  EXPECT_THAT(files_of(result), testing::Not(testing::Contains(folder.file("null"))));
}

TEST(Search, AMissingNamedFileIsAnError) {
  EXPECT_STREQ(error_of([] {
                 search_plugins({{"/no/libthrust_backend_x.so"}, {}, {}});
               }).what(),
               "--plugin /no/libthrust_backend_x.so: there is no such file");
}

TEST(Search, AMissingNeighbourhoodIsNoError) {
  const SearchResult result = search_plugins({{}, {}, {"/no/such/folder"}});
  ASSERT_EQ(result.folders.size(), 1u);
  EXPECT_FALSE(result.folders[0].exists);
}

TEST(Search, ThisProcessLooksBesideItsBinary) {
  ASSERT_EQ(setenv("THRUST_PLUGIN_PATH", "/opt/plugins", 1), 0);
  const SearchOptions options = search_of_this_process({"x.so"});
  unsetenv("THRUST_PLUGIN_PATH");
  EXPECT_EQ(options.path_variable, "/opt/plugins");
  EXPECT_THAT(options.named_files, ElementsAre("x.so"));
  const fs::path bin = fs::read_symlink("/proc/self/exe").parent_path();
  EXPECT_EQ(options.own_folders.at(0), bin.parent_path() / "lib/thrust/plugins");
}

// ---- trust

std::string distrust(const fs::path& file) {
  return error_of([&] { check_trust(file); }).what();
}

TEST(Trust, AFileOfThisUserInItsOwnFolderIsTrusted) {
  const PluginFolder folder;
  EXPECT_NO_THROW(check_trust(folder.add("null")));
}

TEST(Trust, WhatEverybodyMayWriteIsNot) {
  const PluginFolder folder;
  const fs::path file = folder.add("null");
  ASSERT_EQ(chmod(file.c_str(), 0646), 0);
  EXPECT_EQ(distrust(file), "everybody may write to it");
  ASSERT_EQ(chmod(file.c_str(), 0600), 0);
  ASSERT_EQ(chmod(folder.path().c_str(), 0707), 0);
  EXPECT_EQ(distrust(file), "everybody may write to its folder " + folder.path().string());
  ASSERT_EQ(chmod(folder.path().c_str(), 01777), 0);  // as /tmp
  EXPECT_EQ(distrust(file), "everybody may write to its folder " + folder.path().string());
}

TEST(Trust, ALinkIsTrustedNoMoreThanWhatItPointsAt) {
  const PluginFolder folder, open_to_all;
  open_to_all.add("null");
  fs::create_symlink(open_to_all.file("null"), folder.file("null"));
  ASSERT_EQ(chmod(open_to_all.path().c_str(), 0777), 0);
  EXPECT_EQ(distrust(folder.file("null")), "everybody may write to its folder " + open_to_all.path().string());
}

TEST(Trust, FoldersAndDevicesAreNoFiles) {
  const PluginFolder folder;
  fs::create_directory(folder.file("null"));
  EXPECT_EQ(distrust(folder.file("null")), "a folder, not a file");
  EXPECT_EQ(distrust("/dev/null"), "not a regular file");
}

TEST(Trust, AnotherUsersFileIsNot) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const PluginFolder folder;
  const fs::path file = folder.add("null");
  ASSERT_EQ(chown(file.c_str(), 65534, 65534), 0);
  EXPECT_THAT(distrust(file), HasSubstr("belongs to user number 65534, who is neither root nor you"));
}

// Root may read everything, so the reading is done by a child with the rights of nobody.
TEST(Trust, AnUnreadableFileSaysSo) {
  const PluginFolder folder;
  const fs::path file = folder.add("null");
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(file.c_str(), 0), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(2);
    const std::string reason = error_of([&] { read_manifest(file); }).what();
    _exit(reason == "cannot be read: Permission denied" ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace thrt
