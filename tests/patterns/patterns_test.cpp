#define DOCTEST_CONFIG_IMPLEMENT
#include "pattern.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

// Everyday coroutine patterns, each in a process of its own, so that what a compiler makes of one can't stop the others. Those
// that the rules for code with co_await allow must work; of the others it is said what they do.

namespace {

#if defined(__clang__)
constexpr auto compiler = "clang " __clang_version__;
constexpr bool is_gcc_12 = false;
#else
constexpr auto compiler = "g++ " __VERSION__;
constexpr bool is_gcc_12 = __GNUC__ == 12;
#endif

constexpr unsigned seconds_to_run = 20;

std::vector<patterns::pattern> all_patterns() {
  auto all = patterns::allowed_patterns();
  for (const auto& more : {patterns::temporary_patterns(), patterns::control_patterns(), patterns::frame_patterns()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// Runs a pattern in a child process.
patterns::verdict run_alone(std::size_t number, const patterns::pattern& pattern) {
  if (pattern.run == nullptr)
    return patterns::verdict::does_not_compile;
  auto argument = std::to_string(number);
  auto child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // What a sanitizer or the allocator says of a broken pattern is no news.
    auto nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execl("/proc/self/exe", "patterns", "--pattern", argument.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (!WIFEXITED(status))
    return patterns::verdict::crashed;
  auto code = WEXITSTATUS(status);
  auto last = static_cast<int>(patterns::verdict::crashed);
  auto known = code == 0 || (code >= static_cast<int>(patterns::verdict::wrong_value) && code <= last);
  return known ? static_cast<patterns::verdict>(code) : patterns::verdict::crashed; // a sanitizer exits with a code of its own
}

/// The child's side.
int run_pattern(std::size_t number) {
  auto all = all_patterns();
  if (number >= all.size() || all[number].run == nullptr)
    return 127;
  rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  alarm(seconds_to_run);
  auto ended = all[number].run();
  std::_Exit(static_cast<int>(ended));
}

TEST_CASE("every pattern that the rules allow works with this compiler") {
  auto all = all_patterns();
  auto tried = 0;
  for (std::size_t number = 0; number < all.size(); ++number) {
    if (!all[number].allowed)
      continue;
    ++tried;
    CAPTURE(all[number].name);
    CHECK(std::strcmp(name_of(run_alone(number, all[number])), "passes") == 0);
  }
  CHECK(tried == 18);
}

TEST_CASE("a pattern that crashes or ends wrong is told from one that passes") {
  auto all = all_patterns();
  auto number_of_none = all.size();
  CHECK(run_alone(number_of_none, all.front()) == patterns::verdict::crashed);
  patterns::pattern without_code{"", false, patterns::verdict::passes, nullptr};
  CHECK(run_alone(0, without_code) == patterns::verdict::does_not_compile);
}

TEST_CASE("what this compiler makes of every pattern is said") {
  auto all = all_patterns();
  auto passing = 0;
  std::printf("%s\n", compiler);
  for (std::size_t number = 0; number < all.size(); ++number) {
    const auto& pattern = all[number];
    auto ended = run_alone(number, pattern);
    passing += ended == patterns::verdict::passes ? 1 : 0;
    auto recorded = is_gcc_12 ? pattern.with_gcc : patterns::verdict::passes;
    auto fails_as_recorded = ended != patterns::verdict::passes && recorded != patterns::verdict::passes;
    auto as_recorded = ended == recorded || fails_as_recorded || pattern.varies;
    std::printf("  %-16s %s%s%s\n", name_of(ended), pattern.name, pattern.allowed ? "  (allowed)" : "",
      as_recorded ? "" : "  (CHANGED: the record says otherwise)");
  }
  std::printf("%d of %zu patterns pass\n", passing, all.size());
  CHECK(passing >= 18);
}

} // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--pattern") == 0)
    return run_pattern(static_cast<std::size_t>(std::atoi(argv[2])));
  return doctest::Context{argc, argv}.run();
}
