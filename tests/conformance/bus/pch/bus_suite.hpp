#include <weir/bus.hpp>
#include <weir/spawn.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>
