// Failures inside a backend are exceptions of one type; the table's functions turn them into a status and a thrt_error.
#pragma once

#include <thrt/abi.h>
#include <thrt/ir/type.hpp>

#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

namespace thrt::sdk {

// What a backend throws. `message` is one sentence: what is wrong and where.
class Error : public std::runtime_error {
 public:
  Error(thrt_status status, const std::string& message) : std::runtime_error(message), status_(status) {}

  // Which op, in abi.h's numbering (OpView::flat_index).
  Error& at_op(std::uint32_t flat_index) {
    op_index_ = flat_index;
    return *this;
  }
  Error& at_value(std::uint32_t value) {
    value_index_ = value;
    return *this;
  }
  // The function of the API below that failed and what it answered: ("cuMemAlloc", 2).
  Error& native(std::string_view api, std::int64_t code) {
    const std::size_t size = api.size() < sizeof native_api_ - 1 ? api.size() : sizeof native_api_ - 1;
    std::memcpy(native_api_, api.data(), size);
    native_api_[size] = '\0';
    native_code_ = code;
    return *this;
  }

  thrt_status status() const { return status_; }
  std::uint32_t op_index() const { return op_index_; }
  std::uint32_t value_index() const { return value_index_; }
  std::int64_t native_code() const { return native_code_; }
  const char* native_api() const { return native_api_; }

 private:
  thrt_status status_;
  std::uint32_t op_index_ = THRT_NONE;
  std::uint32_t value_index_ = THRT_NONE;
  std::int64_t native_code_ = 0;
  char native_api_[32] = {};
};

// Copies text into a fixed array: cut between UTF-8 characters where it is too long, control characters become spaces,
// the rest of the array is zero.
template <std::size_t N>
void set_text(char (&array)[N], std::string_view text) noexcept {
  std::size_t size = text.size() < N ? text.size() : N - 1;
  if (size < text.size()) {
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0u) == 0x80u) --size;
  }
  std::memset(array, 0, N);
  for (std::size_t i = 0; i < size; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    array[i] = byte < 0x20 || byte == 0x7F ? ' ' : text[i];
  }
}

// Fills the caller's error, which may be null, and returns the status. Allocates nothing.
inline thrt_status fill_error(thrt_error* error, thrt_status status, std::string_view message,
                              const Error* details = nullptr) noexcept {
  if (error == nullptr) return status;
  std::memset(error, 0, sizeof *error);
  error->code = status;
  error->op_index = details != nullptr ? details->op_index() : THRT_NONE;
  error->value_index = details != nullptr ? details->value_index() : THRT_NONE;
  if (details != nullptr) {
    error->native_code = details->native_code();
    set_text(error->native_api, details->native_api());
  }
  set_text(error->message, message);
  return status;
}

// Turns the exception in flight into a status. Call it in a catch (...) block only.
inline thrt_status fill_from_current_exception(thrt_error* error) noexcept {
  try {
    throw;
  } catch (const Error& e) {
    // An Error that says OK would make the host use an output that was never written.
    const thrt_status status = e.status() == THRT_OK ? static_cast<thrt_status>(THRT_INTERNAL) : e.status();
    return fill_error(error, status, e.what(), &e);
  } catch (const std::bad_alloc&) {
    return fill_error(error, THRT_OUT_OF_MEMORY, "the host is out of memory");
  } catch (const ir::RuleError& e) {
    return fill_error(error, THRT_INVALID_PROGRAM, e.what());
  } catch (const std::exception& e) {
    return fill_error(error, THRT_INTERNAL, e.what());
  } catch (...) {
    return fill_error(error, THRT_INTERNAL, "something that is no std::exception was thrown");
  }
}

// Runs `body` and turns whatever it throws into a status: no exception may cross the ABI.
template <typename Body>
thrt_status guarded(thrt_error* error, Body&& body) noexcept {
  try {
    body();
    return THRT_OK;
  } catch (...) {
    return fill_from_current_exception(error);
  }
}

inline void require_argument(bool condition, const char* message) {
  if (!condition) throw Error(THRT_INVALID_ARGUMENT, message);
}

}  // namespace thrt::sdk
