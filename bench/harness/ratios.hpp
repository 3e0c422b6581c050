#pragma once

#include "figures.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace weir_bench {

/// A figure of one case over that of another, or alone, and what it is to be.
struct ratio {
  std::string name;            ///< for people
  std::string figure;          ///< as values_of() names them
  std::string of;              ///< the case
  std::string over;            ///< its peer; empty: the figure alone
  std::optional<double> least; ///< what it is to reach
  std::optional<double> most;  ///< what it is not to exceed
};

/// A ratio as this run found it: the median over the repetitions, each compared with its peer's run of the same repetition.
struct found_ratio {
  ratio wanted;
  std::optional<double> value; ///< absent when one of its cases did not run
  double lowest = 0;
  double highest = 0;

  bool holds() const noexcept {
    return value && (!wanted.least || *value >= *wanted.least) && (!wanted.most || *value <= *wanted.most);
  }
};

/// Reads the ratios of that program ("lanes", "pipeline") for that compiler. Throws std::runtime_error, with file and reason.
std::vector<ratio> read_ratios(const std::string& file, const std::string& program, const std::string& compiler);

/// In which order to run the cases of these names: as they stand, but each with its peers right behind it. Returns indices.
std::vector<std::size_t> beside_peers(const std::vector<std::string>& names, const std::vector<ratio>& wanted);

std::vector<found_ratio> find_ratios(const std::vector<ratio>& wanted, const std::vector<measured_case>& measured);

} // namespace weir_bench
