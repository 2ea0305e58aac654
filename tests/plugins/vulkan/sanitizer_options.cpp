// For AddressSanitizer's runtime. The Vulkan loader unloads drivers and layers with their instance, so what those leak
// has no names and cannot be told from what is ours; the conformance cases "leak" watch the process's size instead.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0";
}
