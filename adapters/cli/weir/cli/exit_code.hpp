#pragma once

namespace weir::cli {

/// How the program ends. Scripts go by these: they are documented and never renumbered.
enum class exit_code : int {
  done = 0,          ///< all that there was to do is done, or drained after a signal
  failed = 1,        ///< something gave up while the pipeline ran
  usage = 2,         ///< the command line or the configuration is wrong, or names something that is not there
  state = 3,         ///< the state directory is in use, belongs to another pipeline, or can't be read or written
  interrupted = 128, ///< and the signal's number on top: a second signal ended the program on the spot
};

constexpr int number_of(exit_code code) noexcept {
  return static_cast<int>(code);
}

} // namespace weir::cli
