// One OpenCL device that is open: context, in-order queue, memory budget, tickets.
#pragma once

#include "opencl_api.hpp"

#include <thrt/abi.h>

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

namespace thrt_opencl {

// A device of some platform. What is not available is listed too, with the reason.
struct Listed {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  thrt_device_info info{};
};
std::vector<Listed> list_devices(const Api& api);

// Bytes in use against the budget.
class Budget {
 public:
  explicit Budget(std::uint64_t bytes) : bytes_(bytes) {}
  void take(std::uint64_t bytes, const char* what);  // throws OVER_BUDGET
  void give_back(std::uint64_t bytes) { used_ -= bytes; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t used() const { return used_; }
  std::uint64_t peak() const { return peak_; }

 private:
  std::uint64_t bytes_, used_ = 0, peak_ = 0;
};

// Numbers for what was queued, and who waits for them. The driver calls back when a command is done, from a thread of its own.
class Tickets {
 public:
  explicit Tickets(const Api& api) : api_(api) {}
  ~Tickets();  // waits for the last call

  // Takes the event over. The ticket is reached when the event is.
  thrt_ticket add(cl_event event);
  // The work of this ticket failed.
  void fail(thrt_ticket ticket, std::exception_ptr failure);
  // From any thread; false: not in time. Throws the failure of work up to the ticket, once.
  bool wait(thrt_ticket ticket, std::uint64_t timeout_ns);

 private:
  struct Call {
    Tickets* tickets;
    thrt_ticket ticket;
  };
  static void CL_CALLBACK done(cl_event event, cl_int status, void* call);

  const Api& api_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  thrt_ticket last_ = 0, reached_ = 0;
  std::uint64_t calls_ = 0;  // still to come
  std::exception_ptr failure_;
  thrt_ticket failed_ = 0;
};

// Members are released from the last to the first.
struct Device {
  Device(const Api& api, const Listed& listed, std::uint64_t budget);

  void finish() const noexcept { api.clFinish(queue.get()); }

  const Api& api;
  cl_device_id id;
  thrt_device_info info;
  Budget budget;
  Handle<cl_context> context;
  Handle<cl_command_queue> queue;
  Tickets tickets;
};

}  // namespace thrt_opencl
