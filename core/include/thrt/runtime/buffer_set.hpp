// Named device buffers: what the slots of several programs share. A training program and an acting program find the
// same weights because their slots have the same names.
#pragma once

#include <thrt/runtime/context.hpp>

#include <map>
#include <string>
#include <string_view>

namespace thrt {

class BufferSet {
 public:
  struct Entry {
    Type type;
    Graph::SlotKind kind = Graph::SlotKind::kInput;
    Buffer buffer;
  };

  explicit BufferSet(Context context) : context_(std::move(context)) {}

  const Context& context() const { return context_; }
  // Makes the buffers of the program's slots that are not there yet. New state gets its initial value for `seed`
  // (nn/initialise.hpp); inputs and outputs start as zeros. Throws Error when a name is there with another type.
  void add_slots(const Program& program, std::uint64_t seed);
  // Takes the other set's buffer of that name, so that both see the same values. Throws Error when `other` has none, or
  // this set has one already.
  void share(const BufferSet& other, std::string_view name);
  // Binds each slot to the buffer of its name. Throws Error for a name that is not there.
  Binding bind(const Executable& executable) const;

  bool contains(std::string_view name) const { return entries_.find(name) != entries_.end(); }
  Buffer& at(std::string_view name);
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }

 private:
  Context context_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace thrt
