// A folder of files that can be made anew: SPIR-V and the driver's pipelines.
//
// One file for each entry: reading a hundred of them takes about 2 ms, and no process has to rewrite what another one reads. A file
// has a checksum; what is damaged, cut or of another key counts as absent and is written anew. Files come into being under another name and
// are renamed, so several processes may use one folder. A folder that cannot be read or written costs time, never a run. When what was
// stored makes the folder larger than its limit, the files that were not used for longest go.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thrt_vulkan {

// 128 bits of what an entry depends on.
class Key {
 public:
  Key& add(std::string_view text);  // its length too: add("a").add("b") is not add("ab")
  Key& add(std::span<const std::byte> bytes) {
    return add(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  Key& add(std::uint64_t number);
  std::string name() const;  // 32 hexadecimal digits
  std::uint64_t low() const { return low_; }
  std::uint64_t high() const { return high_; }

 private:
  std::uint64_t low_ = 0x243f6a8885a308d3, high_ = 0x13198a2e03707344;  // digits of pi
};

class Cache {
 public:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

  // folder: made when something is stored; "": there is no cache. Nothing here throws but std::bad_alloc.
  explicit Cache(std::string folder, std::uint64_t most_bytes = kMostBytes);
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  ~Cache();  // looks at the folder's size if anything was stored

  bool exists() const { return !folder_.empty(); }

  // From any thread. `kind` ends the file's name: "spv".
  std::optional<std::vector<std::byte>> load(const Key& key, const char* kind) const;
  // What takes more than half of all is not kept, nor what was kept before.
  void store(const Key& key, const char* kind, std::span<const std::byte> bytes);

 private:
  std::string path(const Key& key, const char* kind) const;
  void trim() const;

  std::string folder_;
  std::uint64_t most_bytes_;
  std::atomic<bool> stored_{false};
};

}  // namespace thrt_vulkan
