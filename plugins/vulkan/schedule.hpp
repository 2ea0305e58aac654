// The commands of one run, in the order in which they are recorded, and the barriers between them.
//
// Commands are put into levels: a command's level is the first after those of all commands before it that write what it reads or writes, or
// read what it writes. Within a level nothing depends on anything, so the commands of a segment are recorded level by level with one
// barrier between two levels: as few as the longest chain of dependencies allows. Dependencies are those of memory, bytes against bytes,
// wherever planned memory is used again.
//
// A repeat is unrolled: its commands appear once for each iteration. One that is too long for that becomes a loop of segments, recorded once and
// submitted many times; its iterations are counted in memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace thrt_vulkan {

struct Program;

// Bytes that a command touches, before buffers are known.
struct Place {
  static constexpr std::uint32_t kWorkspace = 0, kConstants = 1, kFirstSlot = 2;
  std::uint32_t space = kWorkspace;  // kFirstSlot + i: slot i
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const Place& a, const Place& b) {
    return a.space == b.space && a.offset == b.offset && a.bytes == b.bytes;
  }
};

// Levels of memory accesses, within one segment.
class Levels {
 public:
  struct Access {
    Place place;
    bool written;
  };
  // The level of a command with these accesses, counting from 0, when all before it were added in the program's order.
  std::uint32_t add(const std::vector<Access>& accesses);
  void clear() { spaces_.clear(); }

 private:
  struct Piece {  // of a space, up to the next one; levels count from 1 here, 0: not accessed
    std::uint32_t written = 0, read = 0;
  };
  using Space = std::map<std::uint64_t, Piece>;  // by first byte
  static Space::iterator cut(Space& space, std::uint64_t at);

  std::map<std::uint32_t, Space> spaces_;
};

struct Schedule {
  // A kernel with its arguments: one descriptor set.
  struct Launch {
    std::uint32_t kernel;
    std::uint32_t groups;
    std::vector<Place> arguments;
    friend bool operator==(const Launch& a, const Launch& b) {
      return a.kernel == b.kernel && a.groups == b.groups && a.arguments == b.arguments;
    }
  };
  struct Copy {
    Place from, to;  // from.bytes == to.bytes
  };
  struct Command {
    enum class Kind : std::uint8_t { kLaunch, kCopy, kZero };
    Kind kind;
    std::uint32_t index;  // of launches, copies, zeros
    std::uint32_t level;  // a barrier stands before the first command of each level but the segment's first
  };
  // One command buffer.
  struct Segment {
    std::size_t first = 0, last = 0;  // commands [first, last)
    std::uint64_t barriers = 0;
  };
  // A value that must be finite when a node has run.
  struct Checked {
    const void* result;  // Program::Result
    Place place;
  };
  // A segment, or a loop over nodes.
  struct Node {
    std::uint32_t segment = UINT32_MAX;
    std::int64_t trips = 1;
    std::vector<Node> body;
    std::vector<Checked> results;
  };
  struct Counters {
    std::uint64_t launches = 0, barriers = 0, bytes_read = 0, bytes_written = 0;
  };

  std::vector<Launch> launches;  // distinct
  std::vector<Copy> copies;
  std::vector<Place> zeros;  // four bytes each
  std::vector<Command> commands;
  std::vector<Segment> segments;
  std::vector<Node> nodes;
  Counters counters;  // of one run
};

struct ScheduleOptions {
  std::uint64_t table_offset;  // in the constants: the i32 0, 1, 2, ...
  std::uint64_t table_stride;
  std::uint32_t increment_kernel;  // adds one to the i32 that is its argument
  bool op_by_op;                   // a segment for each step
};
Schedule make_schedule(const Program& program, const ScheduleOptions& options);

// A repeat is unrolled while a run of it is not more commands than this.
inline constexpr std::uint64_t kMostUnrolled = 16384;

}  // namespace thrt_vulkan
