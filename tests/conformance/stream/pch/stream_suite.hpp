#include <weir/spawn.hpp>
#include <weir/stream.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <string>
