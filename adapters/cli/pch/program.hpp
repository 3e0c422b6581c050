// Precompiled for the program's files.
#include <weir/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <system_error>
