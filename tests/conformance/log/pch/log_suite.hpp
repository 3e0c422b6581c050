#include <weir/appender.hpp>
#include <weir/bootstrap.hpp>
#include <weir/checkpointer.hpp>
#include <weir/feed.hpp>
#include <weir/log.hpp>
#include <weir/spawn.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <string>
