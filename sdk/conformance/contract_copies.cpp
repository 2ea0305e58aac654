// Which bytes a copy, and a binding at an offset, touch.
#include "raw_host.hpp"

#include <algorithm>
#include <cstring>

namespace thrt::conformance {
namespace {

std::byte pattern(std::size_t i, unsigned salt) {
  return static_cast<std::byte>((i * 167 + salt * 59 + (i >> 8) * 13 + 1) & 0xFF);
}

std::vector<std::byte> patterned(std::size_t count, unsigned salt) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = pattern(i, salt);
  return bytes;
}

void require_same(std::span<const std::byte> got, std::span<const std::byte> expected, std::size_t offset,
                  std::size_t bytes, const char* what) {
  const auto at = std::mismatch(got.begin(), got.end(), expected.begin()).first - got.begin();
  require(at == static_cast<std::ptrdiff_t>(got.size()), "{} of {} bytes at offset {}: byte {} is wrong", what, bytes,
          offset, at);
}

// The lengths that a copy by words, vectors or cache lines gets wrong at one of its ends.
constexpr std::size_t kLengths[] = {0, 1, 2, 3, 5, 7, 8, 13, 31, 64, 67, 129};
constexpr std::size_t kOffsets = 68;  // 0 to 67: past a cache line

void uploads_at_every_offset(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  constexpr std::size_t kBytes = 203;
  thrt_buffer* buffer = context.buffer(kBytes);
  for (std::size_t offset = 0; offset < kOffsets; ++offset) {
    for (const std::size_t bytes : kLengths) {
      std::vector<std::byte> expected = patterned(kBytes, 1), got(kBytes);
      context.wait(context.upload(buffer, 0, expected));
      // One byte in, so that the source is not aligned either.
      const std::vector<std::byte> source = patterned(bytes + 1, 2);
      context.wait(context.upload(buffer, offset, std::span(source).subspan(1)));
      std::copy(source.begin() + 1, source.end(), expected.begin() + static_cast<std::ptrdiff_t>(offset));
      context.wait(context.download(buffer, 0, got));
      require_same(got, expected, offset, bytes, "upload");
    }
  }
  context.api().buffer_destroy(context.handle(), buffer);
}

void downloads_at_every_offset(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  constexpr std::size_t kBytes = 203;
  constexpr auto kFill = std::byte{0xA5};
  thrt_buffer* buffer = context.buffer(kBytes);
  const std::vector<std::byte> held = patterned(kBytes, 3);
  context.wait(context.upload(buffer, 0, held));
  for (std::size_t offset = 0; offset < kOffsets; ++offset) {
    for (const std::size_t bytes : kLengths) {
      std::vector<std::byte> got(bytes + 2, kFill);
      context.wait(context.download(buffer, offset, std::span(got).subspan(1, bytes)));
      require_same(std::span(got).subspan(1, bytes), std::span(held).subspan(offset, bytes), offset, bytes, "download");
      require(got.front() == kFill && got.back() == kFill, "download of {} bytes at offset {} writes around them",
              bytes, offset);
    }
  }
  context.api().buffer_destroy(context.handle(), buffer);
}

// Far into a buffer, across what an address of 12, 16 or 20 bits can say.
void copies_far_into_a_buffer(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  constexpr std::size_t kBytes = (std::size_t{2} << 20) + 77;
  thrt_buffer* buffer = context.buffer(kBytes);
  std::vector<std::byte> expected = patterned(kBytes, 4), got(kBytes);
  context.wait(context.upload(buffer, 0, expected));
  for (const std::size_t offset : {4095u, 4097u, 65533u, 65536u, (1u << 20) + 1u, (2u << 20) + 3u}) {
    std::vector<std::byte> part(71);
    context.wait(context.download(buffer, offset, part));
    require_same(part, std::span(expected).subspan(offset, part.size()), offset, part.size(), "download");
    part = patterned(71, static_cast<unsigned>(offset) + 5);
    context.wait(context.upload(buffer, offset, part));
    std::copy(part.begin(), part.end(), expected.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  context.wait(context.download(buffer, 0, got));
  require_same(got, expected, 0, kBytes, "download");
  context.api().buffer_destroy(context.handle(), buffer);
}

void binding_far_into_a_buffer(const Bench& bench) {
  const RawHost host(bench);
  const RawContext context = host.context();
  constexpr std::size_t kCount = 33, kFloats = (std::size_t{2} << 20) / sizeof(float);
  const Program program = line_program(kCount);
  thrt_executable* executable = context.compile(*program.abi());
  thrt_buffer* in = context.buffer(kFloats * sizeof(float));
  thrt_buffer* out = context.buffer(kFloats * sizeof(float));
  std::vector<float> x(kFloats);
  for (std::size_t i = 0; i < kFloats; ++i) x[i] = static_cast<float>(i);
  context.write(in, x);
  for (const std::uint64_t offset : {4096u, 4160u, 65536u, 65600u, (1u << 20) + 64u}) {
    std::vector<float> expected(kFloats, -3.0f);
    context.write(out, expected);
    const std::uint64_t out_offset = offset + 128;
    const thrt_slot_buffer slots[] = {{in, offset}, {out, out_offset}};
    thrt_binding* binding = context.bind(executable, slots);
    context.wait(context.enqueue(binding));
    for (std::size_t i = 0; i < kCount; ++i) {
      expected[out_offset / sizeof(float) + i] = 2.0f * x[offset / sizeof(float) + i] + 1.0f;
    }
    const std::vector<float> got = context.read(out, kFloats);
    for (std::size_t i = 0; i < kFloats; ++i) {
      require(got[i] == expected[i], "2 x + 1 from offset {} to offset {}: at byte {} is {}, expected {}", offset,
              out_offset, 4 * i, got[i], expected[i]);
    }
    context.api().binding_destroy(context.handle(), binding);
  }
  context.api().executable_destroy(context.handle(), executable);
  for (thrt_buffer* one : {in, out}) context.api().buffer_destroy(context.handle(), one);
}

}  // namespace

std::vector<Case> copy_cases() {
  return {
      contract_case("uploads_at_every_offset", uploads_at_every_offset),
      contract_case("downloads_at_every_offset", downloads_at_every_offset),
      contract_case("copies_far_into_a_buffer", copies_far_into_a_buffer),
      contract_case("binding_far_into_a_buffer", binding_far_into_a_buffer),
  };
}

}  // namespace thrt::conformance
