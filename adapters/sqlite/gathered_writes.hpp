#pragma once

#include "database.hpp"

namespace weir::sqlite_log {

/// From now on what the connection writes into its write-ahead log goes out in large pieces, at the latest when it is synced.
/// SQLite writes a frame's header and its page each by itself: a transaction of 64 KiB is some twenty writes, which cost a
/// third of what syncing them does.
///
/// Nobody sees a difference: with `synchronous = FULL` nobody reads what a connection has written there before it has synced it
/// and said so, and what can't be written fails there. (Pages that a checkpoint writes into the database can't wait: it syncs
/// them only where it comes to the log's end.) Called once, on a connection that has read something, which opens the log.
void gather_log_writes(database& of);

} // namespace weir::sqlite_log
