#include "options.hpp"

#include "machine.hpp"
#include "plots.hpp"
#include "ratios.hpp"
#include "report.hpp"
#include "runner.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <unistd.h>

namespace weir_bench {

namespace {

struct command_line {
  plan wanted;
  std::string policy = "both";
  std::string json_file;
  std::string expected_file = WEIR_BENCH_EXPECTED;
  bool list = false;
  bool check = false;
  bool quick = false;
  // Of the processes that the program starts of itself; `--run-one CASE --items N` is also what a profiler is given.
  std::string only_case;
  std::uint64_t items = 0;
  int result_descriptor = STDOUT_FILENO;
};

void describe(CLI::App& app, command_line& into) {
  app.add_option("--json", into.json_file, "write the figures there, and plots beside it (FILE-*.svg)")->type_name("FILE");
  app.add_option("--filter", into.wanted.filter, "only cases whose name contains this")->type_name("TEXT");
  app.add_option("--policy", into.policy, "CAF's scheduler; cases under sharing are named …@sharing")
    ->check(CLI::IsMember({"stealing", "sharing", "both"}))
    ->capture_default_str();
  app.add_option("--repetitions", into.wanted.repetitions, "of every case, taken in turn")
    ->check(CLI::Range(1, 1000))
    ->capture_default_str();
  app.add_option("--seconds", into.wanted.seconds, "that the measured part of one run takes, about")
    ->check(CLI::Range(0.001, 600.0))
    ->capture_default_str();
  app.add_option("--expected", into.expected_file, "the ratios to reach")->type_name("FILE")->capture_default_str();
  app.add_flag("--check", into.check, "exit 1 when a ratio is not what it is to be");
  app.add_flag("--quick", into.quick, "two short repetitions: to see that everything runs");
  app.add_flag("--list", into.list, "print the names of the cases");
  app.add_option("--run-one", into.only_case)->group("");
  app.add_option("--items", into.items)->group("");
  app.add_option("--result-descriptor", into.result_descriptor)->group("");
}

int report(const std::vector<bench_case>& cases, const command_line& given) {
  auto wanted = given.wanted;
  wanted.ratios = read_ratios(given.expected_file, wanted.program, compiler_family());
  const auto measured = run_all(cases, wanted);
  auto found = find_ratios(wanted.ratios, measured);
  if (!given.wanted.filter.empty())
    std::erase_if(found, [](const found_ratio& one) { return !one.value; });
  const auto where = this_machine();
  std::printf("%s, %u cores, %s, %s\n\n%s\n%s", where.cpu.c_str(), where.cores, where.compiler.c_str(), where.flags.c_str(),
    to_table(measured).c_str(), to_table(found).c_str());
  if (!given.json_file.empty()) {
    std::ofstream output{given.json_file};
    output << to_json(where, measured, found);
    output.close();
    if (!output) {
      std::fprintf(stderr, "%s: can't be written\n", given.json_file.c_str());
      return 1;
    }
    for (const auto& file : write_plots(measured, given.json_file))
      std::printf("%s\n", file.c_str());
  }
  bool failed = false;
  for (const auto& one : measured)
    failed = failed || one.repetitions.size() != static_cast<std::size_t>(given.wanted.repetitions);
  if (given.check)
    for (const auto& one : found)
      if (!one.holds()) {
        std::fprintf(stderr, "fell: %s\n", one.wanted.name.c_str());
        failed = true;
      }
  return failed ? 1 : 0;
}

} // namespace

int bench_main(int count, char** words, const std::string& program, const std::vector<bench_case>& cases) {
  CLI::App app{"Measures Weir beside its peers, in one run on this machine."};
  command_line given;
  given.wanted.program = program;
  describe(app, given);
  try {
    app.parse(count, words);
  } catch (const CLI::ParseError& wrong) {
    return app.exit(wrong) == 0 ? 0 : 2;
  }
  try {
    if (!given.only_case.empty())
      return run_one(cases, given.only_case, {given.wanted.seconds, given.items, given.policy}, given.result_descriptor);
    if (given.policy != "both")
      given.wanted.policies = {given.policy};
    if (given.quick) {
      given.wanted.repetitions = 2;
      given.wanted.seconds = 0.02;
    }
    if (given.list) {
      for (const auto& policy : given.wanted.policies)
        for (const auto& one : cases)
          if (one.uses_scheduler || policy == given.wanted.policies.front())
            std::printf("%s\n", name_under(one, policy).c_str());
      return 0;
    }
    return report(cases, given);
  } catch (const std::exception& wrong) {
    std::fprintf(stderr, "%s\n", wrong.what());
    return 1;
  }
}

} // namespace weir_bench
