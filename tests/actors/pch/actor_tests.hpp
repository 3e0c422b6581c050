#include <weir/channel.hpp>
#include <weir/spawn.hpp>
#include <weir/stream.hpp>
#include <weir/worker.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <string>
