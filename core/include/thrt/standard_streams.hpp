// For the start of a program that writes files.
#pragma once

namespace thrt {

// A file opened while one of the standard streams is closed would get its number, and be written into with what is meant
// for the stream. The place is taken the wrong way round, so that using the stream fails as it does when it is closed.
void occupy_closed_streams();

}  // namespace thrt
