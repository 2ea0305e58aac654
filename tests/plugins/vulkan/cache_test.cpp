// The cache's files: what is damaged, cut, or of another key is absent; several processes may write one folder; a folder that cannot
// be written is no error; the folder stays small.
#include "../../../plugins/vulkan/cache.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace thrt_vulkan {
namespace {

namespace fs = std::filesystem;

class CacheTest : public testing::Test {
 protected:
  CacheTest() {
    std::string name = (fs::temp_directory_path() / "thrt_cache_test_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~CacheTest() override {
    std::error_code ignored;
    fs::permissions(folder_, fs::perms::owner_all, ignored);
    fs::remove_all(folder_, ignored);
  }

  static std::vector<std::byte> bytes_of(std::size_t size, unsigned seed) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i * 2654435761u + seed) >> 7);
    return bytes;
  }
  static Key key(std::uint64_t number) { return Key().add(number); }
  fs::path file(const Key& of) const { return folder_ / (of.name() + ".spv"); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(CacheTest, GivesBackWhatWasStored) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{100003}}) {
    Cache(folder_).store(key(size), "spv", bytes_of(size, 1));
    EXPECT_EQ(Cache(folder_).load(key(size), "spv"), bytes_of(size, 1)) << size;
  }
  EXPECT_EQ(Cache(folder_).load(key(7), "spv"), std::nullopt);
  EXPECT_EQ(Cache(folder_).load(key(4096), "pipelines"), std::nullopt);
  EXPECT_EQ(files(), 4u) << "something unfinished was left behind";
}

// What grows until it is too large begins anew, and does not stay as it was for ever.
TEST_F(CacheTest, WhatIsTooLargeIsNotKeptNorWhatWasKeptBefore) {
  constexpr std::uint64_t kMost = 10000;
  Cache(folder_, kMost).store(key(1), "pipelines", bytes_of(5000, 1));
  EXPECT_EQ(Cache(folder_, kMost).load(key(1), "pipelines"), bytes_of(5000, 1));
  Cache(folder_, kMost).store(key(1), "pipelines", bytes_of(5001, 2));
  EXPECT_EQ(Cache(folder_, kMost).load(key(1), "pipelines"), std::nullopt);
  EXPECT_EQ(files(), 0u);
  Cache(folder_, kMost).store(key(1), "pipelines", bytes_of(100, 3));
  EXPECT_EQ(Cache(folder_, kMost).load(key(1), "pipelines"), bytes_of(100, 3));
}

TEST_F(CacheTest, MakesItsFolder) {
  Cache(folder_ / "a" / "b").store(key(1), "spv", bytes_of(10, 1));
  EXPECT_EQ(Cache(folder_ / "a" / "b").load(key(1), "spv"), bytes_of(10, 1));
}

TEST_F(CacheTest, WithoutAFolderKeepsNothing) {
  Cache cache("");
  cache.store(key(1), "spv", bytes_of(10, 1));
  EXPECT_EQ(cache.load(key(1), "spv"), std::nullopt);
}

TEST_F(CacheTest, KeysDependOnEveryByteAndOnWhereOnePartEnds) {
  const std::vector<std::string> names = {Key().name(),
                                          Key().add("a").name(),
                                          Key().add("b").name(),
                                          Key().add("ab").name(),
                                          Key().add("a").add("b").name(),
                                          Key().add("").add("ab").name(),
                                          Key().add(std::string(1, '\0')).name(),
                                          Key().add(std::string(2, '\0')).name(),
                                          Key().add(std::string(8, '\0')).name(),
                                          Key().add(std::string(9, '\0')).name(),
                                          Key().add(std::uint64_t{1}).name(),
                                          Key().add(std::string(1000, 'x') + "y").name(),
                                          Key().add(std::string(1000, 'x') + "z").name()};
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(names[i].size(), 32u);
    for (std::size_t k = 0; k < i; ++k) EXPECT_NE(names[i], names[k]) << i << " and " << k;
  }
}

TEST_F(CacheTest, EveryDamagedByteIsSeenAndTheEntryIsWrittenAnew) {
  const std::vector<std::byte> bytes = bytes_of(100, 3);
  Cache cache(folder_);
  cache.store(key(1), "spv", bytes);
  const auto size = static_cast<std::size_t>(fs::file_size(file(key(1))));
  for (std::size_t at = 0; at < size; ++at) {
    std::fstream stream(file(key(1)), std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const auto was = static_cast<char>(stream.get());
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(static_cast<char>(was ^ 0x10));
    stream.close();
    EXPECT_EQ(cache.load(key(1), "spv"), std::nullopt) << "byte " << at;
    cache.store(key(1), "spv", bytes);
    EXPECT_EQ(cache.load(key(1), "spv"), bytes) << "byte " << at;
  }
}

TEST_F(CacheTest, EveryCutFileIsAbsent) {
  Cache cache(folder_);
  cache.store(key(1), "spv", bytes_of(64, 3));
  for (std::uintmax_t size = fs::file_size(file(key(1))); size-- > 0;) {
    fs::resize_file(file(key(1)), size);
    EXPECT_EQ(cache.load(key(1), "spv"), std::nullopt) << size << " bytes";
  }
  cache.store(key(1), "spv", bytes_of(64, 3));
  std::ofstream(file(key(1)), std::ios::app | std::ios::binary) << 'x';
  EXPECT_EQ(cache.load(key(1), "spv"), std::nullopt) << "longer than it says";
}

TEST_F(CacheTest, AFileUnderAnotherKeysNameIsAbsent) {
  Cache cache(folder_);
  cache.store(key(1), "spv", bytes_of(64, 3));
  fs::rename(file(key(1)), file(key(2)));
  EXPECT_EQ(cache.load(key(2), "spv"), std::nullopt);
}

TEST_F(CacheTest, WhatIsNoFileIsAbsent) {
  Cache cache(folder_);
  fs::create_directory(file(key(1)));
  ASSERT_EQ(mkfifo(file(key(2)).c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", file(key(3)));
  for (const std::uint64_t number : {1u, 2u, 3u}) EXPECT_EQ(cache.load(key(number), "spv"), std::nullopt) << number;
}

TEST_F(CacheTest, AFolderThatCannotBeWrittenIsNoError) {
  const fs::path in_the_way = folder_ / "file";
  std::ofstream(in_the_way) << "not a folder";
  for (const fs::path& path : {in_the_way, in_the_way / "below", fs::path("/proc/none/such")}) {
    Cache cache(path);
    cache.store(key(1), "spv", bytes_of(10, 1));
    EXPECT_EQ(cache.load(key(1), "spv"), std::nullopt) << path;
  }
  if (geteuid() == 0) return;  // root writes anywhere
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  Cache cache(folder_);
  cache.store(key(1), "spv", bytes_of(10, 1));
  EXPECT_EQ(cache.load(key(1), "spv"), std::nullopt);
}

TEST_F(CacheTest, TheFolderStaysSmallAndKeepsWhatWasUsedLast) {
  constexpr std::uint64_t kMost = 20000;
  for (std::uint64_t i = 0; i < 15; ++i) {
    Cache(folder_, kMost).store(key(i), "spv", bytes_of(1000, 1));
    const std::array<timespec, 2> times = {timespec{1000 + static_cast<time_t>(i), 0},
                                           timespec{1000 + static_cast<time_t>(i), 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, file(key(i)).c_str(), times.data(), 0), 0);
  }
  std::ofstream(folder_ / "of_somebody_else.spv") << std::string(50000, 'x');
  EXPECT_EQ(Cache(folder_).load(key(0), "spv"), bytes_of(1000, 1));  // old as it is: used now
  {
    Cache cache(folder_, kMost);
    for (std::uint64_t i = 100; i < 106; ++i) cache.store(key(i), "spv", bytes_of(1000, 1));
  }
  EXPECT_TRUE(fs::exists(file(key(0)))) << "what was used a moment ago is gone";
  EXPECT_TRUE(fs::exists(file(key(105)))) << "what was stored a moment ago is gone";
  EXPECT_FALSE(fs::exists(file(key(1)))) << "the oldest stayed";
  EXPECT_TRUE(fs::exists(folder_ / "of_somebody_else.spv"));
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < 106; ++i) total += fs::exists(file(key(i))) ? fs::file_size(file(key(i))) : 0;
  EXPECT_LE(total, kMost);
  EXPECT_GE(total, kMost / 4) << "nearly everything went";
}

TEST_F(CacheTest, WhatIsLargerThanHalfTheFolderIsNotKept) {
  Cache cache(folder_, 1000);
  cache.store(key(1), "spv", bytes_of(501, 1));
  EXPECT_EQ(cache.load(key(1), "spv"), std::nullopt);
}

// Each process writes and reads the same entries: whatever is read is whole.
TEST_F(CacheTest, SeveralProcessesAtOnceNeverReadHalfAnEntry) {
  constexpr std::uint64_t kKeys = 5;
  std::vector<pid_t> children;
  for (int c = 0; c < 4; ++c) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int status = 0;
      Cache cache(folder_, 60000);  // trimmed now and then
      for (std::uint64_t i = 0; i < 400 && status == 0; ++i) {
        const std::uint64_t k = (i * 7 + static_cast<std::uint64_t>(c)) % kKeys;
        const std::vector<std::byte> right = bytes_of(3000 + 1000 * k, static_cast<unsigned>(k));
        const auto found = cache.load(key(k), "spv");
        if (found && *found != right) status = 1;
        if (!found || i % 3 == 0) cache.store(key(k), "spv", right);
        if (i % 50 == 0) Cache(folder_, 9000).store(key(1000 + i), "spv", bytes_of(100, 1));  // and trims
      }
      _exit(status);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "read something that nobody wrote";
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
    EXPECT_EQ(entry.path().filename().string().find("unfinished"), std::string::npos) << entry.path();
  }
}

}  // namespace
}  // namespace thrt_vulkan
