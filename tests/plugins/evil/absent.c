/* The library that missing_library needs and does not find. */
int thrt_test_absent(void);
int thrt_test_absent(void) {
  return 0;
}
