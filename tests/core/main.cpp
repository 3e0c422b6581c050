#include "seeds.hpp"

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string_view>

/// doctest's own main, which also takes `--seed N` (or `--seed=N`): the same as WEIR_SEED=N in the environment.
int main(int argc, char** argv) {
  // Whoever runs us may ignore some (nohup, a script's background job), and what we start would ignore them too.
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM})
    std::signal(number, SIG_DFL);
  for (int index = 1; index < argc; ++index) {
    const std::string_view argument = argv[index];
    if (argument == "--seed" && index + 1 < argc)
      setenv("WEIR_SEED", argv[index + 1], 1);
    else if (argument.starts_with("--seed="))
      setenv("WEIR_SEED", argv[index] + std::string_view{"--seed="}.size(), 1);
  }
  if (!core_tests::is_seed_readable()) {
    std::cerr << "the seed must be a number from 0 to 18446744073709551615\n";
    return 2;
  }
  return doctest::Context{argc, argv}.run();
}
