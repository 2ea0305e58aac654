/* Its manifest symbol ends before thrt_manifest does. Without abi.h, which would not let it. */
extern const unsigned long long thrt_backend_manifest_v1[8];
int thrt_backend_entry_v1(void);

__attribute__((visibility("default"))) const unsigned long long thrt_backend_manifest_v1[8] = {0x444E4B4254524854u};
__attribute__((visibility("default"))) int thrt_backend_entry_v1(void) {
  return 0;
}
