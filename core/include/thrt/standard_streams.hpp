// For the start and the end of a program.
#pragma once

#include <thrt/error.hpp>

#include <string>

namespace thrt {

// A file opened while one of the standard streams is closed would get its number, and be written into with what is meant
// for the stream. The place is taken the wrong way round, so that using the stream fails as it does when it is closed.
void occupy_closed_streams();

// "error: WHAT", then "  why: ..." and "  try: ..." where there is something to say.
std::string error_text(const Error& error);

// Writes that to standard error, after what standard output holds; returns the process's exit code. A standard error that
// cannot be written to changes nothing but that nobody reads it.
int report_failure(const Error& error);

// Throws Error when anything written to standard output did not arrive.
void finish_standard_output();

}  // namespace thrt
