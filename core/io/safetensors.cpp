#include "thrt/io/safetensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>

#include "io/input_file.hpp"
#include "io/safetensors_header.hpp"
#include "thrt/error.hpp"
#include "thrt/io/atomic_file.hpp"
#include "thrt/utf8.hpp"

namespace thrt::io {
namespace {

static_assert(std::endian::native == std::endian::little,
              "tensor bytes are copied as they are: little-endian hosts only");

constexpr std::uint64_t kLengthBytes = 8;
constexpr const char* kFetchAgain = "the file is damaged or was not fully copied: fetch it again";

std::uint64_t length_in(std::span<const std::byte> bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  return length;
}

// Refuses a file that cannot hold the header it announces, before anything of that size is allocated.
void check_header_length(std::uint64_t header, std::uint64_t file_bytes, std::string_view source) {
  if (header > SafeTensors::kMaxHeader) {
    bad_file(source,
             fmt::format("it announces a header of {} bytes; the format allows {}", header, SafeTensors::kMaxHeader),
             "is it a safetensors file? Name one that is");
  }
  if (header > file_bytes - kLengthBytes) {
    bad_file(source,
             fmt::format("it announces a header of {} bytes, but only {} follow", header, file_bytes - kLengthBytes),
             kFetchAgain);
  }
}

void check_not_short(std::uint64_t file_bytes, std::string_view source) {
  if (file_bytes < kLengthBytes) {
    bad_file(source, fmt::format("it has {} bytes, and the length of its header alone takes 8", file_bytes),
             kFetchAgain);
  }
}

std::unique_ptr<std::byte[]> allocate(std::uint64_t bytes, std::string_view source) {
  try {
    return std::make_unique_for_overwrite<std::byte[]>(bytes);
  } catch (const std::bad_alloc&) {
    throw Error(fmt::format("cannot hold the tensors of '{}'", source),
                fmt::format("{} bytes of memory could not be had", bytes), "free memory, or use a machine with more");
  }
}

}  // namespace

const char* name_of(TensorDType dtype) {
  switch (dtype) {
    case TensorDType::kF32:
      return "F32";
    case TensorDType::kF16:
      return "F16";
    case TensorDType::kBF16:
      return "BF16";
    case TensorDType::kI32:
      return "I32";
    case TensorDType::kU32:
      return "U32";
    case TensorDType::kU8:
      return "U8";
    case TensorDType::kBool:
      return "BOOL";
    case TensorDType::kF64:
      return "F64";
    case TensorDType::kI64:
      return "I64";
    case TensorDType::kU64:
      return "U64";
  }
  throw Error("a tensor has a dtype that does not exist");
}

std::uint64_t size_of(TensorDType dtype) {
  if (dtype == TensorDType::kI64 || dtype == TensorDType::kU64) return 8;
  return ir::dtype_size(program_dtype(dtype));
}

TensorDType tensor_dtype(ir::DType dtype) {
  for (const TensorDType candidate : kAllTensorDTypes) {
    if (candidate == TensorDType::kI64 || candidate == TensorDType::kU64) continue;
    if (program_dtype(candidate) == dtype) return candidate;
  }
  throw Error("a value has a dtype that does not exist");
}

ir::DType program_dtype(TensorDType dtype) {
  switch (dtype) {
    case TensorDType::kF32:
      return ir::DType::kF32;
    case TensorDType::kF16:
      return ir::DType::kF16;
    case TensorDType::kBF16:
      return ir::DType::kBF16;
    case TensorDType::kI32:
      return ir::DType::kI32;
    case TensorDType::kU32:
      return ir::DType::kU32;
    case TensorDType::kU8:
      return ir::DType::kU8;
    case TensorDType::kBool:
      return ir::DType::kBool;
    case TensorDType::kF64:
      return ir::DType::kF64;
    case TensorDType::kI64:
    case TensorDType::kU64:
      break;
  }
  throw Error(fmt::format("no program has a value of dtype {}", name_of(dtype)),
              "programs index with 32-bit integers on every backend", "convert the tensor to I32 or U32");
}

std::int64_t TensorView::elements() const {
  return static_cast<std::int64_t>(bytes.size() / size_of(dtype));
}

std::span<std::byte> SafeTensors::add(std::string name, TensorDType dtype, std::vector<std::int64_t> shape) {
  const auto refuse = [&](const char* why, const char* next) {
    throw Error(fmt::format("cannot add a tensor '{}'", is_utf8(name) ? name : "?"), why, next);
  };
  if (!is_utf8(name)) refuse("its name is not UTF-8", "rename it");
  if (name == "__metadata__") refuse("the format reserves this name", "rename it, or use the metadata");
  if (index_.count(name) != 0) refuse("a tensor of this name is there already", "rename one of them");
  std::uint64_t bytes = 0;
  if (!byte_count(dtype, shape, &bytes)) refuse("its shape is negative or too large", "check its shape");

  std::unique_ptr<std::byte[]> data = allocate(bytes, name);
  std::fill_n(data.get(), bytes, std::byte{0});
  const std::span<std::byte> result(data.get(), bytes);
  storage_.push_back(std::move(data));
  index_.emplace(name, tensors_.size());
  tensors_.push_back({std::move(name), dtype, std::move(shape), result});
  return result;
}

void SafeTensors::add(std::string name, TensorDType dtype, std::vector<std::int64_t> shape,
                      std::span<const std::byte> bytes) {
  std::uint64_t needed = 0;
  if (byte_count(dtype, shape, &needed) && needed != bytes.size()) {
    throw Error(fmt::format("cannot add a tensor '{}'", is_utf8(name) ? name : "?"),
                fmt::format("it has {} bytes, but {} of shape [{}] needs {}", bytes.size(), name_of(dtype),
                            fmt::join(shape, ", "), needed),
                "check its shape and dtype");
  }
  const std::span<std::byte> target = add(std::move(name), dtype, std::move(shape));
  std::copy(bytes.begin(), bytes.end(), target.begin());
}

const TensorView* SafeTensors::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

SafeTensors SafeTensors::read(const std::filesystem::path& path) {
  InputFile file(path, "safetensors");
  const std::string source = path.string();
  const std::uint64_t file_bytes = file.size();
  check_not_short(file_bytes, source);
  std::array<std::byte, kLengthBytes> length_field{};
  file.read(length_field);
  const std::uint64_t header_bytes = length_in(length_field);
  check_header_length(header_bytes, file_bytes, source);
  std::string json(header_bytes, '\0');
  file.read(std::as_writable_bytes(std::span(json)));

  const std::uint64_t data_bytes = file_bytes - kLengthBytes - header_bytes;
  Header header = parse_header(json, data_bytes, source);
  std::unique_ptr<std::byte[]> data = allocate(data_bytes, source);
  file.read({data.get(), data_bytes});
  return SafeTensors(std::move(header), std::move(data));
}

SafeTensors SafeTensors::parse(std::span<const std::byte> file, std::string_view source) {
  check_not_short(file.size(), source);
  const std::uint64_t header_bytes = length_in(file);
  check_header_length(header_bytes, file.size(), source);
  const std::span<const std::byte> json = file.subspan(kLengthBytes, header_bytes);
  const std::span<const std::byte> content = file.subspan(kLengthBytes + header_bytes);
  Header header = parse_header({reinterpret_cast<const char*>(json.data()), json.size()}, content.size(), source);
  std::unique_ptr<std::byte[]> data = allocate(content.size(), source);
  std::copy(content.begin(), content.end(), data.get());
  return SafeTensors(std::move(header), std::move(data));
}

SafeTensors::SafeTensors(Header header, std::unique_ptr<std::byte[]> data) : metadata(std::move(header.metadata)) {
  for (HeaderEntry& entry : header.entries) {
    const std::span<const std::byte> bytes(data.get() + entry.begin, entry.end - entry.begin);
    index_.emplace(entry.name, tensors_.size());
    tensors_.push_back({std::move(entry.name), entry.dtype, std::move(entry.shape), bytes});
  }
  storage_.push_back(std::move(data));
}

// What a file consists of: the length and the header, then the tensors' bytes in the order they are laid out.
struct SafeTensors::Layout {
  std::string head;
  std::vector<std::span<const std::byte>> data;
};

SafeTensors::Layout SafeTensors::layout() const {
  for (const auto& [key, value] : metadata) {
    if (!is_utf8(key) || !is_utf8(value))
      throw Error("cannot write metadata that is not UTF-8", {}, "encode it as text");
  }
  // Large elements first: every tensor then begins at a multiple of its element's size, because all before it do.
  std::vector<std::size_t> order(tensors_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
    return size_of(tensors_[a].dtype) > size_of(tensors_[b].dtype);
  });
  Header header;
  header.metadata = metadata;
  for (const TensorView& tensor : tensors_) header.entries.push_back({tensor.name, tensor.dtype, tensor.shape, 0, 0});
  Layout result;
  std::uint64_t at = 0;
  for (const std::size_t i : order) {
    header.entries[i].begin = at;
    at += tensors_[i].bytes.size();
    header.entries[i].end = at;
    result.data.push_back(tensors_[i].bytes);
  }
  const std::string json = format_header(header);
  if (json.size() > kMaxHeader)
    throw Error("cannot write so many tensors", "the header exceeds what readers accept", {});
  const std::uint64_t length = json.size();
  result.head.resize(kLengthBytes);
  std::memcpy(result.head.data(), &length, kLengthBytes);
  result.head += json;
  return result;
}

void SafeTensors::write(const std::filesystem::path& path) const {
  Layout parts = layout();
  parts.data.insert(parts.data.begin(), std::as_bytes(std::span(parts.head)));
  write_file_atomically(path, parts.data);
}

std::vector<std::byte> SafeTensors::serialize() const {
  const Layout parts = layout();
  const auto head = std::as_bytes(std::span(parts.head));
  std::vector<std::byte> file(head.begin(), head.end());
  for (const auto piece : parts.data) file.insert(file.end(), piece.begin(), piece.end());
  return file;
}

}  // namespace thrt::io
