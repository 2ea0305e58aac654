/* A shared library that is no plugin. */
int exports_nothing(void);

__attribute__((visibility("hidden"))) int exports_nothing(void) {
  return 0;
}
