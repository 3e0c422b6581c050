#include <weir/configure.hpp>
#include <weir/postgres_bus.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <iostream>
#include <map>
#include <poll.h>

/// presence URL NAME: says that NAME is here, and prints who comes and goes, until standard input ends.
int main(int count, char** words) {
  if (count != 3) {
    std::cerr << "presence URL NAME\n";
    return 2;
  }
  caf::actor_system_config config;
  weir::configure(config);
  caf::actor_system system{config};
  auto opened = weir::postgres::open_bus(system, {.server = words[1], .beacon = std::chrono::milliseconds{500}});
  if (!opened) {
    std::cerr << opened.error().to_string() << '\n';
    return 1;
  }
  auto bus = std::move(opened).value();
  auto subscribed = bus.subscribe("presence", {.buffer = 1000, .policy = weir::drop_policy::last_by_key});
  if (!subscribed) {
    std::cerr << subscribed.error().to_string() << '\n';
    return 1;
  }
  auto heard = std::move(subscribed).value();
  std::map<weir::bus_id, std::string> here;
  pollfd waited[]{{0, POLLIN, 0}, {heard.descriptor(), POLLIN, 0}};
  while (waited[0].revents == 0) {
    // Said again and again, so that whoever comes later hears it, too; a hint that is lost is made good by the next one.
    if (auto said = bus.publish("presence", "here", words[2]); !said)
      std::cerr << said.error().to_string() << '\n';
    ::poll(waited, 2, 500);
    while (auto record = heard.try_next()) {
      if (const auto* one = std::get_if<weir::hint>(&record.value())) {
        if (here.emplace(one->publisher(), one->key()).second)
          std::cout << one->key() << " is here" << std::endl;
      } else if (const auto* away = std::get_if<weir::gone>(&record.value())) {
        if (const auto found = here.extract(away->publisher))
          std::cout << found.mapped() << " is gone" << std::endl;
      }
    }
  }
}
