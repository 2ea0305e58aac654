#include <thrt/runtime/buffer_set.hpp>

#include <thrt/error.hpp>
#include <thrt/nn/initialise.hpp>

#include <fmt/format.h>

namespace thrt {

void BufferSet::add_slots(const Program& program, std::uint64_t seed) {
  for (const Program::Slot& slot : program.slots()) {
    if (const auto found = entries_.find(slot.name); found != entries_.end()) {
      if (!(found->second.type == slot.type)) {
        throw Error(fmt::format("program '{}': slot '{}' is {}, but the buffer of that name holds {}", program.name(),
                                slot.name, slot.type.str(), found->second.type.str()));
      }
      continue;
    }
    Buffer buffer(context_, slot.type.bytes());
    const std::vector<std::byte> value = slot.kind == Graph::SlotKind::kState
                                             ? nn::initial_value(slot.init, slot.type, slot.name, seed)
                                             : std::vector<std::byte>(slot.type.bytes());
    buffer.write(std::span<const std::byte>(value));
    entries_.emplace(slot.name, Entry{slot.type, slot.kind, std::move(buffer)});
  }
}

void BufferSet::share(const BufferSet& other, std::string_view name) {
  const auto found = other.entries_.find(name);
  if (found == other.entries_.end()) throw Error(fmt::format("there is no buffer '{}' to share", name));
  if (!entries_.emplace(name, found->second).second) throw Error(fmt::format("there is a buffer '{}' already", name));
}

Binding BufferSet::bind(const Executable& executable) const {
  std::vector<Buffer> buffers;
  for (const Program::Slot& slot : executable.program().slots()) {
    const auto found = entries_.find(slot.name);
    if (found == entries_.end()) {
      throw Error(
          fmt::format("program '{}': there is no buffer for slot '{}'", executable.program().name(), slot.name));
    }
    buffers.push_back(found->second.buffer);
  }
  return Binding(executable, buffers);
}

Buffer& BufferSet::at(std::string_view name) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) throw Error(fmt::format("there is no buffer '{}'", name));
  return found->second.buffer;
}

}  // namespace thrt
