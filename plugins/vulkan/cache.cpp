#include "cache.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <tuple>
#include <utility>

namespace thrt_vulkan {

namespace {

// In front of an entry's bytes.
struct Header {
  std::array<char, 8> magic;
  std::uint64_t key[2];
  std::uint64_t bytes;
  std::uint64_t checksum;
};
constexpr std::array<char, 8> kMagic = {'T', 'H', 'R', 'T', 'V', 'K', '0', '1'};
constexpr std::time_t kDay = 24 * 60 * 60, kHour = 60 * 60;
constexpr std::string_view kUnfinished = ".unfinished-";  // begins the names of files that are being written

// The finaliser of MurmurHash3 (Austin Appleby, public domain): each bit of the result depends on each bit of x.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53u;
  return x ^ (x >> 33);
}

// Eight bytes at a time, two sums that depend on the place: not against forgers, who could as well change the checksum.
std::pair<std::uint64_t, std::uint64_t> hash(std::uint64_t low, std::uint64_t high, std::string_view text) {
  for (std::size_t at = 0; at < text.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min<std::size_t>(8, text.size() - at));
    low = mix(low ^ word) + 0x9e3779b97f4a7c15u;
    high = (high ^ mix(word + high)) * 0x9fb21c651e98df25u;
  }
  low = mix(low + text.size());
  high = mix(high ^ low ^ text.size());
  return {low, high};
}

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  bool is_open() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }
  bool close() { return ::close(std::exchange(descriptor_, -1)) == 0; }

  bool read(void* to, std::size_t bytes) const {
    for (auto* at = static_cast<char*>(to); bytes > 0;) {
      const ssize_t got = ::read(descriptor_, at, bytes);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      at += got;
      bytes -= static_cast<std::size_t>(got);
    }
    return true;
  }
  bool write(const void* from, std::size_t bytes) const {
    for (const auto* at = static_cast<const char*>(from); bytes > 0;) {
      const ssize_t put = ::write(descriptor_, at, bytes);
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return false;
      at += put;
      bytes -= static_cast<std::size_t>(put);
    }
    return true;
  }

 private:
  int descriptor_;
};

std::uint64_t checksum(std::span<const std::byte> bytes) {
  return hash(1, 2, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}).first;
}

// Makes a folder and those above it. Whether it worked shows when a file is written.
void make_folders(const std::string& path) {
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    ::mkdir(path.substr(0, at).c_str(), 0700);
  }
  ::mkdir(path.c_str(), 0700);
}

}  // namespace

Key& Key::add(std::string_view text) {
  std::tie(low_, high_) = hash(low_, high_, text);
  return *this;
}

Key& Key::add(std::uint64_t number) {
  return add(std::string_view(reinterpret_cast<const char*>(&number), sizeof number));
}

std::string Key::name() const {
  std::string digits;
  for (const std::uint64_t half : {high_, low_}) {
    for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[half >> shift & 15];
  }
  return digits;
}

Cache::Cache(std::string folder, std::uint64_t most_bytes) : folder_(std::move(folder)), most_bytes_(most_bytes) {}

Cache::~Cache() {
  if (stored_) trim();
}

std::string Cache::path(const Key& key, const char* kind) const {
  return folder_ + "/" + key.name() + "." + kind;
}

std::optional<std::vector<std::byte>> Cache::load(const Key& key, const char* kind) const {
  if (!exists()) return std::nullopt;
  const File file(::open(path(key, kind).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts {};
  if (!file.is_open() || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  Header header{};
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  if (size < sizeof header || size > most_bytes_ + sizeof header || !file.read(&header, sizeof header))
    return std::nullopt;
  if (header.magic != kMagic || header.key[0] != key.low() || header.key[1] != key.high() ||
      header.bytes != size - sizeof header) {
    return std::nullopt;
  }
  std::vector<std::byte> bytes(header.bytes);
  if (!file.read(bytes.data(), bytes.size()) || checksum(bytes) != header.checksum) return std::nullopt;
  // Used today: trim() goes by the time of the last change, which is also that of the last use, give or take a day.
  if (std::time(nullptr) - facts.st_mtime > kDay) ::futimens(file.get(), nullptr);
  return bytes;
}

void Cache::store(const Key& key, const char* kind, std::span<const std::byte> bytes) {
  if (!exists()) return;
  if (bytes.size() > most_bytes_ / 2) {  // what grows with what is loaded begins anew
    ::unlink(path(key, kind).c_str());
    return;
  }
  std::string unfinished;
  const auto create = [&] {
    unfinished = folder_ + "/" + std::string(kUnfinished) + "XXXXXX";
    return ::mkostemp(unfinished.data(), O_CLOEXEC);
  };
  int descriptor = create();
  if (descriptor < 0 && errno == ENOENT) {
    make_folders(folder_);
    descriptor = create();
  }
  File file(descriptor);
  if (!file.is_open()) return;
  const Header header = {kMagic, {key.low(), key.high()}, bytes.size(), checksum(bytes)};
  bool complete = file.write(&header, sizeof header) && file.write(bytes.data(), bytes.size());
  complete = file.close() && complete;
  if (complete && ::rename(unfinished.c_str(), path(key, kind).c_str()) == 0) {
    stored_ = true;
  } else {
    ::unlink(unfinished.c_str());
  }
}

void Cache::trim() const {
  struct Entry {
    std::string path;
    std::uint64_t bytes;
    std::time_t used;
  };
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  DIR* folder = ::opendir(folder_.c_str());
  if (folder == nullptr) return;
  while (const dirent* each = ::readdir(folder)) {
    const std::string name = each->d_name, path = folder_ + "/" + name;
    struct stat facts {};
    if (::lstat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
    if (name.rfind(kUnfinished, 0) == 0) {  // of a process that ended in the middle
      if (std::time(nullptr) - facts.st_mtime > kHour) ::unlink(path.c_str());
      continue;
    }
    const bool is_ours = name.size() > 33 && name[32] == '.' && name.find_first_not_of("0123456789abcdef") == 32;
    if (!is_ours) continue;
    entries.push_back({path, static_cast<std::uint64_t>(facts.st_size), facts.st_mtime});
    total += entries.back().bytes;
  }
  ::closedir(folder);
  if (total <= most_bytes_) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= most_bytes_ / 2) break;
    ::unlink(entry.path.c_str());
    total -= entry.bytes;
  }
}

}  // namespace thrt_vulkan
