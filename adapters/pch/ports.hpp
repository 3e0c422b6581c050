// Precompiled for the sources and sinks: the ports that they implement, and what nearly each of their files includes.
#include <weir/sink.hpp>
#include <weir/source.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <system_error>
