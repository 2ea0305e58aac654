// Program: a finished graph as the plain data that backends take (thrt_program of abi.h), with its storage.
#pragma once

#include <thrt/graph/graph.hpp>

#include <memory>
#include <string>
#include <vector>

namespace thrt {

class Program {
 public:
  struct Slot {
    std::string name;
    Graph::SlotKind kind;
    Type type;
    bool updated = false;  // state that the program writes
    Init init;             // state
  };

  // Valid as long as this object.
  const thrt_program* abi() const;
  const std::vector<Slot>& slots() const;
  const std::string& name() const;
  std::size_t op_count() const;  // sub-programs included
  // "op 12 matmul (pi/fc1)", by abi.h's numbering of ops.
  std::string describe_op(std::uint32_t index) const;

 private:
  friend Program lower(const Graph& graph);
  friend Program copy_of(const thrt_program& program);
  struct Data;
  std::shared_ptr<const Data> data_;
};

// Throws Error when an output was declared and never given a value.
Program lower(const Graph& graph);

// A well-formed program (ir/verify.hpp) that somebody else owns. How its state begins is not in it, so each slot's `init`
// is zeros.
Program copy_of(const thrt_program& program);

}  // namespace thrt
