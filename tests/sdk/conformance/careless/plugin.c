/* Copies slot 0 to slot 1, whatever the program says, and does the one thing wrong that THRT_CARELESS names when the plugin
 * is opened. The suite binds slots with 64 bytes before and behind. */
#include "plain_plugin.h"

enum { kGuard = 64 };

static char misdeed[32];
static uint32_t run_count = 0;
static thrt_buffer* bound[2];

static int does(const char* what) {
  return strcmp(misdeed, what) == 0;
}

static thrt_status careless_open(const thrt_plugin_options* options, thrt_plugin** plugin, thrt_error* error) {
  const char* told = getenv("THRT_CARELESS");
  memset(misdeed, 0, sizeof misdeed);
  if (told != NULL) strncpy(misdeed, told, sizeof misdeed - 1);
  run_count = 0;
  return plain_plugin_open(options, plugin, error);
}

static thrt_status careless_check(thrt_context* context, const thrt_program* program, thrt_verdict* verdicts,
                                  uint32_t capacity, uint32_t* count, thrt_error* error) {
  (void)context, (void)program, (void)error;
  *count = does("refuses") ? 1 : 0;
  if (*count > 0 && capacity > 0) {
    memset(verdicts, 0, sizeof *verdicts);
    verdicts->code = THRT_UNSUPPORTED;
    strcpy(verdicts->reason, "not today");
  }
  return THRT_OK;
}

static thrt_status careless_compile(thrt_context* context, const thrt_program* program,
                                    const thrt_compile_options* options, thrt_executable** executable,
                                    thrt_executable_info* info, thrt_error* error) {
  thrt_status status;
  *executable = NULL;
  if (does("refuses_late")) return plain_fail(error, THRT_UNSUPPORTED, "not today after all");
  status = plain_compile(context, program, options, executable, info, error);
  if (status == THRT_OK && info != NULL && does("says_too_few_ops")) info->ops += 1;
  return status;
}

static thrt_status careless_bind(thrt_context* context, thrt_executable* executable, const thrt_slot_buffer* slots,
                                 uint32_t slot_count, thrt_binding** binding, thrt_error* error) {
  bound[0] = slots[0].buffer;
  bound[1] = slots[1].buffer;
  return plain_bind(context, executable, slots, slot_count, binding, error);
}

static thrt_status careless_enqueue(thrt_context* context, thrt_binding* binding, uint32_t repeat, thrt_ticket* ticket,
                                    thrt_error* error) {
  uint8_t* from = (uint8_t*)bound[0]->node.memory;
  uint8_t* to = (uint8_t*)bound[1]->node.memory;
  const uint64_t bytes = bound[1]->bytes - 2 * kGuard;
  ++run_count;
  memcpy(to + kGuard, from + kGuard, bytes - (does("leaves_out_the_last") ? 4 : 0));
  if (does("writes_behind")) to[kGuard + bytes] = 0;
  if (does("writes_before")) to[kGuard - 1] = 0;
  if (does("changes_input")) from[kGuard] ^= 1;
  if (does("changes_its_mind") && run_count > 1) to[kGuard] ^= 1;
  if (does("off_by_one_ulp")) to[kGuard] ^= 1;
  if (does("flips_zero")) to[kGuard + bytes - 1] ^= 0x80;
  return plain_enqueue(context, binding, repeat, ticket, error);
}

PLAIN_MANIFEST("careless", .version = "1.0.0");
PLAIN_API(.plugin_open = careless_open, .check = careless_check, .compile = careless_compile, .bind = careless_bind,
          .enqueue = careless_enqueue);
PLAIN_ENTRY()
