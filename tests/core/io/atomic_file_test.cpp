#include "thrt/io/atomic_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "scratch_folder.hpp"
#include "thrt/error.hpp"

namespace thrt::io {
namespace {

using test::ScratchFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Error error_of_writing(const std::filesystem::path& path, std::string_view text) {
  try {
    write_file_atomically(path, text);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown for " << path;
  return Error("");
}

TEST(AtomicFile, WritesTheBytesAndNothingElse) {
  const ScratchFolder folder;
  const std::string text("a\0b\n", 4);
  write_file_atomically(folder.path() / "x.bin", text);
  EXPECT_EQ(content(folder.path() / "x.bin"), text);
  EXPECT_THAT(folder.names(), ElementsAre("x.bin"));
}

TEST(AtomicFile, JoinsPiecesInOrder) {
  const ScratchFolder folder;
  const std::string first = "ab", second, third = "cde";
  const std::array<std::span<const std::byte>, 3> pieces = {
      std::as_bytes(std::span(first)), std::as_bytes(std::span(second)), std::as_bytes(std::span(third))};
  write_file_atomically(folder.path() / "x", pieces);
  EXPECT_EQ(content(folder.path() / "x"), "abcde");
}

TEST(AtomicFile, ReplacesALongerFileAndAWriteProtectedOne) {
  const ScratchFolder folder;
  write_file_atomically(folder.path() / "x", "a much longer content");
  std::filesystem::permissions(folder.path() / "x", std::filesystem::perms::owner_read);
  write_file_atomically(folder.path() / "x", "new");
  EXPECT_EQ(content(folder.path() / "x"), "new");
}

TEST(AtomicFile, GivesTheModeThatTheUmaskAllows) {
  const ScratchFolder folder;
  const mode_t before = ::umask(027);
  write_file_atomically(folder.path() / "x", "1");
  ::umask(before);
  struct stat status {};
  ASSERT_EQ(::stat((folder.path() / "x").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
}

TEST(AtomicFile, AcceptsABareNameAndTheLongestOne) {
  const ScratchFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const std::string longest(255, 'n');
  EXPECT_NO_THROW(write_file_atomically(longest, "1"));
  std::filesystem::current_path(before);
  EXPECT_THAT(folder.names(), ElementsAre(longest));
}

TEST(AtomicFile, SkipsTemporaryNamesThatACrashLeftBehind) {
  const ScratchFolder folder;
  const std::string left = ".thrt-" + std::to_string(::getpid()) + "-0.tmp";
  std::ofstream(folder.path() / left) << "left";
  write_file_atomically(folder.path() / "x", "new");
  EXPECT_EQ(content(folder.path() / "x"), "new");
  EXPECT_EQ(content(folder.path() / left), "left");
}

TEST(AtomicFile, ReadersSeeOneOfTheWritersContentsNeverAMixture) {
  const ScratchFolder folder;
  const std::filesystem::path path = folder.path() / "x";
  write_file_atomically(path, std::string(1000, 'a'));
  std::vector<std::thread> writers;
  for (const char letter : {'a', 'b', 'c'}) {
    writers.emplace_back([&path, letter] {
      for (int i = 0; i < 30; ++i) write_file_atomically(path, std::string(100000, letter));
    });
  }
  for (int i = 0; i < 200; ++i) {
    const std::string seen = content(path);
    ASSERT_FALSE(seen.empty());
    ASSERT_EQ(seen, std::string(seen.size(), seen.front()));
    ASSERT_TRUE(seen.size() == 1000 || seen.size() == 100000) << seen.size();
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_THAT(folder.names(), ElementsAre("x"));
}

TEST(AtomicFile, MissingFolderIsNamed) {
  const ScratchFolder folder;
  const Error error = error_of_writing(folder.path() / "no" / "x", "1");
  EXPECT_THAT(error.what(), HasSubstr((folder.path() / "no" / "x").string()));
  EXPECT_THAT(error.why(), HasSubstr("No such file or directory"));
  EXPECT_THAT(error.next(), HasSubstr("create the folder '" + (folder.path() / "no").string() + "'"));
  EXPECT_EQ(error.kind(), ErrorKind::kStart);
}

TEST(AtomicFile, AFileInPlaceOfTheFolderIsNamed) {
  const ScratchFolder folder;
  write_file_atomically(folder.path() / "file", "1");
  EXPECT_THAT(error_of_writing(folder.path() / "file" / "x", "1").why(), HasSubstr("Not a directory"));
}

TEST(AtomicFile, AFolderInPlaceOfTheFileLeavesNoTemporary) {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.path() / "x");
  EXPECT_THAT(error_of_writing(folder.path() / "x", "1").why(), HasSubstr("Is a directory"));
  EXPECT_THAT(folder.names(), ElementsAre("x"));
}

TEST(AtomicFile, AFolderThatMayNotBeWrittenIsNamed) {
  const ScratchFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0555));
  const uid_t user = ::geteuid();
  constexpr uid_t kNobody = 65534;
  if (user == 0) {  // root may write anywhere
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  const Error error = error_of_writing(folder.path() / "x", "1");
  if (user == 0) {
    ASSERT_EQ(::seteuid(user), 0);
  }
  EXPECT_THAT(error.why(), HasSubstr("Permission denied"));
  EXPECT_THAT(error.next(), HasSubstr("may write"));
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  EXPECT_THAT(folder.names(), IsEmpty());
}

// The limit on file sizes stands in for a device that fills up: write(2) fails part of the way.
TEST(AtomicFile, AWriteThatStopsHalfWayLeavesTheOldFileAlone) {
  const ScratchFolder folder;
  write_file_atomically(folder.path() / "x", "old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 4096;
  auto* handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Error error = error_of_writing(folder.path() / "x", std::string(10000, 'n'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(error.why(), HasSubstr("File too large"));
  EXPECT_EQ(error.kind(), ErrorKind::kRun);
  EXPECT_EQ(content(folder.path() / "x"), "old");
  EXPECT_THAT(folder.names(), ElementsAre("x"));
}

}  // namespace
}  // namespace thrt::io
